// SPDX-License-Identifier: MIT
// A backend whose connection breaks, or stands still, and then the next allocation of the thread
// that reads fails; the one behind it in the next round, until there is none. Whichever fails, a
// hold that was freed is not told as lost, what is asked for later is answered, who waits is told,
// and the end is quick. Exit status: 0 = all that; 77 = allocations cannot be made to fail here.
#include <mortise/postgres.hpp>

#include "support/own_host.hpp"
#include "support/postgres_talk.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;
using mortise::Acquisition;
using mortise::Instant;
using mortise::Operation;
using mortise::Release;
using mortise::Released;
using mortise::Source;
using mortise::test::OwnHost;
using mortise::test::PostgresTalk;

constexpr auto patience = 60s;  // others may have the machine
// Longer than a try to connect, which may be unable to go on.
constexpr auto a_while = 3s;
// Two addresses where nobody listens.
constexpr const char* nowhere = "postgresql://127.0.0.1:1,127.0.0.1:2/none?user=nobody";

void fail(const char* scene, const char* what, long round) {
  std::printf("%s: %s, allocation %ld\n", scene, what, round);
  std::exit(1);
}

/// A client's side of it, without the library around.
class User {
 public:
  User(const char* scene, long round, const std::string& url)
      : scene_(scene), round_(round), backend_(mortise::postgres::backend(url)) {
    backend_->start(host);
  }
  ~User() {
    const auto began = std::chrono::steady_clock::now();
    backend_->stop();
    // It waits for what it believes to be under way, for a second at most.
    if (std::chrono::steady_clock::now() - began > 900ms) fail("it does not end in time");
  }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  OwnHost host;

  void fail(const char* what) const { ::fail(scene_, what, round_); }
  [[nodiscard]] long round() const noexcept { return round_; }
  [[nodiscard]] std::shared_ptr<Acquisition> ask(const std::string& name) {
    static std::uint64_t next = 1;
    static const auto program = static_cast<std::uint64_t>(::getpid());
    const auto operation = std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {.client_high = 1, .client_low = program, .sequence = next++},
        .name = name,
        .lease = 30s,
        .label = "a label of which each copy needs memory",
        .wait = true});
    backend_->acquire(operation);
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Acquisition> take(const std::string& name) {
    auto operation = ask(name);
    finish(*operation, "is not served");
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
  /// Asks again what nobody answers, as the library does.
  void finish(const std::shared_ptr<Acquisition>& operation) {
    backend_->acquire(operation);
    finish(*operation, "is not served later");
  }
  void finish(const Operation& operation, const char* otherwise) {
    if (!host.run_until([&] { return operation.done(); }, patience)) fail(otherwise);
    if (operation.failure()) fail(operation.failure().text.c_str());
  }
  void expect_released(const std::shared_ptr<Release>& release) {
    if (!release->done()) backend_->release(release);
    finish(*release, "no answer to a release");
    if (release->outcome() != Released::released) fail("a hold that stood is told as lost");
  }
  /// Waits until the server has answered, throws the answers away, and breaks the connection.
  void lose_answers() {
    for (Source* const source : host.sources()) {
      const int descriptor = source->descriptor();
      if (descriptor < 0) continue;
      pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 2'000) != 1) fail("the server does not answer");
      std::array<char, 4096> bytes{};
      while (::recv(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
      ::shutdown(descriptor, SHUT_RDWR);
    }
  }
  /// Polls until an allocation has failed. @return false: there are not so many of them
  [[nodiscard]] bool run_short_of_memory(int polls) {
    if (!host.run_short_of_memory(polls, round_)) return false;
    host.step(a_while);
    return true;
  }

 private:
  const char* const scene_;
  const long round_;
  const std::unique_ptr<mortise::Backend> backend_;
};

/// Somebody else waits for this name from now on, for all that its holder knows.
void have_a_waiter(PostgresTalk& talk, const std::string& name) {
  static_cast<void>(talk.value(
      "select mortise.take_apart(convert_to($1, 'UTF8'), '\\x99', 1000000, '', 17)", {name}));
}

/// No server takes the connection, one after the other. @return whether so many allocations there
/// were
bool nobody_there(long round) {
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

/// The connection breaks when the server has carried out what was asked for.
bool answers_are_lost(const std::string& url, long round) {
  User user("answers are lost", round, url);
  const auto held = user.take("held");
  const auto release = user.free(*held);
  const auto wanted = user.ask("wanted");
  user.lose_answers();
  const bool reached = user.run_short_of_memory(4);
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  return reached;
}

/// The connection breaks while it tells others of a free lock.
bool bell_is_lost(const std::string& url, PostgresTalk& talk, long round) {
  User user("the bell is lost", round, url);
  const auto first = user.take("first");
  const auto second = user.take("second");
  have_a_waiter(talk, "first");
  have_a_waiter(talk, "second");
  user.expect_released(user.free(*first));
  user.lose_answers();
  const bool reached = user.run_short_of_memory(4);
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
bool server_stands_still(const std::string& url, PostgresTalk& talk, long round) {
  User user("the server stands still", round, url);
  const auto held = user.take("held");
  const pid_t process = std::stoi(talk.value(
      "select pid from pg_stat_activity where usename = 'shop' and backend_type ="
      " 'client backend' and pid <> pg_backend_pid() order by backend_start desc limit 1"));
  if (::kill(process, SIGSTOP) != 0) user.fail("no right to stop the server");
  const auto release = user.free(*held);
  const auto wanted = user.ask("wanted");
  user.host.step(2s);
  const bool reached = user.run_short_of_memory(4);
  ::kill(process, SIGCONT);
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  return reached;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    const std::string url = arguments[1];
    PostgresTalk talk(url);
    talk.run("listen mortise");
    long round = 1;
    while (nobody_there(round)) ++round;
    for (round = 1; answers_are_lost(url, round);) ++round;
    for (round = 1; bell_is_lost(url, talk, round);) ++round;
    for (round = 1; server_stands_still(url + "?mortise.connections=2", talk, round);) ++round;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
