// SPDX-License-Identifier: MIT
// The backend of a quorum whose connections come back, or whose round is lost, and then the next
// allocation of the thread that reads fails; the one behind it in the next round, until there is
// none. Whichever fails, what is asked for is answered when it is asked for again, as the library
// does, no server is left out for ever, and no vote stays for whoever holds nothing. Exit status: 0
// = all that; 77 = allocations cannot be made to fail here.
#include <mortise/redlock.hpp>

#include "redlock/servers.hpp"
#include "support/redis_talk.hpp"
#include "support/shortage.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mortise::Instant;
using mortise::test::RedisTalk;
using mortise::test::ShortageRound;
using mortise::test::ShortageUser;
namespace redis = mortise::redis;
namespace redlock = mortise::redlock;

constexpr auto patience = 20s;  // others may have the machine

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
          return !talk.command({"HGET", "mortise:{" + name + "}", "ends"}).is_nil();
        }));
  }
  std::string url;

 private:
  std::vector<RedisTalk> talks_;
};

class User : public ShortageUser {
 public:
  User(const char* scene, ShortageRound round, Servers& servers)
      : ShortageUser(scene, round, mortise::redlock::backend(servers.url)), servers_(servers) {
    reach_all("first");
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
      pass_a_second();
    }
  }
  /// Far sooner than by its lease.
  void expect_free(const std::string& name) {
    expect("a vote stays for whoever holds nothing", [&] { return servers_.votes(name) == 0; });
  }
  /// The last server carries out nothing of what it is asked next: its connection breaks before.
  template <class Ask>
  void overlook(const Ask& ask) {
    servers_[servers_.size() - 1].expect_ok({"CLIENT", "PAUSE", "150"});
    ask();
    // Two sources each: its answers, and its care.
    const int descriptor = host.sources().at(2 * (servers_.size() - 1))->descriptor();
    if (descriptor < 0) fail("it is not connected");
    ::shutdown(descriptor, SHUT_RDWR);
  }

 private:
  Servers& servers_;
};

/// The connections break when the servers have carried out what was asked for, and are made anew.
bool connections_come_back(Servers& servers, ShortageRound round) {
  User user("connections come back", round, servers);
  const auto held = user.take(user.name("held"));
  const auto release = user.free(*held);
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  const bool reached = user.run_short_of_memory();
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  user.expect_free(user.name("wanted"));
  user.reach_all("last");
  return reached;
}

/// Somebody else has a majority, and one server has a vote that is to be taken back.
bool round_is_lost(Servers& servers, ShortageRound round, bool waits) {
  User user(waits ? "a waiter's round is lost" : "a round is lost", round, servers);
  const std::string name = user.name("theirs");
  User other("the other", round, servers);
  const auto held = other.take(name);
  if (!other.host.run_until([&] { return servers.votes(name) == servers.size(); }, patience)) {
    user.fail("not on all servers");
  }
  servers[0].expect_ok({"DEL", "mortise:{" + name + "}"});
  const auto wanted = user.ask(name, waits);
  const bool reached = user.run_short_of_memory();
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
bool waiter_leaves(Servers& servers, ShortageRound round) {
  User user("a waiter leaves", round, servers);
  const std::string name = user.name("theirs");
  User other("the other", round, servers);
  const auto held = other.take(name);
  const auto wanted = user.ask(name);
  static_cast<void>(user.host.run_until([] { return false; }, 20ms));
  user.cancel(wanted);
  const bool reached = user.run_short_of_memory();
  user.finish_cancel(wanted);
  other.expect_released(other.free(*held));
  user.expect_free(name);
  user.reach_all("last");
  return reached;
}

/// A release is over with the majority's answers, and its server hears nothing of it.
bool release_is_overlooked(Servers& servers, ShortageRound round) {
  User user("a release is overlooked", round, servers);
  const auto held = user.take(user.name("held"));
  user.expect("it has no vote", [&] { return servers.votes(user.name("held")) == servers.size(); });
  std::shared_ptr<mortise::Release> release;
  user.overlook([&] { release = user.free(*held); });
  const bool reached = user.run_short_of_memory();
  user.expect_free(user.name("held"));
  user.expect_released(release);
  return reached;
}

/// The same of a cancel, of what all have voted for.
bool cancel_is_overlooked(Servers& servers, ShortageRound round) {
  User user("a cancel is overlooked", round, servers);
  const auto wanted = user.ask(user.name("wanted"));
  const Instant end = mortise::BootClock::now() + patience;
  while (servers.votes(user.name("wanted")) < servers.size()) {
    if (mortise::BootClock::now() > end) user.fail("it has no vote");
  }
  user.overlook([&] { user.cancel(wanted); });
  const bool reached = user.run_short_of_memory();
  user.expect_free(user.name("wanted"));
  return reached;
}

/// The user of addresses without connections.
class NoUser final : public redlock::Node::User, public redlock::Line::User {
 public:
  redlock::Server* recognise(redlock::Node& /*node*/, const std::string& /*run_id*/) override {
    return nullptr;
  }
  void up(redlock::Node& /*node*/) override {}
  void down(redlock::Node& /*node*/, bool /*was_up*/, std::list<redis::Call> /*calls*/) override {}
  void answered(redlock::Node& /*node*/, const redis::Call& /*call*/,
                const redis::Reply& /*reply*/) override {}
  bool admits(redlock::Node& /*node*/, const redis::Call& /*call*/) override { return true; }
  void listens(redlock::Node& /*node*/) override {}
  void hinted(redlock::Node& /*node*/, const mortise::AttemptId& /*attempt*/) override {}
  bool awaits() const noexcept override { return false; }
  void not_asked(redlock::Node& /*node*/, const redis::Call& /*take*/) override {}
  void sooner(Instant /*due*/) override {}
};

/// An address leads to the server of another address for an hour. The client connects to it again.
bool doubt_is_settled(ShortageRound round) {
  mortise::test::OwnHost host;
  NoUser user;
  const redlock::Requests requests("mortise:");
  const redlock::CallWriter writer(requests, host.clock());
  const auto settings = redlock::Settings::parse("redlock://127.0.0.1:1,127.0.0.2:1,127.0.0.3:1");
  redlock::Servers servers(settings, host, writer, nullptr, user, user);
  const Instant now = host.clock()->now();
  servers.whereabouts().arrived(0, "run", now - 1h);
  servers.whereabouts().arrived(1, "run", now);
  mortise::test::until_failure = round.allocation;
  mortise::test::also_failing = round.in_a_row - 1;
  try {
    servers.settle_doubts();
  } catch (const std::bad_alloc&) {
    // The next request settles the doubts.
  }
  const bool reached = std::exchange(mortise::test::until_failure, 0) == 0;
  servers.settle_doubts();
  if (!servers.node(0).commands().is_wanted()) {
    std::printf("an address in doubt is not connected again, allocation %ld and %ld in all\n",
                round.allocation, round.in_a_row);
    std::exit(1);
  }
  return reached;
}

}  // namespace

// @param arguments one of so many allocations fails; the servers' ports
int main(int count, char** arguments) {
  if (count < 2) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    const long step = std::stol(arguments[1]);
    std::vector<std::uint16_t> ports;
    for (int i = 2; i < count; ++i) {
      ports.push_back(static_cast<std::uint16_t>(std::stoi(arguments[i])));
    }
    Servers servers(ports);
    const auto play = [&](const auto& scene) { mortise::test::play_each_shortage(scene, 2, step); };
    mortise::test::play_each_shortage(doubt_is_settled);
    play([&](ShortageRound round) { return connections_come_back(servers, round); });
    for (const bool waits : {false, true}) {
      play([&](ShortageRound round) { return round_is_lost(servers, round, waits); });
    }
    play([&](ShortageRound round) { return waiter_leaves(servers, round); });
    play([&](ShortageRound round) { return release_is_overlooked(servers, round); });
    play([&](ShortageRound round) { return cancel_is_overlooked(servers, round); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
