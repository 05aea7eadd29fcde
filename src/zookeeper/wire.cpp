// SPDX-License-Identifier: MIT
// The C client's system calls lead here instead of to a socket.
#include "zookeeper/wire.hpp"

#include "zookeeper/frame.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

namespace mortise::zookeeper {
namespace {

constexpr std::size_t read_size = std::size_t{64} << 10U;
// The server refuses requests above 1 MiB (jute.maxbuffer); a list of 200,000 waiters has 8 MiB.
constexpr std::uint32_t largest_frame = std::uint32_t{64} << 20U;
constexpr std::size_t length_size = 4;
constexpr std::size_t request_header = 8;  // number, type
constexpr std::size_t reply_header = 16;   // number, transaction, error
constexpr std::size_t greeting_size = 37;  // the answer to it, with the mark of a read-only server
constexpr std::size_t old_greeting_size = 36;

// Frames that no request of ours is numbered like.
constexpr std::int32_t of_watch = -1;
constexpr std::int32_t of_ping = -2;
constexpr std::int32_t of_credentials = -4;
constexpr std::int32_t of_watches = -8;

}  // namespace

thread_local Wire* Wire::in_use = nullptr;

int Wire::open_socket(int family, int type, int protocol) noexcept {
  *this = Wire();
  socket_ = base::UniqueFd::open(
      [&] { return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol); });
  if (!socket_) error_ = errno;
  number_ = socket_.get();
  return number_;
}

int Wire::connect_socket(const void* address, unsigned length) noexcept {
  const int answer = ::connect(number_, static_cast<const sockaddr*>(address), length);
  if (answer < 0 && errno != EINPROGRESS && errno != EWOULDBLOCK) error_ = errno;
  return answer;
}

int Wire::get_option(int level, int name, void* value, unsigned* length) noexcept {
  const int answer = ::getsockopt(number_, level, name, value, length);
  if (answer == 0 && level == SOL_SOCKET && name == SO_ERROR && *length == sizeof(int)) {
    int error = 0;
    std::memcpy(&error, value, sizeof error);
    if (error != 0) error_ = error;
  }
  return answer;
}

int Wire::close_socket() noexcept {
  number_ = -1;
  if (!keeps_) socket_.reset();
  return 0;
}

void Wire::fail(int error) noexcept {
  if (error_ == 0) error_ = error;
  ended_ = true;
}

void Wire::mark_broken(int error) noexcept { fail(error); }

ssize_t Wire::send_bytes(const void* bytes, std::size_t size) noexcept {
  if (ended_) {
    errno = error_ != 0 ? error_ : EPIPE;
    return -1;
  }
  try {
    out_.append(static_cast<const char*>(bytes), size);
    note_sent_frames();
  } catch (const std::exception&) {
    fail(ENOMEM);
    errno = ENOMEM;
    return -1;
  }
  return static_cast<ssize_t>(size);
}

// Remembers the numbers of the requests, because a reply with another number, or one too many,
// makes the C client end the process; and their types, because one of another shape does.
void Wire::note_sent_frames() {
  while (out_.size() - counted_ >= length_size) {
    const std::size_t size = big_endian(out_.data() + counted_) + length_size;
    if (out_.size() - counted_ < size) return;
    if (sent_frames_++ > 0 && size >= length_size + request_header) {
      const auto number = static_cast<std::int32_t>(big_endian(out_.data() + counted_ + 4));
      const auto type = static_cast<std::int32_t>(big_endian(out_.data() + counted_ + 8));
      if (number == of_ping) {
        ++pings_;
      } else if (number != of_credentials && number != of_watches) {
        awaited_.push_back({.number = number, .type = type});
        if (type == multi_type) {
          constexpr std::size_t head = length_size + request_header;
          writes_.push_back(writes_of(std::string_view(out_).substr(counted_ + head, size - head)));
        }
      }
    }
    counted_ += size;
  }
}

void Wire::flush() noexcept {
  std::size_t done = 0;
  blocked_ = false;
  while (socket_ && !ended_ && done < out_.size()) {
    const ssize_t sent =
        ::send(socket_.get(), out_.data() + done, out_.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN) {
      blocked_ = true;
      break;
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  if (done == 0) return;
  out_.erase(0, done);
  counted_ -= std::min(counted_, done);
}

void Wire::fill() {
  if (read_ == in_.size() && read_ == sound_) {
    in_.clear();
    read_ = sound_ = 0;
  }
  while (socket_ && !ended_) {
    const std::size_t before = in_.size();
    in_.resize(before + read_size);
    const ssize_t got = ::recv(socket_.get(), in_.data() + before, read_size, MSG_DONTWAIT);
    in_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) break;
    if (got <= 0) {
      fail(got == 0 ? ECONNRESET : errno);
      break;
    }
    if (!sound_frames()) {
      fail(EPROTO);
      break;
    }
    if (static_cast<std::size_t>(got) < read_size) break;
  }
}

bool Wire::sound_frames() {
  while (in_.size() - sound_ >= length_size) {
    const char* const frame = in_.data() + sound_;
    const std::uint32_t size = big_endian(frame);
    if (size > largest_frame) return false;
    if (in_.size() - sound_ < size + length_size) return true;
    if (!greeted_) {
      if (size != greeting_size && size != old_greeting_size) return false;
    } else if (!sound_frame({frame + length_size, size})) {
      return false;
    }
    greeted_ = true;
    sound_ += size + length_size;
  }
  return true;
}

bool Wire::sound_frame(std::string_view frame) {
  if (frame.size() < reply_header) return false;
  const auto number = static_cast<std::int32_t>(big_endian(frame.data()));
  const bool fine = big_endian(frame.data() + reply_header - length_size) == 0;
  const std::string_view body = frame.substr(reply_header);
  switch (number) {
    case of_watch: return sound_event(body);
    case of_ping: pings_ = std::max(pings_ - 1, 0); return true;
    case of_credentials:
    case of_watches: return true;
    default: break;
  }
  if (awaited_.empty() || awaited_.front().number != number) return false;
  const std::int32_t type = awaited_.front().type;
  awaited_.pop_front();
  if (type != multi_type) return !fine || sound_reply(type, body);
  const std::vector<std::int32_t> writes = std::move(writes_.front());
  writes_.pop_front();
  return !fine || sound_answers(writes, body);
}

bool Wire::readable() const noexcept {
  // Whole frames only: a call of the C client reads one of them.
  return number_ >= 0 && (read_ < sound_ || ended_);
}

ssize_t Wire::receive_bytes(void* into, std::size_t size) noexcept {
  const std::size_t there = sound_ - read_;
  if (there > 0) {
    const std::size_t taken = std::min(size, there);
    std::memcpy(into, in_.data() + read_, taken);
    read_ += taken;
    return static_cast<ssize_t>(taken);
  }
  errno = ended_ ? (error_ != 0 ? error_ : ECONNRESET) : EAGAIN;
  return -1;
}

void Wire::farewell(Instant until) noexcept {
  flush();
  std::array<char, 4096> rest{};
  while (socket_ && !ended_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
    pollfd polled{.fd = socket_.get(),
                  .events = static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN),
                  .revents = 0};
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) <= 0) break;
    if ((polled.revents & POLLOUT) != 0) flush();
    // The server answers, and then hangs up.
    if ((polled.revents & ~POLLOUT) != 0 &&
        ::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT) <= 0) {
      break;
    }
  }
  socket_.reset();
}

namespace {

std::atomic<std::uint32_t> request_numbers{0};

}  // namespace
}  // namespace mortise::zookeeper

// What the C client calls instead of the system: the names are made by objcopy.
using mortise::zookeeper::Wire;

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

// Names were resolved elsewhere; this one only reads numbers.
int mortise_zk_getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** list) {
  addrinfo wanted = hints != nullptr ? *hints : addrinfo{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  return ::getaddrinfo(host, port, &wanted, list);
}

// Its own counter is one for all sessions, no matter on which threads, and runs into the numbers
// that are reserved.
std::int32_t mortise_zk_next_xid() {
  return static_cast<std::int32_t>(mortise::zookeeper::request_numbers.fetch_add(1) & 0x7fffffffU);
}

}  // extern "C"
