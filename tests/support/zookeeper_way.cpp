// SPDX-License-Identifier: MIT
#include "support/zookeeper_way.hpp"

#include "base/quiet_thread.hpp"
#include "support/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace mortise::test {
namespace {

constexpr int a_look = 20;  // ms, at whether it ends or is cut

base::UniqueFd make_socket() {
  return base::UniqueFd::open([] { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); });
}

}  // namespace

ZooKeeperWay::ZooKeeperWay(std::uint16_t port, std::uint16_t target,
                           std::pair<std::string, std::string> introduction,
                           std::chrono::milliseconds patience)
    : port_(port),
      target_(target),
      introduction_(std::move(introduction)),
      patience_(patience),
      listener_(make_socket()) {
  const int yes = 1;
  const sockaddr_in address = loopback_address(port_);
  if (!listener_ ||
      ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0) {
    throw std::system_error(errno, std::generic_category(), "the way to a port of ZooKeeper");
  }
  thread_ = base::quiet_thread([this] { loop(); });
}

ZooKeeperWay::~ZooKeeperWay() {
  ends_.store(true);
  thread_.join();
}

void ZooKeeperWay::loop() {
  while (!ends_.load()) {
    std::vector<pollfd> polled;
    if (!cut_.load()) {
      polled.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
      for (const Link& link : links_) {
        polled.push_back({.fd = link.caller.get(), .events = POLLIN, .revents = 0});
        polled.push_back({.fd = link.called.get(), .events = POLLIN, .revents = 0});
      }
    }
    if (::poll(polled.data(), polled.size(), a_look) <= 0 || cut_.load()) continue;
    std::vector<Link> left;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool stands = (polled[2 * i + 1].revents == 0 || pass(links_[i], true)) &&
                          (polled[2 * i + 2].revents == 0 || pass(links_[i], false));
      if (stands) left.push_back(std::move(links_[i]));
    }
    links_ = std::move(left);
    if (polled.front().revents != 0) accept();
  }
}

// Where nobody listens there the caller reads the end.
void ZooKeeperWay::accept() {
  Link link;
  link.caller = base::UniqueFd::open(
      [this] { return ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC); });
  if (link.caller) link.called = call();
  if (link.called) links_.push_back(std::move(link));
}

base::UniqueFd ZooKeeperWay::call() const {
  const sockaddr_in address = loopback_address(target_);
  const auto until = std::chrono::steady_clock::now() + patience_;
  while (!cut_.load() && !ends_.load()) {
    base::UniqueFd called = make_socket();
    if (called &&
        ::connect(called.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      return called;
    }
    if (std::chrono::steady_clock::now() >= until) break;
    ::poll(nullptr, 0, a_look);
  }
  return {};
}

// Whoever is sent something takes it soon: the thread may wait for that.
bool ZooKeeperWay::pass(Link& link, bool from_caller) const {
  std::array<char, 4096> buffer{};
  const int from = (from_caller ? link.caller : link.called).get();
  const int to = (from_caller ? link.called : link.caller).get();
  const ssize_t size = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
  if (from_caller && !std::exchange(link.introduced, true)) {
    const auto& [before, after] = introduction_;
    const std::size_t at =
        std::string_view(buffer.data(), static_cast<std::size_t>(size)).find(before);
    if (at != std::string_view::npos) after.copy(buffer.data() + at, after.size());
  }
  return ::send(to, buffer.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
}

}  // namespace mortise::test
