// SPDX-License-Identifier: MIT
// Goal: who waits for a key is told as soon as it has an outcome, all who are to be told and at
// bounded cost, and nobody is given a key that it is not to run any more. Method: the scripts, and
// inboxes that listen.
#include "fault/redis_once.hpp"

#include <set>

namespace mortise::fault {
namespace {

using Kind = redis::Answer::Kind;

class RedisOnceWaiters : public RedisOnceTest {};

TEST_F(RedisOnceWaiters, AreAllToldOfASuccess) {
  RedisTalk inbox = listen("bcd");
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c', 'd'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  EXPECT_EQ(begin('b').holding.label, "label of a");
  const std::uint64_t number = this->number();
  ASSERT_EQ(succeed("done"), "released");
  for (const char client : {'b', 'c', 'd'}) {
    const redis::Push push = next(inbox);
    EXPECT_EQ(push.kind, redis::Push::Kind::look);
    EXPECT_EQ(push.attempt, id(client));
    EXPECT_EQ(push.number, number);
    EXPECT_EQ(push.key, at());
  }
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(waiting(), 0) << "the queue is empty";
  for (const char client : {'b', 'c', 'd'}) EXPECT_EQ(begin(client).record->bytes, "done");
}

TEST_F(RedisOnceWaiters, HaveItOneByOneWhereTheyAreToRunIt) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  ASSERT_EQ(give_back(), "released");
  const redis::Push push = next(inbox);
  EXPECT_EQ(push.kind, redis::Push::Kind::look);
  EXPECT_EQ(push.attempt, id('b'));
  EXPECT_EQ(push.number, 0U);
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(begin('d', {.waits = false}).kind, Kind::busy) << "it is b's turn";
  EXPECT_EQ(begin('c').kind, Kind::queued) << "it is b's turn";
  EXPECT_EQ(run('b'), 2U);
  ASSERT_EQ(fail("no"), "released");
  EXPECT_EQ(next(inbox).attempt, id('c'));
  EXPECT_EQ(run('c'), 3U);
  ASSERT_EQ(fail("no"), "released");
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(recall().run, 3U);
}

// It was told, and is gone; or nobody reads there.
TEST_F(RedisOnceWaiters, LetOthersPassThatDoNotCome) {
  RedisTalk inbox = listen("bd");
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c', 'd'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  ASSERT_EQ(give_back(), "released");
  EXPECT_EQ(next(inbox).attempt, id('b'));
  EXPECT_EQ(begin('d').kind, Kind::queued);
  ASSERT_NO_FATAL_FAILURE(set_heard(attempt('b'), "-" + std::to_string(server_time() - 1'000'000)));
  EXPECT_EQ(run('d'), 2U) << "c has no inbox, and b does not come";
  EXPECT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(give_back(), "released");
  EXPECT_EQ(next(inbox).attempt, id('b')) << "it has kept its place";
  EXPECT_EQ(run('b'), 3U);
}

// Promise: L5
TEST_F(RedisOnceWaiters, KeepTheirPlacesWhenTheClockIsSetBack) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  const auto heard = [&](char client, int sign) {
    set_heard(attempt(client), std::to_string(sign * (server_time() + 3'600'000'000)));
  };
  for (const char client : {'b', 'c'}) {
    ASSERT_EQ(begin(client).kind, Kind::queued);
    heard(client, 1);
  }
  ASSERT_EQ(begin('d').kind, Kind::queued);
  EXPECT_EQ(waiting(), 3);
  ASSERT_EQ(give_back(), "released");
  EXPECT_EQ(next(inbox).attempt, id('b'));
  heard('b', -1);
  EXPECT_EQ(run('c'), 2U) << "a message that is too new keeps nobody out";
  EXPECT_EQ(waiting(), 2);
}

// In a cluster, key by key: at the server that it comes to a key that is not there yet is empty.
// Promise: L5
TEST_F(RedisOnceWaiters, KeepTheirPlacesWhileTheirQueueIsOnItsWay) {
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  const std::string queue = at() + ":queue";
  const std::string waiters = at() + ":waiters";
  for (const auto& [missing, there] : {std::pair{queue, waiters}, std::pair{waiters, queue}}) {
    server().talk().expect_ok({"RENAME", missing, "elsewhere"});
    for (const char client : {'c', 'e'}) {
      EXPECT_EQ(begin(client, {.importing = true}).kind, Kind::resharding) << client << missing;
    }
    EXPECT_EQ(server().talk().command({"EXISTS", missing}).integer, 0) << "the old one meets it";
    const Held its = hold();
    EXPECT_TRUE(server()
                    .talk()
                    .command(words_of(redis::scripts::once::cancel, {attempt('z'), "importing"}))
                    .is_error());
    RedisTalk::Command words = conclude_words(its, 'F', "no");
    words[6] = "importing";
    EXPECT_EQ(call(redis::scripts::once::conclude, words).items.at(0).text, "released");
    EXPECT_EQ(begin('e', {.importing = true}).kind, Kind::resharding);
    EXPECT_EQ(get("has_waiters"), "1");
    server().talk().expect_ok({"RENAME", "elsewhere", missing});
    EXPECT_EQ(waiting(), 2);
    if (missing == queue) {
      ASSERT_GT(run('b', {.importing = true}), 1U);
      ASSERT_EQ(begin('d').kind, Kind::queued);
    }
  }
}

// Who is to run it anew after a success, and who is only to be told, in one queue.
TEST_F(RedisOnceWaiters, AreToldAlsoBehindOneThatRunsItAgain) {
  RedisTalk inbox = listen("bcde");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b', {.repeat = 'a'}).kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  ASSERT_EQ(begin('d', {.repeat = 'a'}).kind, Kind::queued);
  ASSERT_EQ(begin('e', {.repeat = 'n'}).kind, Kind::queued);
  const std::string number = std::to_string(this->number());
  ASSERT_EQ(succeed("first"), "released");
  EXPECT_EQ(next(inbox).attempt, id('b')) << "it is to run it";
  EXPECT_EQ(next(inbox).attempt, id('c'));
  EXPECT_EQ(next(inbox).attempt, id('e'));
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(run('b', {.repeat = 'a'}), 2U);
  EXPECT_EQ(waiting(), 1);
  // By the time they ask, b runs it. They are told of the conclusion that ended their wait.
  EXPECT_EQ(begin('c', {.fingerprint = "another", .told = number}).record->bytes, "");
  const redis::Answer told = begin('c', {.told = number});
  ASSERT_EQ(told.kind, Kind::recorded);
  EXPECT_EQ(told.record->bytes, "first");
  EXPECT_EQ(told.record->run, 1U);
  EXPECT_EQ(told.record->number, std::stoull(number));
  EXPECT_EQ(told.record->state, KeyState::succeeded);
  EXPECT_FALSE(told.record->held) << "as it was then, or it would be no outcome";
  EXPECT_EQ(begin('f', {.told = "1"}).kind, Kind::queued) << "of no conclusion that stands";
  EXPECT_EQ(begin('g', {.repeat = 'a', .told = number}).kind, Kind::queued);
  ASSERT_EQ(succeed("second"), "released");
  EXPECT_EQ(next(inbox).attempt, id('d'));
  EXPECT_EQ(run('d', {.repeat = 'a'}), 3U);
  EXPECT_EQ(begin('e', {.repeat = 'n', .told = number}).kind, Kind::queued)
      << "the record of another run stands";
}

TEST_F(RedisOnceWaiters, OfAnotherFingerprintAreSentAway) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  set("fingerprint", "other");  // the key was forgotten and begun again without them
  ASSERT_EQ(give_back(), "released");
  for (const char client : {'b', 'c'}) {
    const redis::Push push = next(inbox);
    EXPECT_EQ(push.attempt, id(client));
    EXPECT_EQ(push.kind, redis::Push::Kind::look);
    EXPECT_EQ(begin(client).record->fingerprint, "other");
  }
  EXPECT_EQ(waiting(), 0);
}

TEST_F(RedisOnceWaiters, OfWhomThereAreManyAreToldInBoundedSteps) {
  constexpr int many = 1'000;
  ASSERT_EQ(run('a'), 1U);
  std::vector<RedisTalk::Command> all;
  for (int i = 0; i < many; ++i) {
    const std::string digits = std::to_string(i);
    const RedisTalk::Command words = begin_words('b', {});
    all.emplace_back(words.begin() + 4, words.end());
    all.back().front() = std::string(16 - digits.size(), 'W') + digits + "1";
  }
  for (const RedisAnswer& each : call_all(redis::scripts::once::begin, all)) {
    ASSERT_EQ(understood(each).kind, Kind::queued);
  }
  // As if all had asked just now: on a slow machine some were silent for three seconds.
  const auto all_are_alive = [&] {
    server().talk().expect_ok({"EVAL", R"lua(
        local time = redis.call('TIME')
        for _, each in ipairs(redis.call('HKEYS', KEYS[1])) do
          local label = string.match(redis.call('HGET', KEYS[1], each), ' .*$')
          redis.call('HSET', KEYS[1], each, time[1] .. string.sub('00000' .. time[2], -6) .. label)
        end
        return 1)lua",
                               "1", at() + ":waiters"});
  };
  RedisTalk hears = monitor();
  all_are_alive();
  ASSERT_EQ(succeed("done"), "released");
  std::set<std::string> told;
  int most = 0;
  for (const RedisTalk::Command& words : all) {
    int now = 0;
    for (auto push = hears.receive(patience); push; push = hears.receive(20ms), ++now) {
      told.insert(push->items.back().text);
    }
    ASSERT_GT(now, 0) << "after " << told.size();
    most = std::max(most, now);
    if (told.size() == many) break;
    all_are_alive();
    ASSERT_EQ(understood(call(redis::scripts::once::begin, words)).kind, Kind::recorded);
  }
  EXPECT_EQ(told.size(), many) << "each once";
  EXPECT_LE(most, 512);
  EXPECT_EQ(waiting(), 0);
}

TEST_F(RedisOnceWaiters, TakeTheirAttemptsBack) {
  RedisTalk inbox = listen("bcd");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  const auto cancel = [&](char client) {
    return understood(call(redis::scripts::once::cancel, {attempt(client)}));
  };
  EXPECT_EQ(cancel('b').kind, Kind::busy);
  EXPECT_EQ(waiting(), 1);
  ASSERT_EQ(begin('d').kind, Kind::queued);
  ASSERT_EQ(give_back(), "released");
  EXPECT_EQ(next(inbox).attempt, id('c'));
  EXPECT_EQ(cancel('c').kind, Kind::busy);
  EXPECT_EQ(next(inbox).attempt, id('d')) << "its turn goes on to the next";
  ASSERT_EQ(run('d'), 2U);
  const redis::Answer late = cancel('d');
  EXPECT_EQ(late.kind, Kind::granted);
  EXPECT_EQ(late.run, 2U);
}

TEST_F(RedisOnceWaiters, WhoseRunnerDiesHaveItInTheirTurn) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  lapse();
  EXPECT_EQ(begin('c').kind, Kind::queued) << "b is the first";
  EXPECT_EQ(next(inbox).attempt, id('b'));
  EXPECT_EQ(run('b'), 2U);
}

}  // namespace
}  // namespace mortise::fault
