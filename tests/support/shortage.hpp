// SPDX-License-Identifier: MIT
// A client's side of a backend without the library around, for programs in which the allocations of
// the thread that reads fail one after the other: in each round of a scene the next one, until
// there are no more. A program that includes it has operators of its own.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/operation.hpp>

#include "support/own_host.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace mortise::test {

/// Which allocation fails, and how many in a row.
struct ShortageRound {
  long allocation = 1;
  long in_a_row = 1;
};

/// Plays a scene until there are no more allocations in it, with one that fails, and with up to so
/// many in a row.
/// @param scene with a round; @return whether so many allocations there were
/// @param step 1 = each allocation fails; else one of so many, another one each time
template <class Scene>
void play_each_shortage(const Scene& scene, long most_in_a_row = 2, long step = 1) {
  std::random_device chance;
  std::uniform_int_distribution<long> first(1, step);
  for (long in_a_row = 1; in_a_row <= most_in_a_row; ++in_a_row) {
    ShortageRound round{.allocation = first(chance), .in_a_row = in_a_row};
    while (scene(round)) round.allocation += step;
  }
}

class ShortageUser {
 public:
  ShortageUser(const char* scene, ShortageRound round, std::unique_ptr<Backend> backend)
      : scene_(scene), round_(round), backend_(std::move(backend)) {
    count_servers_of_parent();
    backend_->start(host);
  }
  ~ShortageUser() {
    // It waits for what it believes to be under way.
    if (own_duration_of([&] { backend_->stop(); }) > ends_within) fail("it does not end in time");
  }
  ShortageUser(const ShortageUser&) = delete;
  ShortageUser& operator=(const ShortageUser&) = delete;

  OwnHost host;
  std::chrono::milliseconds ends_within{700};
  /// Before the clock goes on by a second: a connection is made in this time, of which the time
  /// that the machine makes the program and its servers wait is no part.
  std::chrono::milliseconds at_most_for_a_second{60};

  /// Ends the program.
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
  [[nodiscard]] std::shared_ptr<Acquisition> ask(const std::string& name, bool wait = true) {
    static std::uint64_t next = 1;
    static const auto program = static_cast<std::uint64_t>(::getpid());
    auto operation = std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {.client_high = 1, .client_low = program, .sequence = next++},
        .name = name,
        .lease = std::chrono::seconds(60),
        .label = "a label of which each copy needs memory",
        .wait = wait});
    backend_->acquire(operation);
    return operation;
  }
  [[nodiscard]] std::shared_ptr<Acquisition> take(const std::string& name) {
    auto operation = ask(name);
    finish(operation);
    if (operation->grant().number == 0) fail("is not granted what is free");
    return operation;
  }
  void cancel(const std::shared_ptr<Acquisition>& operation) { backend_->cancel(operation); }
  [[nodiscard]] std::shared_ptr<Release> free(const Acquisition& held) {
    auto operation = std::make_shared<Release>(HoldId{.name = held.request().name,
                                                      .attempt = held.request().attempt,
                                                      .number = held.grant().number});
    backend_->release(operation);
    return operation;
  }
  /// Until it is done; asked for again each second, as the library does.
  void finish(const Operation& operation, const std::function<void()>& again,
              const char* otherwise) {
    for (int second = 0; second < 12 && !operation.done(); ++second) {
      if (host.run_until([&] { return operation.done(); }, at_most_for_a_second)) return;
      pass_a_second();
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
  /// It is answered although nobody asks again; and what it was granted is given back, as by the
  /// library.
  void expect_taken_back(const std::shared_ptr<Acquisition>& operation) {
    finish(
        *operation, [] {}, "a cancel is forgotten");
    if (operation->grant().number != 0) expect_released(free(*operation));
    expect_free(operation->request().name);
  }
  [[nodiscard]] bool is_held(const std::string& name) {
    const auto look = std::make_shared<Inspection>(name);
    backend_->inspector()->inspect(look);
    finish(
        *look, [&] { backend_->inspector()->inspect(look); }, "nobody says who holds it");
    return look->holder().has_value();
  }
  /// Far sooner than by its lease, and nobody asks once more.
  void expect(const char* otherwise, const std::function<bool()>& comes_true) {
    for (int second = 0; second < 6; ++second) {
      if (host.run_until(comes_true, at_most_for_a_second)) return;
      pass_a_second();
    }
    fail(otherwise);
  }
  void expect_free(const std::string& name) {
    expect("a lock stays held for nobody", [&] { return !is_held(name); });
  }
  /// The library asks again so often.
  void pass_a_second() { host.step(std::chrono::seconds(1)); }
  /// Polls until the round's allocation has failed. @return false: there are not so many
  [[nodiscard]] bool run_short_of_memory(int polls = 12) {
    return host.run_short_of_memory(polls, round_.allocation, round_.in_a_row);
  }

 private:
  const char* const scene_;
  const ShortageRound round_;
  const std::unique_ptr<Backend> backend_;
};

/// The connection breaks when the server has carried out what was asked for, and is made anew.
/// @return whether there were so many allocations
inline bool connection_comes_back(ShortageUser& user) {
  const auto held = user.take(user.name("held"));
  const auto release = user.free(*held);
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  const bool reached = user.run_short_of_memory();
  user.expect_released(release);
  user.finish(wanted);
  user.expect_released(user.free(*wanted));
  user.expect_free(user.name("held"));
  user.expect_free(user.name("wanted"));
  return reached;
}

/// The same, and its caller has given up: nobody asks for it once more.
inline bool callers_cancel_is_lost(ShortageUser& user) {
  const auto first = user.take(user.name("first"));
  const auto wanted = user.ask(user.name("wanted"));
  user.host.lose_answers();
  user.cancel(wanted);
  const bool reached = user.run_short_of_memory();
  user.expect_taken_back(wanted);
  user.expect_released(user.free(*first));
  return reached;
}

}  // namespace mortise::test
