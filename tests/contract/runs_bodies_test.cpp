// SPDX-License-Identifier: MIT
// Goal: whatever a body does, and whatever becomes of its run, it is recorded as it was said or not
// at all (O2, O4). Method: bodies that throw, say the outcome themselves, or never; runs that move.
#include "support/contract_keys.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::contract {
namespace {

MORTISE_TEST(Runs, WhatABodyThrowsIsRecordedAndThrownOn, Quality::once) {
  struct Words {};
  Client one = client();
  Client other = client();
  Once key = one.make_once("key");
  EXPECT_THROW(key.run([]() -> std::string { throw std::runtime_error("card refused"); }),
               std::runtime_error);
  expect_failure(other.make_once("key").look(), "card refused");
  std::error_code ec;
  EXPECT_THROW(key.run([](Run&) { throw Words(); }, ec), Words);
  const Outcome second = other.make_once("key").look();
  EXPECT_EQ(second.state(), KeyState::failed);
  EXPECT_FALSE(second.reason().empty());
  EXPECT_EQ(second.number(), 2U);
  const std::string long_words(longest_outcome + 1000, 'w');
  EXPECT_THROW(key.run([&] { throw std::runtime_error(long_words); }), std::runtime_error);
  expect_failure(other.make_once("key").look(), long_words.substr(0, longest_outcome));
  expect_failure(other.make_once("key", {.repeat = Repeat::never}).run(never_run()),
                 long_words.substr(0, longest_outcome));
  expect_success(other.make_once("key").run([] { return "done"; }), "done");
}

MORTISE_TEST(Runs, ABodyMaySayTheOutcomeItself, Quality::once) {
  Client one = client();
  const Outcome failed = one.make_once("failed").run([](Run& run) {
    run.fail("no");
    return "this is not recorded";
  });
  expect_failure(failed, "no");
  EXPECT_FALSE(failed.replayed());
  expect_success(one.make_once("succeeded").run([](Run& run) {
    run.succeed("yes");
    return "no";
  }),
                 "yes");
  EXPECT_THROW(one.make_once("thrown").run([](Run& run) {
    run.succeed("yes");
    throw std::runtime_error("afterwards");
  }),
               std::runtime_error);
  expect_success(one.make_once("thrown").look(), "yes");
  const Outcome given_back = one.make_once("given back").run([](Run& run) { run.give_back(); });
  EXPECT_EQ(given_back.state(), KeyState::absent) << "nothing is known of it";
  EXPECT_EQ(one.make_once("given back").look().state(), KeyState::pending);
}

// Promise: O4
MORTISE_TEST(Runs, WithoutAnOutcomeTheNextOneRunsAtOnce, Quality::once) {
  Client one = client();
  Client other = client();
  test::OwnTimeLimit limit(10s, patience);
  for (std::uint64_t number = 1; number <= 6; ++number) {
    Client& mine = number % 2 == 0 ? one : other;
    Run run = mine.make_once("key", {.wait = patience}).begin();
    ASSERT_TRUE(run);
    EXPECT_EQ(run.number(), number);
    if (number % 3 == 0) run.give_back();
    if (number % 3 == 1) run = Run();
  }
  EXPECT_FALSE(limit.is_over()) << "it waited for a lease";
  // And whoever waits already.
  Run run = one.make_once("key", {.wait = patience}).begin();
  Worker worker;
  auto next =
      worker.start([&] { return other.make_once("key", {.wait = patience}).begin().number(); });
  ASSERT_TRUE(worker.falls_asleep());
  run.give_back();
  EXPECT_EQ(next.get(), 8U);
}

MORTISE_TEST(Runs, CanMoveToAnotherThread, Quality::once) {
  Client one = client();
  Run run = one.make_once("key").begin();
  Run moved = std::move(run);
  EXPECT_FALSE(run);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_FALSE(run.token());
  std::error_code ec;
  run.succeed("nothing", ec);
  EXPECT_EQ(ec, Errc::not_owner);
  Worker worker;
  worker.run([&, mine = std::move(moved)]() mutable {
    EXPECT_TRUE(mine);
    EXPECT_EQ(mine.key(), "key");
    EXPECT_FALSE(mine.lost().stop_requested());
    expect_success(mine.succeed("done"), "done");
    EXPECT_THROW(mine.succeed("twice"), Error);
    EXPECT_THROW(mine.fail("twice"), Error);
    expect_success(mine.outcome(), "done");
  });
  expect_success(one.make_once("key").look(), "done");
}

MORTISE_TEST(Runs, AThreadDoesNotWaitForItself, Quality::once) {
  Client one = client();
  const Outcome outer = one.make_once("key").run([&] {
    std::error_code ec;
    static_cast<void>(one.make_once("key").run(never_run(), ec));
    EXPECT_EQ(ec, Errc::unsupported);
    const Outcome asked = one.make_once("key", {.wait = 0s}).run(never_run(), ec);
    EXPECT_FALSE(ec);
    EXPECT_EQ(asked.state(), KeyState::pending);
    EXPECT_TRUE(asked.running());
    // Another key, and another thread, are not meant.
    expect_success(one.make_once("inner").run([] { return "inner"; }), "inner");
    Worker worker;
    worker.run([&] {
      static_cast<void>(one.make_once("key", {.wait = 1ms}).run(never_run(), ec));
      EXPECT_FALSE(ec);
    });
    return "outer";
  });
  expect_success(outer, "outer");
  expect_success(one.make_once("key").run(never_run()), "outer");
}

// Promise: O1
MORTISE_TEST(Runs, OneThreadHasSeveralAtOnce, Quality::once) {
  Client one = client();
  Client other = client();
  Run first = one.make_once("first").begin();
  Run second = one.make_once("second").begin();
  Run third = other.make_once("third").begin();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  ASSERT_TRUE(third);
  EXPECT_EQ(other.make_once("second", {.wait = 0s}).run(never_run()).state(), KeyState::pending);
  // They end in another order than they began, and one begins in between.
  expect_success(second.succeed("2"), "2");
  EXPECT_TRUE(first);
  EXPECT_FALSE(first.lost().stop_requested());
  third.fail("not yet");
  second = one.make_once("third", {.wait = patience}).begin();
  ASSERT_TRUE(second);
  EXPECT_EQ(second.number(), 2U);
  expect_success(first.succeed("1"), "1");
  EXPECT_FALSE(second.lost().stop_requested());
  expect_success(second.succeed("3"), "3");
  expect_success(other.make_once("first").look(), "1");
  expect_success(other.make_once("second").look(), "2");
  expect_success(one.make_once("third").look(), "3");
}

MORTISE_TEST(Runs, EndWithTheClient, Quality::once) {
  Client other = client();
  Run run;
  {
    Client one = client();
    run = one.make_once("key").begin();
    ASSERT_TRUE(run);
    one.close();
    std::error_code ec;
    const Outcome outcome = run.succeed("done", ec);
    EXPECT_EQ(ec, Errc::closed);
    EXPECT_EQ(outcome.result(), "");
    EXPECT_THROW(static_cast<void>(one.make_once("key")), Error);
  }
  Run next = other.make_once("key", {.wait = patience}).begin();
  ASSERT_TRUE(next);
  EXPECT_EQ(next.number(), 2U);
}

}  // namespace
}  // namespace mortise::contract
