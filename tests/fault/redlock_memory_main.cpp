// SPDX-License-Identifier: MIT
// The backend of a quorum whose connections come back, or whose round is lost, and then the next
// allocation of the thread that reads fails; the one behind it in the next round, until there is
// none. Whichever fails, what is asked for is answered when it is asked for again, as the library
// does, no server is left out for ever, and no vote stays for whoever holds nothing. Exit status: 0
// = all that; 77 = allocations cannot be made to fail here.
#include <mortise/redlock.hpp>

#include "support/own_host.hpp"
#include "support/redis_talk.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mortise::Acquisition;
using mortise::Instant;
using mortise::Operation;
using mortise::Release;
using mortise::Released;
using mortise::test::OwnHost;
using mortise::test::RedisTalk;

constexpr auto patience = 20s;  // others may have the machine
// The library asks again so often.
constexpr auto fallback = 1s;

/// The servers, as the test sees them.
class Servers {
 public:
  explicit Servers(const std::vector<std::uint16_t>& ports) {
    url = "redlock://";
    for (const std::uint16_t port : ports) {
      talks_.emplace_back(port);
      url += (talks_.size() == 1 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return talks_.size(); }
  [[nodiscard]] RedisTalk& operator[](std::size_t server) { return talks_.at(server); }
  /// @return how many servers have a vote for somebody
  [[nodiscard]] std::size_t votes(const std::string& name) {
    return static_cast<std::size_t>(
        std::count_if(talks_.begin(), talks_.end(), [&](RedisTalk& talk) {
          return !talk.command({"HGET", "mortise:{" + name + "}", "g"}).is_nil();
        }));
  }
  std::string url;

 private:
  std::vector<RedisTalk> talks_;
};

/// A client's side of it, without the library around.
class User {
 public:
  User(const char* scene, long round, Servers& servers)
      : scene_(scene),
        round_(round),
        servers_(servers),
        backend_(mortise::redlock::backend(servers.url)) {
    backend_->start(host);
    reach_all("first");
  }
  ~User() {
    const auto began = std::chrono::steady_clock::now();
    backend_->stop();
    // It waits for what it believes to be under way.
    if (std::chrono::steady_clock::now() - began > 700ms) fail("it does not end in time");
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  OwnHost host;

  void fail(const char* what) const {
    std::printf("%s: %s, allocation %ld\n", scene_, what, round_);
    std::exit(1);
  }
  /// @return a name that no other round has
  [[nodiscard]] std::string name(const std::string& of) const {
    return of + " of " + scene_ + " " + std::to_string(round_);
  }
  [[nodiscard]] std::shared_ptr<Acquisition> ask(const std::string& name, bool wait = true) {
    static std::uint64_t next = 1;
    auto operation = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {.client_high = 1, .client_low = 2, .sequence = next++},
                             .name = name,
                             .lease = 60s,
                             .label = "a label of which each copy needs memory",
                             .wait = wait});
    backend_->acquire(operation);
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Acquisition> take(const std::string& name) {
    auto operation = ask(name);
    if (!host.run_until([&] { return operation->done(); }, patience)) fail("is not served");
    if (operation->grant().number == 0) fail("is not granted what is free");
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Release> free(const Acquisition& held) {
    auto operation = std::make_shared<Release>(mortise::HoldId{.name = held.request().name,
                                                               .attempt = held.request().attempt,
                                                               .number = held.grant().number});
    backend_->release(operation);
    return operation;
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) { backend_->cancel(operation); }
  /// Until it is done; asked for again each second, as the library does.
  void finish(const Operation& operation, const std::function<void()>& again,
              const char* otherwise) {
    for (int second = 0; second < 12 && !operation.done(); ++second) {
      if (host.run_until([&] { return operation.done(); }, 60ms)) return;
      host.step(fallback);
      again();
    }
    if (!operation.done()) fail(otherwise);
  }
  void finish(const std::shared_ptr<Acquisition>& operation) {
    finish(
        *operation, [&] { backend_->acquire(operation); }, "an attempt is not answered");
  }
  void finish_cancel(const std::shared_ptr<Acquisition>& operation) {
    finish(
        *operation, [&] { backend_->cancel(operation); }, "a cancel is not answered");
  }
  void expect_released(const std::shared_ptr<Release>& release) {
    finish(
        *release, [&] { backend_->release(release); }, "a release is not answered");
    if (release->outcome() != Released::released) fail("a hold that stood is told as lost");
  }
  /// No server is left out for ever.
  void reach_all(const std::string& name) {
    const Instant end = mortise::BootClock::now() + patience;
    for (;;) {
      const auto held = take(this->name(name));
      const bool all =
          host.run_until([&] { return servers_.votes(this->name(name)) == servers_.size(); }, 50ms);
      expect_released(free(*held));
      expect_free(this->name(name));
      if (all) return;
      if (mortise::BootClock::now() > end) fail("a server is left out for ever");
      host.step(fallback);
    }
  }
  /// Far sooner than by its lease.
  void expect_free(const std::string& name) {
    for (int second = 0; second < 6; ++second) {
      if (host.run_until([&] { return servers_.votes(name) == 0; }, 100ms)) return;
      host.step(fallback);
    }
    fail("a vote stays for whoever holds nothing");
  }
  /// Polls until an allocation has failed. @return false: there are not so many of them
  [[nodiscard]] bool run_short_of_memory(int polls) {
    return host.run_short_of_memory(polls, round_);
  }

 private:
  const char* const scene_;
  const long round_;
  Servers& servers_;
  const std::unique_ptr<mortise::Backend> backend_;
};

/// The connections break when the servers have carried out what was asked for, and are made anew.
bool connections_come_back(Servers& servers, long round) {
  User user("connections come back", round, servers);
  const auto held = user.take(user.name("held"));
  const auto release = user.free(*held);
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  const bool reached = user.run_short_of_memory(12);
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  user.expect_free(user.name("wanted"));
  user.reach_all("last");
  return reached;
}

/// Somebody else has a majority, and one server has a vote that is to be taken back.
bool round_is_lost(Servers& servers, long round, bool waits) {
  User user(waits ? "a waiter's round is lost" : "a round is lost", round, servers);
  const std::string name = user.name("theirs");
  User other("the other", round, servers);
  const auto held = other.take(name);
  if (!other.host.run_until([&] { return servers.votes(name) == servers.size(); }, patience)) {
    user.fail("not on all servers");
  }
  servers[0].expect_ok({"DEL", "mortise:{" + name + "}"});
  const auto wanted = user.ask(name, waits);
  const bool reached = user.run_short_of_memory(12);
  if (waits) {
    user.cancel(wanted);
    user.finish_cancel(wanted);
  } else {
    user.finish(wanted);
  }
  if (wanted->grant().number != 0) user.fail("two hold it");
  other.expect_released(other.free(*held));
  user.expect_free(name);  // what it takes back is under way where a connection broke
  user.reach_all("last");
  return reached;
}

/// A waiter leaves, and hears of that from the servers.
bool waiter_leaves(Servers& servers, long round) {
  User user("a waiter leaves", round, servers);
  const std::string name = user.name("theirs");
  User other("the other", round, servers);
  const auto held = other.take(name);
  const auto wanted = user.ask(name);
  static_cast<void>(user.host.run_until([] { return false; }, 20ms));
  user.cancel(wanted);
  const bool reached = user.run_short_of_memory(12);
  user.finish_cancel(wanted);
  other.expect_released(other.free(*held));
  user.expect_free(name);
  user.reach_all("last");
  return reached;
}

}  // namespace

int main(int count, char** arguments) {
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    std::vector<std::uint16_t> ports;
    for (int i = 1; i < count; ++i) {
      ports.push_back(static_cast<std::uint16_t>(std::stoi(arguments[i])));
    }
    Servers servers(ports);
    long round = 1;
    while (connections_come_back(servers, round)) ++round;
    for (round = 1; round_is_lost(servers, round, false);) ++round;
    for (round = 1; round_is_lost(servers, round, true);) ++round;
    for (round = 1; waiter_leaves(servers, round);) ++round;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
