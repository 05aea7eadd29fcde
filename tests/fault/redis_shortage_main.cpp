// SPDX-License-Identifier: MIT
// A backend whose connection breaks, or is refused, and then the next allocation of the thread that
// reads fails; the one behind it in the next round, until there is none. Whichever fails, what is
// asked for is answered when it is asked for again, as the library does, a hold that was freed is
// not told as lost, and nothing stays held for nobody. Exit status: 0 = all that; 77 = allocations
// cannot be made to fail here.
#include <mortise/redis.hpp>

#include "support/own_host.hpp"
#include "support/redis_talk.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

namespace {

using namespace std::chrono_literals;
using mortise::Acquisition;
using mortise::Inspection;
using mortise::Operation;
using mortise::Release;
using mortise::Released;
using mortise::test::OwnHost;
using mortise::test::RedisTalk;

constexpr auto patience = 20s;  // others may have the machine
// The library asks again so often.
constexpr auto fallback = 1s;

/// Which allocation fails, and how many in a row.
struct Round {
  long allocation = 1;
  long in_a_row = 1;
};

/// A client's side of it, without the library around.
class User {
 public:
  User(const char* scene, Round round, RedisTalk& talk, const std::string& url)
      : scene_(scene), round_(round), talk_(talk), backend_(mortise::redis::backend(url)) {
    backend_->start(host);
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
    std::printf("%s: %s, allocation %ld and %ld in all\n", scene_, what, round_.allocation,
                round_.in_a_row);
    std::exit(1);
  }
  /// @return a name that no other round has
  [[nodiscard]] std::string name(const std::string& of) const {
    return of + " of " + scene_ + " " + std::to_string(round_.allocation) + " " +
           std::to_string(round_.in_a_row);
  }
  [[nodiscard]] std::shared_ptr<Acquisition> ask(const std::string& name) {
    static std::uint64_t next = 1;
    auto operation = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {.client_high = 1, .client_low = 2, .sequence = next++},
                             .name = name,
                             .lease = 60s,
                             .label = "a label of which each copy needs memory",
                             .wait = true});
    backend_->acquire(operation);
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Acquisition> take(const std::string& name) {
    auto operation = ask(name);
    finish(operation);
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Release> free(const Acquisition& held) {
    auto operation = std::make_shared<Release>(mortise::HoldId{.name = held.request().name,
                                                               .attempt = held.request().attempt,
                                                               .number = held.grant().number});
    backend_->release(operation);
    return operation;
  }
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
    if (operation->grant().number == 0) fail("is not granted what is free");
  }
  void expect_released(const std::shared_ptr<Release>& release) {
    finish(
        *release, [&] { backend_->release(release); }, "a release is not answered");
    if (release->outcome() != Released::released) fail("a hold that stood is told as lost");
  }
  [[nodiscard]] bool is_held(const std::string& name) {
    const auto look = std::make_shared<Inspection>(name);
    backend_->inspect(look);
    finish(
        *look, [&] { backend_->inspect(look); }, "nobody says who holds it");
    return look->holder().has_value();
  }
  /// Far sooner than by its lease.
  void expect_free(const std::string& name) {
    for (int second = 0; second < 6; ++second) {
      for (int look = 0; look < 5; ++look) {
        if (!is_held(name)) return;
        static_cast<void>(host.run_until([] { return false; }, 20ms));
      }
      host.step(fallback);
    }
    fail("a lock stays held for nobody");
  }
  /// @return whether it is taken by somebody at the server
  [[nodiscard]] bool is_taken_there(const std::string& name) {
    return !talk_.command({"HGET", "mortise:{" + name + "}", "o"}).is_nil();
  }
  void refuse_clients(bool refuse) {
    talk_.expect_ok({"CONFIG", "SET", "requirepass", refuse ? "another" : ""});
  }
  [[nodiscard]] bool run_short_of_memory(int polls) {
    return host.run_short_of_memory(polls, round_.allocation, round_.in_a_row);
  }

 private:
  const char* const scene_;
  const Round round_;
  RedisTalk& talk_;
  const std::unique_ptr<mortise::Backend> backend_;
};

/// The connection breaks when the server has carried out what was asked for, and is made anew.
bool connection_comes_back(RedisTalk& talk, const std::string& url, Round round) {
  User user("the connection comes back", round, talk, url);
  const auto held = user.take(user.name("held"));
  const auto release = user.free(*held);
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  const bool reached = user.run_short_of_memory(12);
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  user.expect_free(user.name("held"));
  user.expect_free(user.name("wanted"));
  return reached;
}

/// The same, and then the server refuses the client: whoever asked is told so, and what the server
/// has granted meanwhile is nobody's.
/// @param at_once memory is short while it is refused; else once it is not any more
bool grant_is_nobodys(RedisTalk& talk, const std::string& url, Round round, bool at_once) {
  User user(at_once ? "it is refused" : "it is not refused any more", round, talk, url);
  const auto first = user.take(user.name("first"));
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  if (!user.is_taken_there(user.name("wanted"))) user.fail("nothing is granted");
  user.refuse_clients(true);
  bool reached = false;
  if (at_once) {
    reached = user.run_short_of_memory(12);
    user.host.step(fallback);
  }
  user.finish(
      *wanted, [&] { user.host.step(fallback); }, "nobody says that it is refused");
  user.refuse_clients(false);
  if (!at_once) {
    user.host.step(fallback);
    reached = user.run_short_of_memory(12);
  }
  user.host.step(fallback);
  user.expect_free(user.name("wanted"));
  user.expect_released(user.free(*first));
  return reached;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 100;
  if (!mortise::test::allocations_fail_when_told()) return 77;
  try {
    RedisTalk talk(static_cast<std::uint16_t>(std::stoi(arguments[1])));
    const std::string url = std::string("redis://127.0.0.1:") + arguments[1];
    for (const long in_a_row : {1, 2}) {
      const auto each = [in_a_row](const auto& scene) {
        for (Round round{.in_a_row = in_a_row}; scene(round);) ++round.allocation;
      };
      each([&](Round round) { return connection_comes_back(talk, url, round); });
      each([&](Round round) { return grant_is_nobodys(talk, url, round, false); });
      each([&](Round round) { return grant_is_nobodys(talk, url, round, true); });
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
