// SPDX-License-Identifier: MIT
// What the C client calls instead of the system: the names are made by objcopy.
#include "zookeeper/wire.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

using mortise::zookeeper::Wire;

namespace {

std::atomic<std::uint32_t> request_numbers{0};

}  // namespace

extern "C" {

int mortise_zk_socket(int family, int type, int protocol);
int mortise_zk_connect(int fd, const void* address, unsigned length);
int mortise_zk_close(int fd);
ssize_t mortise_zk_send(int fd, const void* bytes, std::size_t size, int flags);
ssize_t mortise_zk_recv(int fd, void* into, std::size_t size, int flags);
int mortise_zk_getsockopt(int fd, int level, int name, void* value, unsigned* length);
int mortise_zk_poll(pollfd* fds, unsigned long count, int timeout);
int mortise_zk_getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** list);
std::int32_t mortise_zk_next_xid();

int mortise_zk_socket(int family, int type, int protocol) {
  return Wire::current()->open_socket(family, type, protocol);
}

int mortise_zk_connect(int /*fd*/, const void* address, unsigned length) {
  return Wire::current()->connect_socket(address, length);
}

int mortise_zk_close(int fd) {
  // It closes /dev/urandom and the like, too.
  return Wire::current() != nullptr && Wire::current()->owns(fd) ? Wire::current()->close_socket()
                                                                 : ::close(fd);
}

ssize_t mortise_zk_send(int /*fd*/, const void* bytes, std::size_t size, int /*flags*/) {
  return Wire::current()->send_bytes(bytes, size);
}

ssize_t mortise_zk_recv(int /*fd*/, void* into, std::size_t size, int /*flags*/) {
  return Wire::current()->receive_bytes(into, size);
}

int mortise_zk_getsockopt(int /*fd*/, int level, int name, void* value, unsigned* length) {
  return Wire::current()->get_option(level, name, value, length);
}

// It polls where it would wait: before the last request of a session, and for its answer. Both is
// done after it has let the socket go.
int mortise_zk_poll(pollfd* fds, unsigned long count, int /*timeout*/) {
  for (unsigned long i = 0; i < count; ++i) fds[i].revents = fds[i].events;
  return static_cast<int>(count);
}

// Names were resolved elsewhere; this one only reads numbers. The C client gives what stands before
// the last colon of `Endpoint::text()`: an IPv6 number in its brackets, which the system refuses.
int mortise_zk_getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** list) {
  addrinfo wanted = hints != nullptr ? *hints : addrinfo{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  std::string_view text = host;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::array<char, NI_MAXHOST> number{};
  if (text.size() >= number.size()) return EAI_NONAME;
  text.copy(number.data(), text.size());
  return ::getaddrinfo(number.data(), port, &wanted, list);
}

// Its own counter is one for all sessions, no matter on which threads, and runs into the numbers
// that are reserved.
std::int32_t mortise_zk_next_xid() {
  return static_cast<std::int32_t>(request_numbers.fetch_add(1) & 0x7fffffffU);
}

}  // extern "C"
