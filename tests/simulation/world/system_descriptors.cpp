// SPDX-License-Identifier: MIT
// Descriptors: sockets, eventfds, timerfds, and polling them. See system.hpp.
#include "simulation/world/system.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <memory>

using namespace simulation;
using namespace simulation::system;

namespace {

Descriptors& descriptors() { return Room::current()->network.descriptors; }
bool ours(int fd) noexcept { return self() != nullptr && fd >= Descriptors::first; }
Descriptor* find(int fd) { return descriptors().find(fd); }
Socket* socket_of(int fd) { return dynamic_cast<Socket*>(find(fd)); }

sockaddr_in address_of(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return address;
}

int give(const sockaddr_in& address, sockaddr* into, socklen_t* size) {
  std::memcpy(into, &address, std::min<std::size_t>(*size, sizeof address));
  *size = sizeof address;
  return 0;
}

}  // namespace

extern "C" {

int __real_socket(int, int, int);
int __wrap_socket(int family, int type, int protocol) {
  if (self() == nullptr) return __real_socket(family, type, protocol);
  auto made = std::make_shared<Socket>(process(), Room::current()->network);
  made->blocking = (type & SOCK_NONBLOCK) == 0;
  return descriptors().add(std::move(made));
}
int __real_connect(int, const sockaddr*, socklen_t);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  if (!ours(fd)) return __real_connect(fd, address, size);
  world().point();
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  sockaddr_in to{};
  std::memcpy(&to, address, std::min<std::size_t>(size, sizeof to));
  Host* const host = Room::current()->network.at(ntohl(to.sin_addr.s_addr), ntohs(to.sin_port));
  return fail(socket->connect(host));
}
ssize_t __real_send(int, const void*, size_t, int);
ssize_t __wrap_send(int fd, const void* bytes, size_t size, int flags) {
  if (!ours(fd)) return __real_send(fd, bytes, size, flags);
  world().point();
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  int error = 0;
  const long sent = socket->send(bytes, size, error);
  return sent < 0 ? fail(error) : sent;
}
ssize_t __real_recv(int, void*, size_t, int);
ssize_t __wrap_recv(int fd, void* into, size_t size, int flags) {
  if (!ours(fd)) return __real_recv(fd, into, size, flags);
  world().point();
  const std::shared_ptr<Descriptor> kept = descriptors().share(fd);
  auto* const socket = dynamic_cast<Socket*>(kept.get());
  if (socket == nullptr) return fail(EBADF);
  const bool peek = (flags & MSG_PEEK) != 0;
  int error = 0;
  long got = socket->receive(into, size, peek, error);
  if (got >= 0 || error != EAGAIN || (flags & MSG_DONTWAIT) != 0 || !socket->blocking) {
    return got < 0 ? fail(error) : got;
  }
  pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
  const Nanos limit =
      socket->receive_limit.count() == 0 ? simulation::never : own_time(socket->receive_limit);
  descriptors().poll(&polled, 1, limit);
  got = socket->receive(into, size, peek, error);
  return got < 0 ? fail(error) : got;
}
int __real_poll(pollfd*, nfds_t, int);
int __wrap_poll(pollfd* polled, nfds_t count, int milliseconds) {
  if (self() == nullptr) return __real_poll(polled, count, milliseconds);
  world().point();
  world().point_before_sleep();
  return descriptors().poll(
      polled, count,
      milliseconds < 0 ? simulation::never : own_time(Nanos(1'000'000) * milliseconds));
}
int __real_ppoll(pollfd*, nfds_t, const timespec*, const sigset_t*);
int __wrap_ppoll(pollfd* polled, nfds_t count, const timespec* limit, const sigset_t* mask) {
  if (self() == nullptr) return __real_ppoll(polled, count, limit, mask);
  world().point();
  world().point_before_sleep();
  return descriptors().poll(polled, count,
                            limit == nullptr ? simulation::never : own_time(of(*limit)));
}
int __real_close(int);
int __wrap_close(int fd) {
  if (World::current() == nullptr || fd < Descriptors::first) return __real_close(fd);
  return descriptors().close(fd) ? 0 : fail(EBADF);
}
int __real_eventfd(unsigned, int);
int __wrap_eventfd(unsigned count, int flags) {
  if (self() == nullptr) return __real_eventfd(count, flags);
  auto made = std::make_shared<EventCounter>(process());
  made->count = count;
  return descriptors().add(std::move(made));
}
int __real_timerfd_create(int, int);
int __wrap_timerfd_create(int clock, int flags) {
  if (self() == nullptr) return __real_timerfd_create(clock, flags);
  return descriptors().add(std::make_shared<Timer>(process()));
}
int __real_timerfd_settime(int, int, const itimerspec*, itimerspec*);
int __wrap_timerfd_settime(int fd, int flags, const itimerspec* set, itimerspec* before) {
  if (!ours(fd)) return __real_timerfd_settime(fd, flags, set, before);
  world().point_before_sleep();
  auto* const timer = dynamic_cast<Timer*>(find(fd));
  if (timer == nullptr) return fail(EBADF);
  Nanos in = of(set->it_value);
  if ((flags & TFD_TIMER_ABSTIME) != 0 && in.count() != 0) {
    in = std::max(in - system_clock_of(CLOCK_BOOTTIME), Nanos(1));
  }
  timer->set(in);
  if ((flags & TFD_TIMER_CANCEL_ON_SET) != 0) timer->watch();
  return 0;
}
ssize_t __real_read(int, void*, size_t);
ssize_t __wrap_read(int fd, void* into, size_t size) {
  if (!ours(fd)) return __real_read(fd, into, size);
  Descriptor* const descriptor = find(fd);
  if (auto* const counter = dynamic_cast<EventCounter*>(descriptor)) {
    if (counter->count == 0) return fail(EAGAIN);
    std::memcpy(into, &counter->count, sizeof counter->count);
    counter->count = 0;
    return sizeof counter->count;
  }
  if (auto* const timer = dynamic_cast<Timer*>(descriptor)) {
    if (timer->cancelled()) return fail(ECANCELED);
    if (!timer->take()) return fail(EAGAIN);
    const std::uint64_t once = 1;
    std::memcpy(into, &once, sizeof once);
    return sizeof once;
  }
  return descriptor == nullptr ? fail(EBADF) : __wrap_recv(fd, into, size, 0);
}
ssize_t __real_write(int, const void*, size_t);
ssize_t __wrap_write(int fd, const void* from, size_t size) {
  if (World::current() == nullptr || fd < Descriptors::first) return __real_write(fd, from, size);
  if (self() != nullptr) world().point();
  Descriptor* const descriptor = find(fd);  // not before: another thread may have closed it since
  if (auto* const counter = dynamic_cast<EventCounter*>(descriptor)) {
    std::uint64_t more = 0;
    std::memcpy(&more, from, sizeof more);
    counter->count += more;
    counter->changed();
    return sizeof more;
  }
  return descriptor == nullptr ? fail(EBADF) : __wrap_send(fd, from, size, 0);
}
int __real_eventfd_write(int, eventfd_t);
int __wrap_eventfd_write(int fd, std::uint64_t value) {
  if (!ours(fd)) return __real_eventfd_write(fd, value);
  return __wrap_write(fd, &value, sizeof value) < 0 ? -1 : 0;
}
int __real_eventfd_read(int, eventfd_t*);
int __wrap_eventfd_read(int fd, std::uint64_t* value) {
  if (!ours(fd)) return __real_eventfd_read(fd, value);
  return __wrap_read(fd, value, sizeof *value) < 0 ? -1 : 0;
}
int __real_fcntl(int, int, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  if (!ours(fd)) return __real_fcntl(fd, command, argument);
  Descriptor* const descriptor = find(fd);
  if (descriptor == nullptr) return fail(EBADF);
  if (command == F_GETFL) return descriptor->blocking ? O_RDWR : O_RDWR | O_NONBLOCK;
  if (command == F_SETFL) descriptor->blocking = (argument & O_NONBLOCK) == 0;
  return 0;
}
int __real_setsockopt(int, int, int, const void*, socklen_t);
int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t size) {
  if (!ours(fd)) return __real_setsockopt(fd, level, name, value, size);
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  if (level == SOL_SOCKET && name == SO_RCVTIMEO) {
    timeval limit{};
    std::memcpy(&limit, value, std::min<std::size_t>(size, sizeof limit));
    socket->receive_limit = second * limit.tv_sec + Nanos(1'000) * limit.tv_usec;
  }
  return 0;
}
int __real_getsockopt(int, int, int, void*, socklen_t*);
int __wrap_getsockopt(int fd, int level, int name, void* value, socklen_t* size) {
  if (!ours(fd)) return __real_getsockopt(fd, level, name, value, size);
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  std::memset(value, 0, *size);
  if (level != SOL_SOCKET) return 0;
  if (name == SO_ERROR && *size >= sizeof(int)) {
    const int error = socket->take_error();
    std::memcpy(value, &error, sizeof error);
  } else if (name == SO_DOMAIN && *size >= sizeof(int)) {
    const int family = AF_INET;
    std::memcpy(value, &family, sizeof family);
  } else if (name == SO_RCVTIMEO && *size >= sizeof(timeval)) {
    const timespec limit = to_timespec(socket->receive_limit);
    const timeval set{.tv_sec = limit.tv_sec, .tv_usec = limit.tv_nsec / 1'000};
    std::memcpy(value, &set, sizeof set);
  }
  return 0;
}
int __real_ioctl(int, unsigned long, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (!ours(fd)) return __real_ioctl(fd, request, argument);
  const Socket* const socket = socket_of(fd);
  if (socket == nullptr || request != SIOCOUTQ) return fail(socket == nullptr ? EBADF : EINVAL);
  const int left = socket->connection ? static_cast<int>(socket->connection->unacknowledged()) : 0;
  std::memcpy(argument, &left, sizeof left);
  return 0;
}
int __real_getpeername(int, sockaddr*, socklen_t*);
int __wrap_getpeername(int fd, sockaddr* into, socklen_t* size) {
  if (!ours(fd)) return __real_getpeername(fd, into, size);
  const Socket* const socket = socket_of(fd);
  if (socket == nullptr || !socket->connection) return fail(ENOTCONN);
  return give(address_of(socket->connection->host().address(), 6379), into, size);
}
int __real_getsockname(int, sockaddr*, socklen_t*);
int __wrap_getsockname(int fd, sockaddr* into, socklen_t* size) {
  if (!ours(fd)) return __real_getsockname(fd, into, size);
  const Socket* const socket = socket_of(fd);
  const std::uint32_t own =
      (10U << 24U) + (1U << 16U) + static_cast<std::uint32_t>(process().number());
  const std::uint16_t port =
      socket != nullptr && socket->connection ? socket->connection->port() : 0;
  return give(address_of(own, port), into, size);
}
int __real_fstat(int, struct stat*);
int __wrap_fstat(int fd, struct stat* into) {
  if (!ours(fd)) return __real_fstat(fd, into);
  if (find(fd) == nullptr) return fail(EBADF);
  *into = {};
  into->st_mode = S_IFSOCK;
  into->st_ino = static_cast<ino_t>(fd);
  return 0;
}

}  // extern "C"
