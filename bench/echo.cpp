// SPDX-License-Identifier: MIT
#include "echo.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::bench {
namespace {

void check_call(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

void write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, bytes, size, MSG_NOSIGNAL);
    check_call(sent > 0, "send");
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void serve(int fd) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return;
    write_all(fd, buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

EchoServer::EchoServer(Mode mode) {
  check_call(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0, "socketpair");
  process_ = std::make_unique<Process>([this, mode] {
    ::close(ends_[0]);
    place(mode, Side::server);
    serve(ends_[1]);
  });
  ::close(ends_[1]);
}

EchoServer::~EchoServer() { ::close(ends_[0]); }

void EchoServer::ask() const {
  std::array<char, echo_size> message{};
  write_all(socket(), message.data(), message.size());
  for (std::size_t size = 0; size < message.size();) {
    const ssize_t got = ::read(socket(), message.data(), message.size() - size);
    check_call(got > 0, "read");
    size += static_cast<std::size_t>(got);
  }
}

EchoBackend::EchoBackend(int socket) : socket_(socket) {
  check_call(::fcntl(socket_, F_SETFL, O_NONBLOCK) == 0, "fcntl");
}

void EchoBackend::start(Host& host) {
  host_ = &host;
  host.attach(*this);
}

void EchoBackend::stop() noexcept {
  if (host_ != nullptr) host_->detach(*this);
  host_ = nullptr;
  for (const std::shared_ptr<Check>& check : std::exchange(asked_, {})) {
    check->failed({Errc::closed, "echo"});
  }
}

void EchoBackend::refuse(Operation& operation) {
  operation.failed({Errc::unsupported, "echo: there are no locks here"});
}

void EchoBackend::check(const std::shared_ptr<Check>& operation) {
  static constexpr std::array<char, 4096> zeros{};
  std::unique_lock lock(mutex_);
  asked_.push_back(operation);
  ++unsent_;
  // Whoever writes already writes ours as well.
  if (std::exchange(sending_, true)) return;
  while (unsent_ > 0) {
    const std::size_t count = std::min(unsent_, zeros.size() / echo_size);
    unsent_ -= count;
    lock.unlock();
    write_all(socket_, zeros.data(), count * echo_size);
    lock.lock();
  }
  sending_ = false;
}

short EchoBackend::interest() const noexcept { return POLLIN; }

bool EchoBackend::outstanding() const noexcept {
  const std::lock_guard lock(mutex_);
  return !asked_.empty();
}

void EchoBackend::ready(short events, Instant /*now*/) {
  if ((events & POLLIN) == 0) return;
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(socket_, buffer.data(), buffer.size());
  if (got <= 0) return;
  std::vector<std::shared_ptr<Check>> answered;
  {
    const std::lock_guard lock(mutex_);
    surplus_ += static_cast<std::size_t>(got);
    for (; surplus_ >= echo_size; surplus_ -= echo_size) {
      answered.push_back(std::move(asked_.front()));
      asked_.pop_front();
    }
  }
  for (const std::shared_ptr<Check>& check : answered) check->answered();
}

}  // namespace mortise::bench
