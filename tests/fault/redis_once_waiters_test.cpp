// SPDX-License-Identifier: MIT
// Goal: who waits for a key is told as soon as it has an outcome, all who are to be told and at
// bounded cost, and nobody is given a key that it is not to run any more. Method: the scripts, and
// inboxes that listen.
#include "fault/redis_once.hpp"

#include <set>

namespace mortise::fault {
namespace {

using Kind = redis::Answer::Kind;

class RedisOnceWaiters : public RedisOnceTest {
 protected:
  [[nodiscard]] std::string waiting() { return get("w"); }
};

TEST_F(RedisOnceWaiters, AreAllToldOfASuccess) {
  RedisTalk inbox = listen("bcd");
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c', 'd'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  EXPECT_EQ(begin('b').label, "label of a");
  const std::uint64_t number = this->number();
  ASSERT_EQ(succeed("done"), "F");
  for (const char client : {'b', 'c', 'd'}) {
    const redis::Push push = next(inbox);
    EXPECT_EQ(push.kind, redis::Push::Kind::look);
    EXPECT_EQ(push.attempt, id(client));
    EXPECT_EQ(push.number, number);
    EXPECT_EQ(push.key, at());
  }
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(waiting(), "") << "the queue is empty";
  for (const char client : {'b', 'c', 'd'}) EXPECT_EQ(begin(client).record->bytes, "done");
}

TEST_F(RedisOnceWaiters, HaveItOneByOneWhereTheyAreToRunIt) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  for (const char client : {'b', 'c'}) ASSERT_EQ(begin(client).kind, Kind::queued);
  ASSERT_EQ(give_back(), "F");
  redis::Push push = next(inbox);
  EXPECT_EQ(push.kind, redis::Push::Kind::granted);
  EXPECT_EQ(push.attempt, id('b'));
  EXPECT_EQ(push.number, number());
  EXPECT_EQ(push.run, 2U);
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(run('b'), 2U) << "the same when it asks";
  ASSERT_EQ(fail("no"), "F");
  push = next(inbox);
  EXPECT_EQ(push.attempt, id('c'));
  EXPECT_EQ(push.run, 3U);
  ASSERT_EQ(fail("no"), "F");
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(recall().run, 3U);
}

// Who is to run it anew after a success, and who is only to be told, in one queue.
TEST_F(RedisOnceWaiters, AreToldAlsoBehindOneThatRunsItAgain) {
  RedisTalk inbox = listen("bcde");
  ASSERT_EQ(run('a'), 1U);
  const std::string first = hold();
  ASSERT_EQ(begin('b', {.repeat = 'a'}).kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  ASSERT_EQ(begin('d', {.repeat = 'a'}).kind, Kind::queued);
  ASSERT_EQ(begin('e', {.repeat = 'n'}).kind, Kind::queued);
  const std::string number = std::to_string(this->number());
  ASSERT_EQ(succeed("first"), "F");
  EXPECT_EQ(next(inbox).attempt, id('c'));
  EXPECT_EQ(next(inbox).attempt, id('e'));
  const redis::Push push = next(inbox);
  EXPECT_EQ(push.attempt, id('b'));
  EXPECT_EQ(push.run, 2U);
  EXPECT_TRUE(is_silent(inbox));
  EXPECT_EQ(waiting(), "1");
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
  ASSERT_EQ(succeed("second"), "F");
  EXPECT_EQ(begin('e', {.repeat = 'n', .told = number}).kind, Kind::queued) << "d runs it now";
}

TEST_F(RedisOnceWaiters, OfAnotherFingerprintAreSentAway) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a', {.keep = 1'000}), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  // The key was forgotten and begun anew beside them.
  set("o", hold() + "f1000 5 otherlabel");
  ASSERT_EQ(give_back(), "F");
  for (const char client : {'b', 'c'}) {
    const redis::Push push = next(inbox);
    EXPECT_EQ(push.attempt, id(client));
    EXPECT_EQ(push.kind, redis::Push::Kind::look);
    EXPECT_EQ(push.number, 0U);
    EXPECT_EQ(begin(client).record->fingerprint, "other");
  }
  EXPECT_EQ(waiting(), "");
}

TEST_F(RedisOnceWaiters, OfWhomThereAreManyAreToldInBoundedSteps) {
  constexpr int many = 1'000;
  ASSERT_EQ(run('a'), 1U);
  RedisTalk talk = server().talk();
  const auto one = [](int i) {
    std::string digits = std::to_string(i);
    return std::string(16 - digits.size(), 'W') + digits + "1";
  };
  const auto ask = [&](int i) {
    RedisTalk::Command words = begin_words('b', {});
    words[4] = one(i);
    return talk.expect_ok(words).text;
  };
  for (int i = 0; i < many; ++i) ASSERT_TRUE(ask(i).starts_with("Q"));
  RedisTalk hears = monitor();
  ASSERT_EQ(succeed("done"), "F");
  std::set<std::string> told;
  int most = 0;
  for (int asked = 0; asked < many && told.size() < many; ++asked) {
    int now = 0;
    for (auto push = hears.receive(patience); push; push = hears.receive(20ms), ++now) {
      told.insert(push->items.back().text);
    }
    ASSERT_GT(now, 0) << "after " << told.size();
    most = std::max(most, now);
    ASSERT_TRUE(ask(asked).starts_with("D"));
  }
  EXPECT_EQ(told.size(), many) << "each once";
  EXPECT_LE(most, 512);
  EXPECT_EQ(waiting(), "");
}

TEST_F(RedisOnceWaiters, TakeTheirAttemptsBack) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  const auto cancel = [&](char client) {
    return call(redis::scripts::once::cancel, {attempt(client), "f0", "1"});
  };
  EXPECT_TRUE(cancel('b').starts_with("B "));
  EXPECT_EQ(waiting(), "1");
  ASSERT_EQ(give_back(), "F");
  EXPECT_EQ(next(inbox).attempt, id('c'));
  const auto late = redis::Answer::parse(cancel('c'));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->kind, Kind::granted);
  EXPECT_EQ(late->run, 2U);
}

TEST_F(RedisOnceWaiters, WhoseRunnerDiesHaveItInTheirTurn) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(run('a'), 1U);
  ASSERT_EQ(begin('b').kind, Kind::queued);
  ASSERT_EQ(begin('c').kind, Kind::queued);
  lapse();
  EXPECT_EQ(begin('c').kind, Kind::queued) << "b is the first";
  const redis::Push push = next(inbox);
  EXPECT_EQ(push.attempt, id('b'));
  EXPECT_EQ(push.run, 2U);
}

}  // namespace
}  // namespace mortise::fault
