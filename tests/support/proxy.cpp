// SPDX-License-Identifier: MIT
// One mutex guards everything and is free while the thread polls; whoever changes something wakes
// the thread, which then asks every connection anew what it waits for.
#include "support/proxy.hpp"

#include "base/quiet_thread.hpp"
#include "model/seed.hpp"
#include "support/free_port.hpp"
#include "support/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

constexpr int socket_flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int backlog = 512;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

bool started(const base::UniqueFd& fd, const void* address, std::size_t size) {
  return fd && (::connect(fd.get(), static_cast<const sockaddr*>(address),
                          static_cast<socklen_t>(size)) == 0 ||
                errno == EINPROGRESS);
}

void send_at_once(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

/// What one call of ppoll() is about.
struct Proxy::Round {
  std::vector<pollfd> polled;        // wake, listener, then client and server of each link
  std::vector<std::uint64_t> links;  // numbers
  ProxyLink::Clock::time_point until = ProxyLink::Clock::time_point::max();

  void poll() {
    const auto left = std::max(until - ProxyLink::Clock::now(), Duration(0));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    const bool limited = until != ProxyLink::Clock::time_point::max();
    if (::ppoll(polled.data(), polled.size(), limited ? &time : nullptr, nullptr) <= 0) {
      for (pollfd& one : polled) one.revents = 0;
    }
  }
};

Proxy::Proxy(std::uint16_t target_port, Options options) : Proxy(target_port, {}, options) {}

Proxy::Proxy(std::string target_path, Options options)
    : Proxy(0, std::move(target_path), options) {}

Proxy::Proxy(std::uint16_t target_port, std::string target_path, const Options& options)
    : protocol_(options.protocol),
      target_port_(target_port),
      target_path_(std::move(target_path)),
      network_{.faults = {},
               .counts = {},
               .random = base::SplitMix(options.seed ? *options.seed : model::test_seed())} {
  if (target_path_.size() >= sizeof(sockaddr_un::sun_path)) {
    throw std::invalid_argument("too long for a unix socket: " + target_path_);
  }
  wake_ = base::UniqueFd::open([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  if (!wake_) fail("eventfd");
  listen_on(options.port);
  if (options.running) run();
}

void Proxy::listen_on(std::uint16_t port) {
  for (int attempt = 0;; ++attempt) {
    port_ = port != 0 ? port : free_port();
    listener_ = base::UniqueFd::open([] { return ::socket(AF_INET, socket_flags, 0); });
    if (!listener_) fail("socket");
    const int yes = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const sockaddr_in address = loopback_address(port_);
    const auto* const general = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(listener_.get(), general, sizeof address) == 0 &&
        ::listen(listener_.get(), backlog) == 0) {
      return;
    }
    if (errno != EADDRINUSE || port != 0 || attempt == 20) fail("cannot listen");
  }
}

Proxy::~Proxy() {
  change([this] {
    ends_ = true;
    for (const auto& [number, link] : links_) link->cut();
  });
  if (thread_.joinable()) thread_.join();
}

void Proxy::run() {
  if (!thread_.joinable()) thread_ = base::quiet_thread([this] { loop(); });
}

std::string Proxy::url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

template <class Change>
void Proxy::change(Change change) {
  const std::lock_guard lock(mutex_);
  change();
  wake();
}

void Proxy::wake() const noexcept {
  const std::uint64_t one = 1;
  // It fails only where the counter is full, and then the thread wakes as well.
  if (::write(wake_.get(), &one, sizeof one) < 0) return;
}

std::size_t Proxy::cut_all(Connections which) {
  std::size_t count = 0;
  change([&] {
    for (const auto& [number, link] : links_) {
      if (link->over() || !link->is(which)) continue;
      link->cut();
      ++count;
    }
  });
  return count;
}

void Proxy::refuse(bool on) {
  change([&] {
    if (std::exchange(refuses_, on) == on) return;
    // The socket keeps its port meanwhile, so that it surely gets it back.
    const int result =
        on ? ::shutdown(listener_.get(), SHUT_RDWR) : ::listen(listener_.get(), backlog);
    if (result != 0) fail("cannot stop or start listening");
  });
}

void Proxy::reset_new(bool on) {
  change([&] { network_.faults.reset_new = on; });
}

void Proxy::blackhole(bool on) {
  change([&] { network_.faults.blackhole = on; });
}

std::size_t Proxy::freeze(bool on, Connections which) {
  std::size_t count = 0;
  change([&] {
    for (const auto& [number, link] : links_) {
      if (link->over() || !link->is(which)) continue;
      link->freeze(on);
      ++count;
    }
  });
  return count;
}

void Proxy::delay(Duration least, Duration most, Direction where) {
  change([&] {
    if (where != Direction::to_client) network_.faults.to_server = {least, most};
    if (where != Direction::to_server) network_.faults.to_client = {least, most};
  });
}

void Proxy::drip(Duration interval) {
  change([&] { network_.faults.drip = interval; });
}

void Proxy::heal() {
  refuse(false);
  change([&] {
    network_.faults = {};
    for (const auto& [number, link] : links_) link->freeze(false);
    release_held_locked();
  });
}

void Proxy::lose_reply(double probability) {
  change([&] { network_.faults.lose_reply = probability; });
}

void Proxy::lose_request(double probability) {
  change([&] { network_.faults.lose_request = probability; });
}

void Proxy::cut_at(std::size_t nth, Moment moment, std::string command) {
  change([&] {
    network_.faults.cut = ProxyCut{.left = nth, .at = moment, .command = std::move(command)};
  });
}

bool Proxy::cut_is_ahead() const {
  const std::lock_guard lock(mutex_);
  return network_.faults.cut.has_value();
}

void Proxy::answer_with_error(const std::string& command, std::int32_t error) {
  change([&] {
    network_.faults.refusals.erase(command);
    if (error != 0) network_.faults.refusals.emplace(command, error);
  });
}

void Proxy::lose_push(double probability) {
  change([&] { network_.faults.lose_push = probability; });
}

void Proxy::delay_push(Duration least, Duration most) {
  change([&] { network_.faults.push = {least, most}; });
}

void Proxy::cut_reply_after(std::size_t bytes, Replies which) {
  change([&] { network_.faults.mishap = {.to = which, .cut_after = bytes, .garbage = {}}; });
}

void Proxy::garbage(std::string bytes, Replies which) {
  change([&] {
    network_.faults.mishap = {.to = which, .cut_after = {}, .garbage = std::move(bytes)};
  });
}

void Proxy::replace_request(std::string command, std::size_t others) {
  change([&] {
    network_.faults.instead = std::move(command);
    network_.faults.before_instead = others;
  });
}

bool Proxy::replacement_is_ahead() const {
  const std::lock_guard lock(mutex_);
  return network_.faults.instead.has_value();
}

void Proxy::hold_requests(bool on, Connections which) {
  change([&] {
    if (!on) {
      release_held_locked();
      return;
    }
    for (const auto& [number, link] : links_) {
      if (link->is(which)) link->hold_requests();
    }
  });
}

std::size_t Proxy::release_held() {
  std::size_t count = 0;
  change([&] { count = release_held_locked(); });
  return count;
}

std::size_t Proxy::release_held_locked() {
  std::size_t count = 0;
  for (const auto& [number, link] : links_) {
    count += link->held();
    link->release_held();
  }
  return count;
}

std::size_t Proxy::held() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [number, link] : links_) count += link->held();
  return count;
}

ProxyCounts Proxy::counts() const {
  const std::lock_guard lock(mutex_);
  return network_.counts;
}

std::uint64_t Proxy::pushes() const { return counts().pushes; }

std::uint64_t Proxy::commands() const {
  return commands("EVALSHA") + commands("EVAL") + commands("OPERATION");
}

std::uint64_t Proxy::commands(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = network_.counts.commands.find(name);
  return found == network_.counts.commands.end() ? 0 : found->second;
}

std::size_t Proxy::connections(Connections which) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [&](const auto& one) {
    return !one.second->over() && one.second->is(which);
  }));
}

void Proxy::loop() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    Round round = prepare();
    lock.unlock();
    round.poll();
    lock.lock();
    std::uint64_t woken = 0;
    if (::read(wake_.get(), &woken, sizeof woken) < 0) woken = 0;  // EAGAIN: it was a socket
    if (round.polled[1].revents != 0) accept_all();
    for (std::size_t i = 0; i < round.links.size(); ++i) {
      const auto found = links_.find(round.links[i]);
      if (found == links_.end()) continue;
      found->second->work(round.polled[2 + 2 * i].revents, round.polled[3 + 2 * i].revents);
    }
    std::erase_if(links_, [](const auto& one) { return one.second->over(); });
  }
}

Proxy::Round Proxy::prepare() {
  Round round;
  const bool pauses = ProxyLink::Clock::now() < accepts_from_;
  round.polled.push_back({wake_.get(), POLLIN, 0});
  round.polled.push_back({refuses_ || pauses ? -1 : listener_.get(), POLLIN, 0});
  if (pauses) round.until = accepts_from_;
  for (const auto& [number, link] : links_) {
    const ProxyLink::Wanted wanted = link->wanted();
    round.links.push_back(number);
    round.polled.push_back(wanted.client);
    round.polled.push_back(wanted.server);
    round.until = std::min(round.until, wanted.due);
  }
  return round;
}

void Proxy::accept_all() {
  while (!refuses_) {
    base::UniqueFd client = base::UniqueFd::open([this] {
      return ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    });
    if (!client) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      // A connection that there is no descriptor for stays, and poll() would not sleep.
      if (errno != EAGAIN) accepts_from_ = ProxyLink::Clock::now() + std::chrono::milliseconds(10);
      return;
    }
    ++network_.counts.accepted;
    send_at_once(client.get());
    base::UniqueFd server = network_.faults.reset_new ? base::UniqueFd() : connect_to_target();
    if (!server) {
      ++network_.counts.cuts;
      reset_connection(client.get());
      continue;
    }
    links_.emplace(++last_link_, std::make_unique<ProxyLink>(std::move(client), std::move(server),
                                                             network_, protocol_));
  }
}

// Empty: not to be reached, which its client shall see as a reset.
base::UniqueFd Proxy::connect_to_target() const {
  const bool local = !target_path_.empty();
  base::UniqueFd server = base::UniqueFd::open(
      [local] { return ::socket(local ? AF_UNIX : AF_INET, socket_flags, 0); });
  bool fine = false;
  if (local) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(static_cast<char*>(address.sun_path), target_path_.c_str(),
                target_path_.size() + 1);
    fine = started(server, &address, sizeof address);
  } else {
    const sockaddr_in address = loopback_address(target_port_);
    fine = started(server, &address, sizeof address);
    if (fine) send_at_once(server.get());
  }
  if (!fine) server.reset();
  return server;
}

}  // namespace mortise::test
