// SPDX-License-Identifier: MIT
// Goal: keys in files: who runs, who is told what, and that an outcome is recorded once, for the
// live run only. Method: several clients in one process, which exclude each other through the
// kernel as processes do.
#include "integration/file_key_fixture.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace mortise::file {
namespace {

TEST_F(FileKeyTest, TheFirstRunsAndTheOthersAreTold) {
  KeyUser first = keys();
  const auto run = first.begin("payment/1");
  ASSERT_TRUE(run);
  EXPECT_EQ(run->run, 1U);
  EXPECT_EQ(first.succeed(*run, "receipt"), Released::released);
  for (KeyUser client : {first, keys()}) {
    const auto record = client.replay("payment/1");
    ASSERT_TRUE(record);
    EXPECT_EQ(record->state, KeyState::succeeded);
    EXPECT_EQ(record->bytes, "receipt");
    EXPECT_EQ(record->run, 1U);
    EXPECT_EQ(record->number, run->hold.number);
    EXPECT_FALSE(record->held);
  }
}

TEST_F(FileKeyTest, AKeyAndALockOfOneNameDoNotMeet) {
  KeyUser client = keys();
  const auto run = client.begin("x");
  const auto hold = client.user().try_lock("x");
  ASSERT_TRUE(run);
  ASSERT_TRUE(hold);
  EXPECT_FALSE(keys().begin("x"));
  EXPECT_EQ(client.user().release(*hold), Released::released);
  EXPECT_EQ(client.succeed(*run, ""), Released::released);
  EXPECT_TRUE(client.user().try_lock("x"));
  EXPECT_TRUE(exists(directory() + "/x.once"));
  EXPECT_TRUE(exists(directory() + "/x.lock"));
}

TEST_F(FileKeyTest, WhoeverMayNotWaitIsToldOfTheRunner) {
  KeyUser first = keys();
  KeyUser second = keys();
  const auto run = first.begin("a");
  for (KeyUser* const client : {&first, &second}) {
    const auto busy = client->ask("a", KeyUser::a_day());
    ASSERT_TRUE(busy->done());
    EXPECT_EQ(busy->grant().number, 0U);
    EXPECT_FALSE(busy->record());
    EXPECT_FALSE(busy->failure());
    ASSERT_TRUE(busy->holder());
    EXPECT_EQ(busy->holder()->token.value(), run->hold.number * 1024);
  }
}

TEST_F(FileKeyTest, GivenBackItRunsAgainAndIsCounted) {
  KeyUser client = keys();
  std::uint64_t number = 0;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, i);
    EXPECT_GT(run->hold.number, number);
    number = run->hold.number;
    EXPECT_EQ(client.give_back(*run), Released::released);
    EXPECT_EQ(client.look("a").state, KeyState::pending);
    EXPECT_FALSE(client.look("a").held);
  }
}

TEST_F(FileKeyTest, ARequestThatIsRepeatedIsTheSameRun) {
  KeyUser client = keys();
  const auto first = client.ask("a", KeyUser::a_day());
  const auto again = std::make_shared<Acquisition>(first->request());
  client.user().backend().acquire(again);
  EXPECT_EQ(again->grant().number, first->grant().number);
  EXPECT_EQ(again->grant().run, 1U);
}

TEST_F(FileKeyTest, WhoRunsAgainIsSaidByEachCaller) {
  const auto with = [](Repeat repeat) {
    Memory memory = KeyUser::a_day();
    memory.repeat = repeat;
    return memory;
  };
  KeyUser client = keys();
  ASSERT_EQ(client.fail(*client.begin("a"), "no money"), Released::released);
  const auto told = client.replay("a", with(Repeat::never));
  ASSERT_TRUE(told);
  EXPECT_EQ(told->state, KeyState::failed);
  EXPECT_EQ(told->bytes, "no money");
  const auto second = client.begin("a", with(Repeat::after_failure));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->run, 2U);
  ASSERT_EQ(client.succeed(*second, "receipt"), Released::released);
  EXPECT_EQ(client.replay("a", with(Repeat::never))->bytes, "receipt");
  EXPECT_EQ(client.replay("a", with(Repeat::after_failure))->bytes, "receipt");
  const auto third = client.begin("a", with(Repeat::always));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->run, 3U);
  // What it says in the end replaces what stood; until then it is pending.
  EXPECT_FALSE(client.replay("a"));
  ASSERT_EQ(client.fail(*third, "worse"), Released::released);
  EXPECT_EQ(client.replay("a", with(Repeat::never))->bytes, "worse");
}

TEST_F(FileKeyTest, AnotherFingerprintIsToldAndChangesNothing) {
  KeyUser client = keys();
  KeyUser other = keys();
  const Memory mine{.fingerprint = std::string("\0a", 2), .keep = std::chrono::hours(1)};
  for (const std::string& wrong : {std::string(), std::string("\0b", 2), std::string("\0", 1)}) {
    const Memory theirs{.fingerprint = wrong, .keep = std::chrono::hours(1)};
    const std::string key = "key of " + wrong;
    const auto run = client.begin(key, mine);
    ASSERT_TRUE(run);
    const auto expect_told = [&](KeyState state) {
      for (KeyUser* const user : {&client, &other}) {
        const auto told = user->ask(key, theirs, true);
        ASSERT_TRUE(told->record());
        EXPECT_EQ(told->record()->state, state);
        EXPECT_EQ(told->record()->fingerprint, mine.fingerprint);
        EXPECT_EQ(told->record()->bytes, "");
      }
    };
    expect_told(KeyState::pending);
    ASSERT_EQ(client.succeed(*run, "receipt"), Released::released);
    expect_told(KeyState::succeeded);
    EXPECT_EQ(other.replay(key, mine)->bytes, "receipt");
  }
}

TEST_F(FileKeyTest, OutcomesHaveAnyBytes) {
  KeyUser client = keys();
  KeyUser other = keys();
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  // Around what fits beside the record, and up to the longest, each in both places of a file.
  for (const std::size_t size :
       {0U, 1U, 303U, 304U, 305U, 431U, 432U, 433U, 4096U, 65535U, 65536U}) {
    std::string bytes;
    while (bytes.size() < size) bytes += all.substr(0, size - bytes.size());
    for (const std::size_t fingerprint : {0U, 128U}) {
      const Memory memory{.fingerprint = std::string(fingerprint, 'f'),
                          .repeat = Repeat::always,
                          .keep = std::chrono::hours(1)};
      const std::string key = std::to_string(size) + "/" + std::to_string(fingerprint);
      for (int i = 0; i < 3; ++i) {
        const auto run = client.begin(key, memory);
        ASSERT_TRUE(run);
        if (i == 1) {
          ASSERT_EQ(client.give_back(*run), Released::released);
          continue;
        }
        if (size > 0) bytes.front() = static_cast<char>(i);
        ASSERT_EQ(client.succeed(*run, bytes), Released::released);
        const auto told =
            other.replay(key, {.fingerprint = memory.fingerprint, .keep = std::chrono::hours(1)});
        ASSERT_TRUE(told) << size;
        EXPECT_TRUE(told->bytes == bytes) << size;
        EXPECT_TRUE(other.look(key).bytes == bytes) << size;
      }
    }
  }
}

TEST_F(FileKeyTest, KeysAreAsHostileAsNames) {
  KeyUser client = keys();
  std::vector<std::string> names = {
      "../../etc/passwd", std::string("a\0b", 3), "%", ".", "..", "x.once"};
  names.push_back(std::string(512, '/'));
  names.push_back(std::string(2048, 'n'));
  for (const std::string& key : names) {
    const auto run = client.begin(key);
    ASSERT_TRUE(run) << key;
    EXPECT_EQ(client.succeed(*run, key), Released::released);
    EXPECT_EQ(keys().replay(key)->bytes, key);
  }
  for (const std::string& key : {std::string(), std::string(2049, 'n')}) {
    EXPECT_EQ(client.ask(key, KeyUser::a_day())->failure().code, Errc::misconfigured);
    EXPECT_EQ(client.recall(Recollection::Kind::look, key)->failure().code, Errc::misconfigured);
  }
}

// Promise: O2
TEST_F(FileKeyTest, OnlyTheLiveRunIsRecorded) {
  KeyUser client = keys();
  KeyUser other = keys();
  const auto first = client.begin("a");
  GrantedRun wrong = *first;
  wrong.hold.number += 1;
  EXPECT_EQ(client.succeed(wrong, "x"), Released::was_lost);
  wrong = *first;
  wrong.hold.attempt.sequence += 1;
  EXPECT_EQ(client.succeed(wrong, "x"), Released::was_lost);
  EXPECT_EQ(other.succeed(*first, "x"), Released::was_lost);
  EXPECT_EQ(client.give_back(*first), Released::released);
  // Late: somebody else runs it now, or nobody.
  EXPECT_EQ(client.succeed(*first, "x"), Released::was_lost);
  const auto second = other.begin("a");
  EXPECT_EQ(client.succeed(*first, "x"), Released::was_lost);
  EXPECT_EQ(client.give_back(*first), Released::was_lost);
  EXPECT_EQ(other.succeed(*second, "y"), Released::released);
  EXPECT_EQ(client.succeed(*first, "x"), Released::was_lost);
  EXPECT_EQ(client.replay("a")->bytes, "y");
}

TEST_F(FileKeyTest, AReleaseThatIsSaidAgainFindsItsRecord) {
  KeyUser client = keys();
  KeyUser other = keys();
  const auto run = client.begin("a");
  ASSERT_EQ(client.succeed(*run, "x"), Released::released);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.succeed(*run, "x"), Released::released);
    EXPECT_EQ(other.succeed(*run, "x"), Released::released);
  }
  EXPECT_EQ(client.fail(*run, "x"), Released::was_lost) << "that it has never said";
  ASSERT_TRUE(client.forget("a"));
  EXPECT_EQ(client.look("a").state, KeyState::absent);
  const auto next = client.begin("a");
  ASSERT_TRUE(next);
  EXPECT_EQ(client.succeed(*run, "x"), Released::was_lost);
  EXPECT_EQ(client.look("a").state, KeyState::pending);
}

TEST_F(FileKeyTest, WhatIsOverIsForgotten) {
  KeyUser client = keys();
  const Memory memory{.fingerprint = "f", .keep = std::chrono::milliseconds(1)};
  const auto begins_anew = [&] {
    const Instant until = BootClock::now() + soon;
    for (;;) {
      // Another fingerprint: a key that is forgotten has none.
      const auto run = client.begin("a", {.fingerprint = "g", .keep = std::chrono::hours(1)});
      if (run) {
        EXPECT_EQ(run->run, 1U);
        EXPECT_EQ(client.give_back(*run), Released::released);
        EXPECT_TRUE(client.forget("a"));
        return true;
      }
      if (BootClock::now() > until) return false;
      std::this_thread::yield();
    }
  };
  const auto run = client.begin("a", memory);
  // Longer ago than it is kept; but held.
  while (client.look("a").state != KeyState::pending) std::this_thread::yield();
  const Instant began = BootClock::now();
  while (BootClock::now() < began + std::chrono::milliseconds(5)) std::this_thread::yield();
  EXPECT_EQ(client.look("a").state, KeyState::pending);
  EXPECT_TRUE(client.look("a").held);
  EXPECT_FALSE(client.begin("a", memory));
  EXPECT_TRUE(keys().ask("a", {.fingerprint = "g"})->record())
      << "it is still remembered whose it is";
  ASSERT_EQ(client.give_back(*run), Released::released);
  EXPECT_TRUE(begins_anew());
  ASSERT_EQ(client.succeed(*client.begin("a", memory), "x"), Released::released);
  EXPECT_TRUE(begins_anew());
}

TEST_F(FileKeyTest, ForgettingIsForKeysThatNobodyRuns) {
  KeyUser client = keys();
  KeyUser other = keys();
  EXPECT_TRUE(client.forget("a"));
  EXPECT_FALSE(exists(path_of_key("a"))) << "asking makes no file";
  EXPECT_EQ(client.look("a").state, KeyState::absent);
  EXPECT_FALSE(exists(path_of_key("a")));
  const auto run = client.begin("a");
  EXPECT_FALSE(client.forget("a"));
  EXPECT_FALSE(other.forget("a"));
  ASSERT_EQ(client.succeed(*run, "x"), Released::released);
  const auto found = other.recall(Recollection::Kind::forget, "a");
  EXPECT_EQ(found->record()->state, KeyState::succeeded);
  EXPECT_EQ(found->record()->bytes, "x");
  EXPECT_FALSE(client.replay("a", {.repeat = Repeat::never, .keep = std::chrono::hours(1)}));
  const auto next = other.user().holder("a");
  EXPECT_FALSE(next);
}

// Promise: O4
TEST_F(FileKeyTest, AForgottenKeyBeginsAnewAndItsNumbersGrow) {
  KeyUser client = keys();
  std::uint64_t number = 0;
  for (int i = 0; i < 3; ++i) {
    const auto run = client.begin("a");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->run, 1U);
    EXPECT_GT(run->hold.number, number);
    number = run->hold.number;
    ASSERT_EQ(client.succeed(*run, "x"), Released::released);
    EXPECT_TRUE(client.forget("a"));
  }
}

TEST_F(FileKeyTest, LookingTellsOfARunner) {
  KeyUser client = keys();
  KeyUser other = keys();
  const auto run = client.begin("a", {.fingerprint = "f", .keep = std::chrono::hours(1)});
  for (KeyUser* const user : {&client, &other}) {
    const mortise::Record seen = user->look("a");
    EXPECT_EQ(seen.state, KeyState::pending);
    EXPECT_TRUE(seen.held);
    EXPECT_EQ(seen.run, 1U);
    EXPECT_EQ(seen.number, run->hold.number);
    EXPECT_EQ(seen.fingerprint, "f");
  }
}

TEST_F(FileKeyTest, ACancelledWaiterIsGone) {
  KeyUser runner = keys();
  KeyUser client = keys();
  const auto run = runner.begin("a");
  const auto waits = client.ask("a", KeyUser::a_day(), true);
  EXPECT_EQ(waits->progress(), Acquisition::Progress::queued);
  client.user().backend().cancel(waits);
  EXPECT_TRUE(waits->done());
  EXPECT_FALSE(waits->failure());
  ASSERT_EQ(runner.succeed(*run, "x"), Released::released);
  EXPECT_EQ(client.replay("a")->bytes, "x");
}

TEST_F(FileKeyTest, AClosedClientIsOut) {
  KeyUser client = keys();
  const auto run = client.begin("a");
  client.user().backend().stop();
  EXPECT_EQ(client.succeed(*run, "x"), Released::unknown);
  EXPECT_EQ(client.ask("a", KeyUser::a_day())->failure().code, Errc::closed);
  EXPECT_EQ(client.recall(Recollection::Kind::look, "a")->failure().code, Errc::closed);
  EXPECT_EQ(client.recall(Recollection::Kind::forget, "a")->failure().code, Errc::closed);
  const auto next = keys().begin("a");
  ASSERT_TRUE(next) << "what it ran is free";
  EXPECT_EQ(next->run, 2U);
}

TEST_F(FileKeyTest, ARunIsRenewedForNothingAndKnown) {
  KeyUser client = keys();
  const auto run = client.begin("a");
  const auto renewal = std::make_shared<Renewal>(
      std::vector<Renewal::Item>{{.hold = run->hold, .lease = std::chrono::seconds(1)}});
  client.user().backend().renew(renewal);
  EXPECT_EQ(renewal->items().at(0).answer, Renewal::Answer::renewed);
  EXPECT_EQ(renewal->items().at(0).granted, no_lease);
  ASSERT_EQ(client.succeed(*run, "x"), Released::released);
  const auto late = std::make_shared<Renewal>(
      std::vector<Renewal::Item>{{.hold = run->hold, .lease = std::chrono::seconds(1)}});
  client.user().backend().renew(late);
  EXPECT_EQ(late->items().at(0).answer, Renewal::Answer::lost);
}

TEST_F(FileKeyTest, ARequestWithoutMemoryIsRefused) {
  KeyUser client = keys();
  Acquisition::Request request = client.attempt("a", {})->request();
  request.memory = nullptr;
  const auto operation = std::make_shared<Acquisition>(request);
  client.user().backend().acquire(operation);
  EXPECT_EQ(operation->failure().code, Errc::unsupported);
}

}  // namespace
}  // namespace mortise::file
