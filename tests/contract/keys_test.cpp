// SPDX-License-Identifier: MIT
// Goal: a key gives its outcome to everybody until it is forgotten, byte by byte, and to nobody
// whose request is another (O1, O3). Method: each state, asked by another client in each way.
#include "support/contract_keys.hpp"

#include <string>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: O1
MORTISE_TEST(Keys, AnOutcomeIsToldToWhoeverAsksLater, Quality::once) {
  Client one = client();
  Client other = client();
  Work work;
  const Outcome first = one.make_once("key").run(work);
  expect_success(first, "done 1");
  EXPECT_FALSE(first.replayed());
  EXPECT_EQ(first.number(), 1U);
  for (Client* const each : {&one, &other, &one}) {
    const Outcome later = each->make_once("key").run(work);
    expect_success(later, "done 1");
    EXPECT_TRUE(later.replayed());
    EXPECT_EQ(later.number(), 1U);
    EXPECT_EQ(later.token(), first.token());
  }
  EXPECT_EQ(work.times(), 1);
  Client third = client();
  expect_success(third.make_once("key").look(), "done 1");
}

MORTISE_TEST(Keys, ABodyMayReturnNothing, Quality::once) {
  Client one = client();
  expect_success(one.make_once("key").run([] {}), "");
  expect_success(one.make_once("key").run(never_run()), "");
}

MORTISE_TEST(Keys, AKeyAndALockOfOneNameDoNotMeet, Quality::once) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("x");
  ASSERT_TRUE(lock.try_lock());
  Run run = other.make_once("x", {.wait = 0s}).begin();
  ASSERT_TRUE(run) << "the lock kept the key";
  EXPECT_FALSE(other.make_lock("x").try_lock());
  run.succeed("done");
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(other.make_lock("x").try_lock()) << "the key kept the lock";
  EXPECT_EQ(other.make_lock("x").release(), Released::released);
  expect_success(one.make_once("x").look(), "done");
}

// Promise: O3
MORTISE_TEST(Keys, AnotherFingerprintIsRefusedAndChangesNothing, Quality::once) {
  Client one = client();
  Client other = client();
  const OnceOptions mine{.fingerprint = "order 1", .wait = 0s};
  const OnceOptions its{.fingerprint = "order 2", .wait = patience};
  const auto expect_refused = [&] {
    for (Client* const each : {&one, &other}) {
      std::error_code ec;
      EXPECT_EQ(each->make_once("key", its).run(never_run(), ec).state(), KeyState::absent);
      EXPECT_EQ(ec, Errc::mismatch);
      OnceOptions at_once = its;
      at_once.wait = 0s;
      static_cast<void>(each->make_once("key", at_once).begin(ec));
      EXPECT_EQ(ec, Errc::mismatch);
      at_once.fingerprint.clear();
      static_cast<void>(each->make_once("key", at_once).begin(ec));
      EXPECT_EQ(ec, Errc::mismatch);
    }
  };
  {
    Run run = one.make_once("key", mine).begin();
    ASSERT_TRUE(run);
    expect_refused();
    EXPECT_EQ(run.fail("not yet").state(), KeyState::failed) << "the run was disturbed";
  }
  expect_refused();
  expect_failure(other.make_once("key", mine).look(), "not yet");
  {
    Run run = one.make_once("key", mine).begin();
    ASSERT_TRUE(run);
    EXPECT_EQ(run.number(), 2U);
  }
  expect_refused();
  expect_success(other.make_once("key", mine).run([] { return "done"; }), "done");
  expect_refused();
  expect_success(one.make_once("key", mine).run(never_run()), "done");
  EXPECT_THROW(one.make_once("key", its).run(never_run()), Error);
}

MORTISE_TEST(Keys, AFailureIsRepeatedUnlessItIsToStand, Quality::once) {
  Client one = client();
  Client other = client();
  expect_failure(one.make_once("key").run([](Run& run) { run.fail("no money"); }), "no money");
  const Outcome stands = other.make_once("key", {.repeat = Repeat::never}).run(never_run());
  expect_failure(stands, "no money");
  EXPECT_TRUE(stands.replayed());
  const Outcome second = other.make_once("key").run([](Run& run) {
    EXPECT_EQ(run.number(), 2U);
    return "paid";
  });
  expect_success(second, "paid");
  EXPECT_EQ(second.number(), 2U);
  EXPECT_GT(second.token(), stands.token());
  expect_success(one.make_once("key", {.repeat = Repeat::never}).run(never_run()), "paid");
}

// Promise: O4
MORTISE_TEST(Keys, WhoAlwaysRepeatsRunsAfterSuccessToo, Quality::once) {
  Client one = client();
  Client other = client();
  Work work;
  Token last;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    Client& each = number % 2 == 0 ? other : one;
    const Outcome outcome = each.make_once("key", {.repeat = Repeat::always}).run(work);
    expect_success(outcome, "done " + std::to_string(number));
    EXPECT_EQ(outcome.number(), number);
    EXPECT_GT(outcome.token(), last);
    EXPECT_FALSE(outcome.replayed());
    last = outcome.token();
  }
  expect_success(one.make_once("key").run(never_run()), "done 4");
}

// Promise: O3
MORTISE_TEST(Keys, AnOutcomeIsRememberedForAsLongAsItIsKept, Quality::once, Hook::hand_clock) {
  take_the_clock();
  Client one = client();
  Client other = client();
  const OnceOptions kept{.keep = 1h};
  Run run = one.make_once("key", kept).begin();
  clock().advance(10s);
  const Outcome first = run.succeed("done");
  clock().advance(1h - 1ms);
  expect_success(other.make_once("key", kept).run(never_run()), "done");
  EXPECT_EQ(one.make_once("key", kept).look().state(), KeyState::succeeded);
  clock().advance(1ms);
  EXPECT_EQ(one.make_once("key", kept).look().state(), KeyState::absent);
  const Outcome again = other.make_once("key", kept).run([](Run& anew) {
    EXPECT_EQ(anew.number(), 1U);
    return "anew";
  });
  expect_success(again, "anew");
  EXPECT_GT(again.token(), first.token()) << "the fencing token does not begin anew";
}

// Promise: O4
MORTISE_TEST(Keys, AKeyWhoseRunnerDiedIsKeptFromItsLastBegin, Quality::once, Hook::hand_clock) {
  take_the_clock();
  Client other = client();
  const OnceOptions kept{.keep = 1h, .wait = 0s};
  {
    Client one = client();
    Run run = one.make_once("key", kept).begin();
    EXPECT_EQ(run.number(), 1U);
  }
  clock().advance(59min);
  {
    Run run = other.make_once("key", kept).begin();
    EXPECT_EQ(run.number(), 2U);
  }
  clock().advance(59min);
  EXPECT_EQ(other.make_once("key", kept).look().number(), 2U) << "it counts from the last begin";
  clock().advance(1min);
  EXPECT_EQ(other.make_once("key", kept).look().state(), KeyState::absent);
  EXPECT_EQ(other.make_once("key", kept).begin().number(), 1U);
}

MORTISE_TEST(Keys, AKeyThatRunsLongerThanItIsKeptIsNotForgotten, Quality::once) {
  Client one = client();
  Client other = client();
  const OnceOptions brief{.keep = 1s, .wait = 0s};
  Run run = one.make_once("key", brief).begin();
  ASSERT_TRUE(run);
  std::this_thread::sleep_for(1200ms);
  EXPECT_EQ(other.make_once("key", brief).look().state(), KeyState::pending);
  EXPECT_FALSE(other.make_once("key", brief).begin());
  expect_success(run.succeed("done"), "done");
  expect_success(other.make_once("key", brief).run(never_run()), "done");
  EXPECT_TRUE(
      eventually([&] { return other.make_once("key").look().state() == KeyState::absent; }));
  EXPECT_EQ(other.make_once("key").begin().number(), 1U);
}

MORTISE_TEST(Keys, CanBeLookedAtInEachState, Quality::once) {
  Client one = client();
  Client other = client();
  Once key = other.make_once("key", {.fingerprint = "whoever looks need not know it"});
  EXPECT_EQ(key.look().state(), KeyState::absent);
  EXPECT_EQ(key.look().number(), 0U);
  EXPECT_FALSE(key.look().token());
  Run run = one.make_once("key").begin();
  Outcome seen = key.look();
  EXPECT_EQ(seen.state(), KeyState::pending);
  EXPECT_TRUE(seen.running());
  EXPECT_EQ(seen.number(), 1U);
  EXPECT_EQ(seen.token(), run.token());
  run.give_back();
  seen = key.look();
  EXPECT_EQ(seen.state(), KeyState::pending);
  EXPECT_FALSE(seen.running());
  EXPECT_EQ(seen.number(), 1U);
  static_cast<void>(one.make_once("key").run([](Run& second) { second.fail("no"); }));
  seen = key.look();
  expect_failure(seen, "no");
  EXPECT_EQ(seen.number(), 2U);
  EXPECT_FALSE(seen.running());
  const Outcome done = one.make_once("key").run([] { return "yes"; });
  std::error_code ec = make_error_code(Errc::closed);
  seen = key.look(ec);
  EXPECT_FALSE(ec);
  expect_success(seen, "yes");
  EXPECT_EQ(seen.number(), 3U);
  EXPECT_EQ(seen.token(), done.token());
}

MORTISE_TEST(Keys, CanBeForgottenUnlessTheyRun, Quality::once) {
  Client one = client();
  Client other = client();
  Once key = other.make_once("key", {.wait = 0s});
  EXPECT_TRUE(key.forget()) << "there is nothing to be forgotten";
  Run run = one.make_once("key").begin();
  EXPECT_FALSE(key.forget());
  std::error_code ec = make_error_code(Errc::closed);
  EXPECT_FALSE(key.forget(ec));
  EXPECT_FALSE(ec);
  EXPECT_TRUE(key.look().running());
  EXPECT_EQ(key.look().state(), KeyState::pending) << "it was forgotten while it ran";
  EXPECT_EQ(key.look().number(), 1U);
  const Outcome first = run.succeed("done");
  expect_success(first, "done");
  EXPECT_TRUE(key.forget());
  EXPECT_EQ(key.look().state(), KeyState::absent);
  Run again = key.begin();
  ASSERT_TRUE(again);
  EXPECT_EQ(again.number(), 1U);
  EXPECT_GT(again.token(), first.token());
  again.give_back();
  EXPECT_TRUE(one.make_once("key").forget()) << "pending, and nobody runs it";
  EXPECT_EQ(key.look().state(), KeyState::absent);
}

}  // namespace
}  // namespace mortise::contract
