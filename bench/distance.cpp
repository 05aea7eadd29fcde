// SPDX-License-Identifier: MIT
#include "distance.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <list>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::bench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Piece {
  std::string bytes;
  Clock::time_point due;
};

/// What one side has sent and the other has not got yet.
struct Way {
  int from;
  int to;
  std::deque<Piece> pieces{};

  /// @return false: that side has gone
  bool read(std::chrono::microseconds later) {
    std::array<char, 65536> buffer{};
    const ssize_t size = ::recv(from, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size <= 0) return size < 0 && errno == EAGAIN;
    pieces.push_back(
        {std::string(buffer.data(), static_cast<std::size_t>(size)), Clock::now() + later});
    return true;
  }
  void write_due() {
    while (!pieces.empty() && pieces.front().due <= Clock::now()) {
      const std::string& bytes = pieces.front().bytes;
      if (::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) pieces.clear();
      if (!pieces.empty()) pieces.pop_front();
    }
  }
};

struct Link {
  Way there;
  Way back;
};

class Forwarder {
 public:
  Forwarder(int listener, std::uint16_t to, std::chrono::microseconds one_way)
      : listener_(listener), to_(to), one_way_(one_way) {}

  [[noreturn]] void run() {
    for (;;) {
      std::vector<pollfd> polled{{listener_, POLLIN, 0}};
      Clock::time_point until = Clock::now() + std::chrono::seconds(1);
      for (const Link& link : links_) {
        for (const Way* const way : {&link.there, &link.back}) {
          polled.push_back({way->from, POLLIN, 0});
          if (!way->pieces.empty()) until = std::min(until, way->pieces.front().due);
        }
      }
      sleep(polled, until);
      std::size_t at = 1;
      std::erase_if(links_, [&](Link& link) {
        const bool alive = move(link.there, polled[at]) && move(link.back, polled[at + 1]);
        at += 2;
        if (!alive) close(link);
        return !alive;
      });
      if (polled[0].revents != 0) accept();
    }
  }

 private:
  static void sleep(std::vector<pollfd>& polled, Clock::time_point until) {
    const auto left = std::max(until - Clock::now(), Clock::duration(0));
    const timespec time{.tv_sec = 0, .tv_nsec = std::min<std::int64_t>(left.count(), 999'999'999)};
    if (::ppoll(polled.data(), polled.size(), &time, nullptr) <= 0) {
      for (pollfd& one : polled) one.revents = 0;
    }
  }
  bool move(Way& way, const pollfd& polled) const {
    const bool alive = polled.revents == 0 || way.read(one_way_);
    way.write_due();
    return alive;
  }
  static void close(const Link& link) {
    ::close(link.there.from);
    ::close(link.there.to);
  }
  void accept() {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(to_);
    const int yes = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(client);
      ::close(server);
      return;
    }
    links_.push_back(
        {.there = {.from = client, .to = server}, .back = {.from = server, .to = client}});
  }

  int listener_;
  std::uint16_t to_;
  std::chrono::microseconds one_way_;
  std::list<Link> links_;
};

}  // namespace

Distance::Distance(std::uint16_t to, std::chrono::microseconds one_way) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || ::bind(listener, general, size) != 0 || ::listen(listener, 64) != 0 ||
      ::getsockname(listener, general, &size) != 0) {
    fail("a server that is far away");
  }
  port_ = ntohs(address.sin_port);
  process_ = std::make_unique<Process>([&] { Forwarder(listener, to, one_way).run(); });
  ::close(listener);
}

}  // namespace mortise::bench
