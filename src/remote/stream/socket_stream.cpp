// SPDX-License-Identifier: MIT
// The plain stream: one TCP or unix socket. Also the door to both kinds of streams.
#include "base/keep_alive.hpp"
#include "base/system_error.hpp"
#include "remote/stream/stream.hpp"
#include "remote/stream/tls.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace mortise::remote {
namespace {

void set_option(int fd, int level, int name, const void* value, socklen_t size) noexcept {
  // What is refused costs speed or a late notice at most.
  static_cast<void>(::setsockopt(fd, level, name, value, size));
}

class SocketStream final : public Stream {
 public:
  explicit SocketStream(const Endpoint& endpoint);
  SocketStream(base::UniqueFd socket, const Endpoint& endpoint, Unsent unsent)
      : endpoint_(endpoint), socket_(std::move(socket)) {
    if (unsent == Unsent::dropped) drop_unsent();
  }

  [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }
  [[nodiscard]] Status advance() override;
  [[nodiscard]] short interest() const noexcept override;
  [[nodiscard]] bool take_progress() noexcept override { return std::exchange(progress_, false); }
  [[nodiscard]] Moved read(std::span<char> into) override;
  [[nodiscard]] Moved read_soon(std::span<char> into) override;
  [[nodiscard]] Moved write(std::span<const char> from) override;
  [[nodiscard]] Failure failure() const override;
  [[nodiscard]] const Endpoint& endpoint() const noexcept override { return endpoint_; }

 private:
  enum class Step { opening, connecting, reading, writing, ended };
  struct alignas(std::uint64_t) Trouble {  // so that clang, too, reads it as one word
    Step step = Step::connecting;
    int error = 0;  // an errno; 0 = none
  };

  [[nodiscard]] Moved receive(std::span<char> into, int flags);
  void drop_unsent() noexcept;
  void let_reads_sleep() noexcept;
  [[nodiscard]] bool local() const noexcept { return endpoint_.address.ss_family == AF_UNIX; }
  [[nodiscard]] bool met_itself() const noexcept;
  Status trouble(Step step, int error) noexcept;
  [[nodiscard]] Errc errc_of(int error) const noexcept;

  const Endpoint endpoint_;
  base::UniqueFd socket_;
  std::atomic<bool> connected_{false};
  bool progress_ = false;
  std::atomic<Trouble> trouble_{};  // of the last call; the reader and the writer both tell
};

SocketStream::SocketStream(const Endpoint& endpoint) : endpoint_(endpoint) {
  socket_ = base::UniqueFd::open([&] {
    return ::socket(endpoint_.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  });
  const int fd = socket_.get();
  if (fd < 0) {
    trouble(Step::opening, errno);
    return;
  }
  drop_unsent();
  base::keep_alive(fd);
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint_.address);
  // EAGAIN of a unix socket is a failure: the server's backlog is full, and nothing goes on.
  if (::connect(fd, address, endpoint_.length) != 0 && errno != EINPROGRESS && errno != EINTR) {
    trouble(Step::connecting, errno);
  }
}

// From the beginning, because a process that is killed closes without us. It takes effect at the
// last close only, so a forked child that closes its copy resets nothing.
void SocketStream::drop_unsent() noexcept {
  const linger none{.l_onoff = 1, .l_linger = 0};
  set_option(socket_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

Stream::Status SocketStream::advance() {
  if (connected_.load(std::memory_order_relaxed)) return Status::done;
  if (trouble_.load(std::memory_order_relaxed).error != 0) return Status::failed;
  pollfd polled{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&polled, 1, 0) <= 0) return Status::again;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0 && met_itself()) error = ECONNREFUSED;
  if (error != 0) return trouble(Step::connecting, error);
  let_reads_sleep();
  progress_ = true;
  connected_.store(true, std::memory_order_relaxed);
  return Status::done;
}

// A connection to a local port that nobody listens on may be given that very port as its own, and
// then TCP connects it to itself: it would keep the server from starting again.
bool SocketStream::met_itself() const noexcept {
  if (local()) return false;
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  return ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         ::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && std::memcmp(&own, &peer, own_size) == 0;
}

short SocketStream::interest() const noexcept {
  return connected_.load(std::memory_order_relaxed) ? 0 : POLLOUT;
}

// From now on only MSG_DONTWAIT keeps a call from sleeping, and none sleeps for long.
void SocketStream::let_reads_sleep() noexcept {
  const timeval soon{.tv_sec = 0, .tv_usec = 4'000};
  set_option(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  timeval set{};
  socklen_t size = sizeof set;
  const bool bounded = ::getsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &set, &size) == 0 &&
                       (set.tv_sec != 0 || set.tv_usec != 0);
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  if (bounded && flags >= 0) ::fcntl(socket_.get(), F_SETFL, flags & ~O_NONBLOCK);
}

Stream::Moved SocketStream::read(std::span<char> into) { return receive(into, MSG_DONTWAIT); }

Stream::Moved SocketStream::read_soon(std::span<char> into) { return receive(into, 0); }

Stream::Moved SocketStream::receive(std::span<char> into, int flags) {
  const ssize_t got = ::recv(socket_.get(), into.data(), into.size(), flags);
  if (got > 0) return {Status::done, static_cast<std::size_t>(got)};
  if (got == 0) return {into.empty() ? Status::again : trouble(Step::ended, 0)};
  // A sleep that a signal has ended would begin anew, with its whole time: where signals keep
  // coming, as those of a profiler, it would have no end.
  if (errno == EAGAIN || errno == EINTR) return {Status::again};
  return {trouble(Step::reading, errno)};
}

Stream::Moved SocketStream::write(std::span<const char> from) {
  for (;;) {
    const ssize_t put =
        ::send(socket_.get(), from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) return {Status::done, static_cast<std::size_t>(put)};
    if (put == 0 || errno == EAGAIN) return {Status::again};
    if (errno != EINTR) return {trouble(Step::writing, errno)};
  }
}

Stream::Status SocketStream::trouble(Step step, int error) noexcept {
  trouble_.store({step, error}, std::memory_order_relaxed);
  return step == Step::ended ? Status::closed : Status::failed;
}

Errc SocketStream::errc_of(int error) const noexcept {
  switch (error) {
    // No port is free for one more connection to that address. Of IPv6 it is also the answer of a
    // machine that has no IPv6 address of its own.
    case EADDRNOTAVAIL:
      return endpoint_.address.ss_family == AF_INET ? Errc::exhausted : Errc::unavailable;
    // The socket's file; of TCP it is a packet filter's word.
    case EACCES:
    case EPERM: return local() ? Errc::denied : Errc::unavailable;
    default: return base::errc_of(error);
  }
}

Failure SocketStream::failure() const {
  const Trouble trouble = trouble_.load(std::memory_order_relaxed);
  if (trouble.step == Step::ended) return {Errc::unavailable, "the server closed the connection"};
  // strerror() is not thread-safe; the category's message is.
  const std::string why = std::generic_category().message(trouble.error);
  switch (trouble.step) {
    case Step::opening: return {errc_of(trouble.error), "cannot create a socket: " + why};
    case Step::connecting:
      return {errc_of(trouble.error), "cannot connect to " + endpoint_.text() + ": " + why};
    case Step::reading: return {errc_of(trouble.error), "cannot read: " + why};
    default: return {errc_of(trouble.error), "cannot write: " + why};
  }
}

}  // namespace

std::unique_ptr<Stream> open_stream(const Endpoint& endpoint, const Tls* tls,
                                    const std::string& host) {
  auto plain = std::make_unique<SocketStream>(endpoint);
  if (tls == nullptr) return plain;
  return tls->wrap(std::move(plain), host);
}

std::unique_ptr<Stream> adopt_stream(base::UniqueFd socket, const Endpoint& endpoint, Unsent unsent,
                                     const Tls* tls, const std::string& host) {
  auto plain = std::make_unique<SocketStream>(std::move(socket), endpoint, unsent);
  if (tls == nullptr) return plain;
  return tls->wrap(std::move(plain), host);
}

}  // namespace mortise::remote
