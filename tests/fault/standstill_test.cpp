// SPDX-License-Identifier: MIT
// Goal: a server that stands still costs time and nothing else: calls keep theirs, nothing is
// forgotten, and closing is bounded (L3, L4, L7). Method: SIGSTOP, while locks are held and wanted.
#include "fault/own_server.hpp"

#include <functional>
#include <future>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace mortise::fault {
namespace {

// Promise: L3
MORTISE_TEST(Standstill, CostsTimeAndNothingElse) {
  constexpr auto lease = 20s;
  Client mine = client(lease);
  Client other = client();
  Lock held = mine.make_lock("held", server().hold(lease));
  held.lock();
  Lock lock = mine.make_lock("a", server().hold(6s));
  server().stop();
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock(error)); }), 1s + allowance + slack);
  EXPECT_TRUE(is_retryable(error)) << error.message();
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(100ms, error)); }),
              100ms + allowance + slack);
    EXPECT_TRUE(is_retryable(error)) << error.message();
  }
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = held.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().resume();
  EXPECT_TRUE(taken_within(lock, 4s));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes_free(other, "held", 4s)) << "the release was forgotten";
  EXPECT_TRUE(comes_free(other, "a", 1s));
  for (const char* const name : {"a", "held"}) expect_nobody_waits(name);
}

/// A call of lock_all() for "a", "b" and "c" that holds "a" while it waits for "b".
class HoldsOneOfThree {
 public:
  HoldsOneOfThree(Client& mine, Client other, const LockOptions& options)
      : other_(std::move(other)),
        b_(other_.make_lock("b", options)),
        c_(other_.make_lock("c", options)) {
    for (const char* const name : {"a", "b", "c"}) wanted_.push_back(mine.make_lock(name, options));
  }
  /// @param waits_for whether the server has a waiter of that name, soon
  bool start(std::chrono::nanoseconds wait, std::stop_token stop,
             const std::function<bool(const std::string&)>& waits_for) {
    c_.lock();
    done_ = worker_.start([this, wait, stop = std::move(stop)] {
      const std::vector<std::reference_wrapper<Lock>> all(wanted_.begin(), wanted_.end());
      took_ = own_duration_of(
          [&] { held_ = static_cast<bool>(lock_all(all, {.wait = wait, .stop = stop}, error_)); });
    });
    // It waits for the first that it could not have, and holds none. After that it holds those that
    // come before the next one.
    if (!waits_for("c")) return false;
    b_.lock();
    c_.unlock();
    return waits_for("b");
  }
  void await() { done_.get(); }
  [[nodiscard]] bool held() const { return held_; }
  [[nodiscard]] const std::error_code& error() const { return error_; }
  [[nodiscard]] std::chrono::nanoseconds took() const { return took_; }
  void unlock() { b_.unlock(); }

 private:
  Client other_;
  Lock b_;
  Lock c_;
  std::vector<Lock> wanted_;
  std::error_code error_;
  bool held_ = false;
  std::chrono::nanoseconds took_{};
  std::future<void> done_;
  Worker worker_;
};

// Promise: L3
MORTISE_TEST(Standstill, LockAllKeepsItsTime) {
  constexpr auto wait = 3s;
  Client mine = client(20s);
  HoldsOneOfThree call(mine, client(20s), server().hold(20s));
  ASSERT_TRUE(call.start(wait, {}, [this](const auto& name) { return comes_to_wait(name); }));
  server().stop();
  call.await();
  EXPECT_FALSE(call.held());
  EXPECT_TRUE(is_retryable(call.error())) << call.error().message();
  EXPECT_LT(call.took(), wait + allowance + slack);
  server().resume();
  call.unlock();
  Client third = client();
  for (const char* const name : {"a", "b", "c"}) {
    EXPECT_TRUE(comes_free(third, name, 4s)) << name << " was not given back";
  }
}

// Promise: L3
MORTISE_TEST(Standstill, LockAllIsCancelledInTime) {
  Client mine = client(20s);
  HoldsOneOfThree call(mine, client(20s), server().hold(20s));
  std::stop_source stop;
  ASSERT_TRUE(call.start(patience, stop.get_token(),
                         [this](const auto& name) { return comes_to_wait(name); }));
  server().stop();
  const auto late = own_duration_of([&] {
    stop.request_stop();
    call.await();
  });
  EXPECT_FALSE(call.held());
  EXPECT_EQ(call.error(), Errc::cancelled);
  EXPECT_LT(late, allowance + slack);
  server().resume();
  call.unlock();
  Client third = client();
  for (const char* const name : {"a", "b", "c"}) {
    EXPECT_TRUE(comes_free(third, name, 4s)) << name << " was not given back";
  }
}

// No fault: its time is up in the middle of so many answers.
// Promise: L3
MORTISE_TEST(Standstill, LockAllOfManyNamesKeepsItsTime) {
  constexpr std::size_t many = 1'500;
  constexpr auto wait = 20ms;
  constexpr auto before_the_lease_ends = 15s;  // a loaded machine takes long to free so many
  Client mine = client(20s);
  std::vector<Lock> wanted;
  for (std::size_t i = 0; i < many; ++i) {
    wanted.push_back(mine.make_lock("many/" + std::to_string(i), server().hold(20s)));
  }
  const std::vector<std::reference_wrapper<Lock>> all(wanted.begin(), wanted.end());
  const auto limit = wait + allowance + slack;
  const auto took = test::best_of(5, limit, [&] {
    return own_duration_of([&] {
      std::error_code error;
      const Guards guards = lock_all(all, {.wait = wait}, error);
      EXPECT_TRUE(guards || is_retryable(error)) << error.message();
    });
  });
  EXPECT_LT(took, limit);
  Client other = client();
  for (std::size_t i = 0; i < many; i += 97) {
    EXPECT_TRUE(comes_free(other, "many/" + std::to_string(i), before_the_lease_ends)) << i;
  }
}

// Promise: L3
MORTISE_TEST(Standstill, EveryCallWithATimeLimitKeepsIt) {
  Client mine = client(20s);
  Client other = client();
  Lock held = other.make_lock("held", server().hold(20s));
  held.lock();
  Lock lock = mine.make_lock("held", server().hold(20s));
  const bool permits = mine.capabilities().permits == Support::yes;
  const bool once = mine.capabilities().once == Support::yes;
  EXPECT_FALSE(lock.try_lock());
  // Another client runs the key, and a thread of this one waits for it with another fingerprint
  // than the call below: that call asks the store whether it need wait at all.
  std::optional<mortise::Run> running;
  if (once) running = other.make_once("run", {.fingerprint = "one", .lease = 20s}).begin();
  Worker waiter;
  std::stop_source waited_enough;
  std::future<void> waits;
  if (once) {
    waits = waiter.start([&] {
      std::error_code ignored;
      Once same = mine.make_once(
          "run", {.fingerprint = "one", .lease = 20s, .stop = waited_enough.get_token()});
      const mortise::Run none = same.begin(ignored);
    });
    ASSERT_TRUE(waiter.falls_asleep());
  }
  server().stop();
  constexpr std::chrono::nanoseconds wait = 200ms;
  std::error_code error;
  const auto expect_in_time = [&](const char* what, auto call) {
    EXPECT_LT(own_duration_of(call), wait + allowance + slack) << what;
    EXPECT_TRUE(error) << what;
  };
  const auto stopped = [] {
    std::stop_source stop;
    stop.request_stop();
    return stop.get_token();
  };
  expect_in_time("try_lock_for", [&] { static_cast<void>(lock.try_lock_for(wait, error)); });
  expect_in_time("Guard", [&] { const Guard guard(lock, {.wait = wait}, error); });
  expect_in_time("a stopped Guard", [&] { const Guard guard(lock, {.stop = stopped()}, error); });
  expect_in_time("check", [&] { mine.check(wait, error); });
  expect_in_time("list", [&] { static_cast<void>(mine.list("", {.wait = wait}, error)); });
  expect_in_time("queue", [&] { static_cast<void>(mine.queue("held", {.wait = wait}, error)); });
  expect_in_time("force_release",
                 [&] { static_cast<void>(mine.force_release("no", {.wait = wait}, error)); });
  if (permits) {
    Semaphore semaphore = mine.make_semaphore("permits", 3, server().hold(20s));
    expect_in_time("Semaphore",
                   [&] { static_cast<void>(semaphore.acquire({.wait = wait}, error)); });
  }
  if (once) {
    Once run = mine.make_once("key", {.wait = wait, .lease = 20s});
    expect_in_time("Once", [&] { static_cast<void>(run.begin(error)); });
    Once never = mine.make_once(
        "run", {.fingerprint = "two", .wait = patience, .lease = 20s, .stop = stopped()});
    EXPECT_LT(own_duration_of([&] { static_cast<void>(never.begin(error)); }), allowance + slack)
        << "a stopped Once";
    waited_enough.request_stop();
    waits.get();
  }
  server().resume();
}

// Promise: L4
MORTISE_TEST(Standstill, ClosingIsBounded) {
  const std::chrono::milliseconds lease = std::max(ground().short_lease, 2'000ms);
  std::optional<Client> mine = client(lease);
  Lock lock = mine->make_lock("a", server().hold(lease));
  lock.lock();
  server().stop();
  EXPECT_LT(own_duration_of([&] { mine.reset(); }), 2s + slack);
  server().resume();
  // It is told so in good order, or the lease ends.
  Client other = client();
  EXPECT_TRUE(comes_free(other, "a", lease + 2s));
}

}  // namespace
}  // namespace mortise::fault
