// SPDX-License-Identifier: MIT
#include "simulation/postgres/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <system_error>
#include <utility>

namespace simulation::postgres {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Loopback::Loopback(std::uint64_t seed) : random_(seed) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  constexpr int backlog = 128;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, backlog) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("a socket to listen at");
  }
  port_ = ntohs(address.sin_port);
  waker_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

Loopback::~Loopback() {
  stop();
  ::close(listener_);
  ::close(waker_);
}

void Loopback::serve(Server& server) {
  server_ = &server;
  thread_ = std::thread([this] { run(); });
}

void Loopback::stop() {
  with([&] { stopped_ = true; });
  wake();
  if (thread_.joinable()) thread_.join();
  for (const auto& [connection, descriptor] : sockets_) ::close(descriptor);
  sockets_.clear();
}

void Loopback::restart(const std::function<void()>& restarted) {
  const std::lock_guard lock(mutex_);
  for (const auto& [connection, descriptor] : sockets_) ::close(descriptor);
  sockets_.clear();
  timers_ = {};
  restarted();
  wake();
}

void Loopback::wake() const {
  const std::uint64_t one = 1;
  if (::write(waker_, &one, sizeof one) < 0) return;  // full: it is awake
}

void Loopback::run() {
  for (;;) {
    std::vector<pollfd> polled{{.fd = waker_, .events = POLLIN, .revents = 0},
                               {.fd = listener_, .events = POLLIN, .revents = 0}};
    timespec limit{.tv_sec = 1, .tv_nsec = 0};
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      for (const auto& [connection, descriptor] : sockets_) {
        polled.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
      }
      if (!timers_.empty()) {
        const Nanos left = std::clamp(timers_.top().at - uptime(), Nanos(0), Nanos(999'999'999));
        limit = {.tv_sec = 0, .tv_nsec = left.count()};
      }
    }
    ::ppoll(polled.data(), polled.size(), &limit, nullptr);
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    std::uint64_t count = 0;
    while (::read(waker_, &count, sizeof count) > 0) continue;
    if ((polled[1].revents & POLLIN) != 0) accept_one();
    for (std::size_t i = 2; i < polled.size(); ++i) {
      if (polled[i].revents != 0) read_one(polled[i].fd);
    }
    turn();
  }
}

void Loopback::turn() {
  while (!timers_.empty() && timers_.top().at <= uptime()) {
    const std::function<void()> then = timers_.top().then;
    timers_.pop();
    then();
  }
}

void Loopback::accept_one() {
  const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) return;
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockets_.emplace(++last_, descriptor);
  server_->opened(last_);
}

void Loopback::read_one(int descriptor) {
  const auto found = std::find_if(sockets_.begin(), sockets_.end(),
                                  [&](const auto& each) { return each.second == descriptor; });
  if (found == sockets_.end()) return;
  const ConnectionId connection = found->first;
  constexpr std::size_t at_once = 65'536;
  std::vector<char> bytes(at_once);
  const ssize_t got = ::recv(descriptor, bytes.data(), bytes.size(), 0);
  if (got > 0) {
    server_->received(connection, {bytes.data(), static_cast<std::size_t>(got)});
    return;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ::close(descriptor);
  sockets_.erase(found);
  server_->closed(connection);
}

Nanos Loopback::wall() const { return std::chrono::system_clock::now().time_since_epoch(); }

Nanos Loopback::uptime() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void Loopback::send(ConnectionId connection, std::string_view bytes) {
  const auto found = sockets_.find(connection);
  if (found == sockets_.end()) return;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(found->second, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd polled{.fd = found->second, .events = POLLOUT, .revents = 0};
      ::poll(&polled, 1, -1);
    } else if (errno != EINTR) {
      return;  // the end is read soon
    }
  }
}

void Loopback::hang_up(ConnectionId connection) {
  const auto found = sockets_.find(connection);
  if (found == sockets_.end()) return;
  ::close(found->second);
  sockets_.erase(found);
}

void Loopback::after(Nanos delay, std::function<void()> then) {
  timers_.push({.at = uptime() + delay, .order = ++timers_made_, .then = std::move(then)});
  wake();
}

void Loopback::note(std::string_view words) { std::cout << words << '\n'; }

}  // namespace simulation::postgres
