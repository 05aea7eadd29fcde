// SPDX-License-Identifier: MIT
// A backend whose connection breaks, or stands still, and then the next allocation of the thread
// that reads fails; the one behind it in the next round, until there is none. Whichever fails, a
// hold that was freed is not told as lost, what is asked for later is answered, what a caller has
// given up is taken back although nobody asks again, who waits is told, and the end is quick. Exit
// status: 0 = all that; 77 = allocations cannot be made to fail here. Its second argument is the
// URL of the table's owner; its third says that only one of so many allocations fails: each
// connection is a process of the server's, and a round takes ten times as long as on Redis.
#include <mortise/postgres.hpp>

#include "support/postgres_talk.hpp"
#include "support/shortage.hpp"

#include <poll.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mortise::Instant;
using mortise::test::PostgresTalk;
using mortise::test::ShortageRound;
using mortise::test::ShortageUser;

constexpr auto patience = 60s;  // others may have the machine
// Two addresses where nobody listens.
constexpr const char* nowhere = "postgresql://127.0.0.1:1,127.0.0.1:2/none?user=nobody";

/// It waits for what it believes to be under way, for a second at most.
class User : public ShortageUser {
 public:
  User(const char* scene, ShortageRound round, const std::string& url)
      : ShortageUser(scene, round, mortise::postgres::backend(url)) {
    ends_within = 900ms;
    at_most_for_a_second = 700ms;
  }
};

/// Somebody else waits for this name from now on, for all that its holder knows.
void have_a_waiter(PostgresTalk& talk, const std::string& name) {
  static_cast<void>(talk.value(
      "select mortise.take(convert_to($1, 'UTF8'), '\\x99', 1000000, '', 1, '', 'infinity')",
      {name}));
}

/// No server takes the connection, one after the other. @return whether so many allocations there
/// were
bool nobody_there(ShortageRound round) {
  User user("nobody is there", round, nowhere);
  const auto asked = user.ask("a");
  const bool reached = user.run_short_of_memory(6);
  const Instant end = mortise::BootClock::now() + patience;
  for (long none = 0; !asked->in_trouble() && mortise::BootClock::now() < end;) {
    static_cast<void>(user.host.poll(5ms, none));
  }
  if (!asked->in_trouble()) user.fail("nobody says why");
  return reached;
}

/// Others are to be told of a free lock, and of the next one.
/// @param connected else the connection breaks while it tells of the first
bool bell_is_lost(const std::string& url, PostgresTalk& talk, ShortageRound round, bool connected) {
  User user(connected ? "the bell cannot ring" : "the bell is lost", round, url);
  const auto first = user.take("first");
  const auto second = user.take("second");
  have_a_waiter(talk, "first");
  have_a_waiter(talk, "second");
  const auto released = user.free(*first);
  if (!connected) {
    user.expect_released(released);
    user.host.lose_answers();
  }
  const bool reached = user.run_short_of_memory();
  user.expect_released(released);
  while (talk.notification(0ms)) {
  }
  user.expect_released(user.free(*second));
  const auto told = [&talk] {
    while (const auto payload = talk.notification(1ms)) {
      if (*payload == "7365636f6e64") return true;
    }
    return false;
  };
  const Instant end = mortise::BootClock::now() + patience;
  for (long none = 0; !told();) {
    static_cast<void>(user.host.poll(1ms, none));
    if (mortise::BootClock::now() > end) user.fail("who waits is not told");
  }
  return reached;
}

/// The server's process stands still, and what was sent to it counts as unanswered.
/// @param given_up nobody asks once more
bool server_stands_still(const std::string& url, PostgresTalk& talk, ShortageRound round,
                         bool given_up) {
  User user(given_up ? "the server stands still for nobody" : "the server stands still", round,
            url);
  const auto held = user.take(user.name("held"));
  const pid_t process = std::stoi(talk.value(
      "select pid from pg_stat_activity where usename = 'shop' and backend_type ="
      " 'client backend' and pid <> pg_backend_pid() order by backend_start desc limit 1"));
  if (::kill(process, SIGSTOP) != 0) user.fail("no right to stop the server");
  const auto release = user.free(*held);
  const auto wanted = user.ask(user.name("wanted"));
  if (given_up) user.cancel(wanted);
  user.host.step(2s);
  const bool reached = user.run_short_of_memory();
  ::kill(process, SIGCONT);
  if (given_up) {
    user.expect_taken_back(wanted);
    user.expect_free(user.name("held"));
    return reached;
  }
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  return reached;
}

/// The server refuses what is asked for, and takes it when it is asked once more.
bool server_refuses(const std::string& url, PostgresTalk& owner, ShortageRound round) {
  User user("the server refuses", round, url);
  const std::string name = user.name("wanted");
  user.expect_released(user.free(*user.take(name)));
  // Longer than the library waits for it.
  owner.run("begin; lock table mortise.lock in access exclusive mode");
  const auto wanted = user.ask(name);
  std::vector<pollfd> answers;
  for (const mortise::Source* const source : user.host.sources()) {
    answers.push_back({.fd = source->descriptor(), .events = POLLIN, .revents = 0});
  }
  if (::poll(answers.data(), answers.size(), 10'000) <= 0) user.fail("it is not refused");
  owner.run("rollback");
  const bool reached = user.run_short_of_memory();
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  return reached;
}

/// A waiter is answered that another client holds the name, for a short time.
bool waiter_is_answered(const std::string& url, PostgresTalk& talk, ShortageRound round) {
  User user("a waiter is answered", round, url);
  const std::string name = user.name("held");
  user.expect_released(user.free(*user.take(name)));
  static_cast<void>(talk.value(
      "select mortise.take(convert_to($1, 'UTF8'), '\\x99', 300000, '', 0, '', 'infinity')",
      {name}));
  const auto wanted = user.ask(name);
  const bool reached = user.run_short_of_memory();
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  return reached;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    const std::string url = arguments[1];
    const long step = std::stol(arguments[3]);
    const std::string two = url + "?mortise.connections=2";
    PostgresTalk talk(url);
    talk.run("listen mortise");
    PostgresTalk owner(arguments[2]);
    const auto play = [&](const auto& scene) { mortise::test::play_each_shortage(scene, 1, step); };
    play(nobody_there);
    play([&](ShortageRound round) {
      User user("answers are lost", round, url);
      return connection_comes_back(user);
    });
    play([&](ShortageRound round) {
      User user("a caller's cancel is lost", round, url);
      return callers_cancel_is_lost(user);
    });
    for (const bool connected : {false, true}) {
      play([&](ShortageRound round) { return bell_is_lost(url, talk, round, connected); });
    }
    for (const bool given_up : {false, true}) {
      play([&](ShortageRound round) { return server_stands_still(two, talk, round, given_up); });
    }
    // Few allocations, and each counts.
    mortise::test::play_each_shortage(
        [&](ShortageRound round) { return server_refuses(url, owner, round); }, 1, 1);
    mortise::test::play_each_shortage(
        [&](ShortageRound round) { return waiter_is_answered(url, talk, round); }, 1, 1);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
