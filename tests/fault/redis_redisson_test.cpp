// SPDX-License-Identifier: MIT
// Goal: in the mode with Redisson a lock's two keys say the same after every script, also where one
// of them was ended by force, and whoever may wait on the other side is told. Method: scripts, and
// Redisson's key and channel. Both sides at work: redis_modes_test.cpp.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisRedisson : public RedisScriptTest {
 protected:
  static constexpr const char* channel = "redisson_lock__channel:{a}";
  static constexpr std::int64_t well_within = 1'000;  // us, of the 1,500 that a lock is kept

  std::string take(char client) { return acquire(client, {.keyed = true}); }
  std::string force_holder() { return RedisScriptTest::force_holder(true); }
  [[nodiscard]] std::string their_fields() {
    return server().talk().command({"HKEYS", "a"}).words();
  }
  void theirs(const std::string& whose = "5e1f0000-0000-4000-8000-100000000001:1") {
    server().talk().expect_ok({"HSET", "a", whose, "1"});
    server().talk().expect_ok({"PEXPIRE", "a", "30000"});
  }
  [[nodiscard]] static RedisTalk::Command eval(const redis::Script& script,
                                               const RedisTalk::Command& words) {
    RedisTalk::Command command{"EVAL", std::string(script.text), "2", key("a"), "a"};
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  [[nodiscard]] static RedisTalk::Command known(const redis::Script& script,
                                                const RedisTalk::Command& words) {
    RedisTalk::Command command = eval(script, words);
    command[0] = "EVALSHA";
    command[1] = script.sha;
    return command;
  }
  /// @return what the server said to TIME.
  [[nodiscard]] static std::int64_t microseconds(const RedisAnswer& time) {
    return std::stoll(time.items.at(0).text) * 1'000'000 + std::stoll(time.items.at(1).text);
  }
  [[nodiscard]] RedisTalk java() {
    RedisTalk talk = server().talk();
    talk.expect_ok({"SUBSCRIBE", channel});
    return talk;
  }
};

TEST_F(RedisRedisson, LosesAHoldWhoseKeyTheyEnded) {
  ASSERT_EQ(take('a'), "granted");
  const Held hold = this->hold();
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_EQ(renew(hold, 30'000, true), 0);
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  theirs();
  EXPECT_EQ(renew(hold, 30'000, true), 0);
  EXPECT_EQ(take('a'), "queued");
}

TEST_F(RedisRedisson, FindsNothingOfALapsedHold) {
  ASSERT_EQ(take('a'), "granted");
  lapse();
  ASSERT_EQ(take('b'), "granted");
  EXPECT_THAT(their_fields(), Not(HasSubstr(attempt('a'))));
  EXPECT_THAT(their_fields(), HasSubstr(attempt('b')));
}

TEST_F(RedisRedisson, LosesItsHoldByForce) {
  RedisTalk inbox = listen("b");
  theirs();
  ASSERT_EQ(take('b'), "queued");
  EXPECT_EQ(force_holder(), "released");
  EXPECT_THAT(their_fields(), Not(HasSubstr("5e1f0000")));
  EXPECT_TRUE(owns('b')) << "the next of our queue";
  EXPECT_TRUE(inbox.receive(patience));
}

// Theirs have no numbers: it is known by our last one, which each release by force raises, and by
// whose it is.
TEST_F(RedisRedisson, KeepsAHoldThatCameAfterTheOneThatAReleaseByForceIsAbout) {
  ASSERT_EQ(take('a'), "granted");
  const std::string ours = std::to_string(number());
  ASSERT_EQ(release('r'), "released");
  theirs();
  const auto end = [&](const std::string& which) { return RedisScriptTest::force(which, true); };
  EXPECT_EQ(end(ours), "not_held") << "said of ours";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
  const redis::Answer found = look(true);
  EXPECT_EQ(found.holding.label, "redisson 5e1f0000-0000-4000-8000-100000000001:1");
  const std::string its = found.mark();
  EXPECT_EQ(its, "-" + ours + " 5e1f0000-0000-4000-8000-100000000001:1");
  server().talk().expect_ok({"DEL", "a"});
  theirs("5e1f0000-0000-4000-8000-100000000002:1");
  EXPECT_EQ(end(its), "not_held") << "another one of theirs has come in between";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
  server().talk().expect_ok({"DEL", "a"});
  theirs();
  EXPECT_EQ(end(its), "released");
  theirs();
  EXPECT_EQ(end(its), "not_held") << "sent again, or late";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
}

// Promise: L5
TEST_F(RedisRedisson, HoldsForLongerThanTheHashLivesAndTheQueueKeepsItsOrder) {
  theirs();
  const Ask ask{.keyed = true, .remembered = 60'000};
  ASSERT_EQ(acquire('a', ask), "queued");
  ASSERT_EQ(acquire('b', ask), "queued");
  age();
  server().talk().expect_ok({"PEXPIRE", at_, "1000"});
  EXPECT_EQ(acquire('b', ask), "queued");
  EXPECT_GT(life(), 80'000) << "each question keeps the hash";
  server().talk().expect_ok({"DEL", at_});
  EXPECT_EQ(acquire('b', ask), "queued");
  EXPECT_EQ(acquire('a', ask), "queued");
  const RedisTalk inbox = listen("ab");
  EXPECT_EQ(force_holder(), "released");
  EXPECT_TRUE(owns('a'));
}

TEST_F(RedisRedisson, HearsOfAReleaseByForce) {
  RedisTalk waits = java();
  theirs();
  EXPECT_EQ(force_holder(), "released");
  EXPECT_TRUE(waits.receive(patience)) << "of their hold";
  ASSERT_EQ(take('a'), "granted");
  EXPECT_EQ(force_holder(), "released");
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  EXPECT_TRUE(waits.receive(patience)) << "of ours";
}

// Nobody of theirs listens: fifteen times of sixteen the first of our queue is given the lock, then
// it is asked to look, and who tries without listening has a chance.
TEST_F(RedisRedisson, HasItsTurnEachSixteenthReleaseWithoutListening) {
  RedisTalk inboxes_of = listen("ab");
  ASSERT_EQ(take('a'), "granted");
  for (int i = 1; i < 16; ++i) {
    const char next = i % 2 == 1 ? 'b' : 'a';
    ASSERT_EQ(take(next), "queued");
    ASSERT_EQ(release('r'), "released");
    EXPECT_TRUE(owns(next)) << i;
  }
  ASSERT_EQ(take('a'), "queued");
  ASSERT_EQ(release('r'), "released");
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  EXPECT_FALSE(is_held("a"));
}

// Each release notifies Redisson's waiters. The script then keeps the lock for them until they try.
// That time is short, so the other clients come at one moment, by scripts that the server has read.
// A round in which the server itself stood still proves nothing, and is repeated.
TEST_F(RedisRedisson, HasTheLockKeptForThoseWhoListen) {
  RedisTalk waits = java();
  const RedisTalk inboxes_of = listen("ab");
  RedisTalk talk = server().talk();
  talk.expect_ok({"SCRIPT", "LOAD", std::string(redis::scripts::release.text)});
  std::vector<RedisAnswer> answers;
  const auto at_one_moment = [&] {
    talk.expect_ok({"FLUSHALL"});
    EXPECT_EQ(take('a'), "granted");
    EXPECT_EQ(take('b'), "queued");
    talk.expect_ok({"MULTI"});
    talk.expect_ok({"TIME"});
    talk.expect_ok(known(redis::scripts::release, releasing(hold(), 'r')));
    talk.expect_ok(known(redis::scripts::acquire, asking(attempt('b'), {.keyed = true}, 'x')));
    talk.expect_ok(
        known(redis::scripts::acquire, asking(attempt('c'), {.waits = false, .keyed = true}, 'x')));
    talk.expect_ok({"EXISTS", "a"});
    talk.expect_ok({"TIME"});
    answers = talk.expect_ok({"EXEC"}).items;
    return microseconds(answers.at(5)) - microseconds(answers.at(0)) < well_within;
  };
  ASSERT_TRUE(eventually(at_one_moment));
  EXPECT_EQ(word_of(answers.at(1)), "released");
  EXPECT_EQ(word_of(answers.at(2)), "queued");
  EXPECT_EQ(word_of(answers.at(3)), "busy") << "nor who does not wait";
  EXPECT_EQ(answers.at(4).integer, 0);
  EXPECT_TRUE(waits.receive(patience));
  theirs();
  EXPECT_EQ(take('b'), "queued");
}

TEST_F(RedisRedisson, HasItKeptForAMomentOnly) {
  const RedisTalk waits = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_EQ(take('a'), "granted");
  ASSERT_EQ(take('b'), "queued");
  ASSERT_EQ(release('r'), "released");
  EXPECT_TRUE(eventually([&] { return take('b') == "granted"; }, 1s));
  // However far the server's clock is set back: a later end than a moment from now is no end.
  ASSERT_EQ(release('r'), "released");
  set("reserved_until", std::to_string(ahead));
  EXPECT_EQ(take('a'), "granted");
}

// The first of ours listens as well, and is no reason to keep the lock from ourselves.
TEST_F(RedisRedisson, IsNotTakenForOneOfOurs) {
  const RedisTalk ours = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_EQ(take('a'), "granted");
  ASSERT_EQ(take('b'), "queued");
  ASSERT_EQ(acquire('b', {.keyed = true, .hears = true}), "queued");
  ASSERT_EQ(release('r'), "released");
  EXPECT_TRUE(holds('b'));
}

// Nor is one of ours further behind whose client has not stopped to listen since its last wait.
TEST_F(RedisRedisson, IsNotTakenForOneOfOursWhoIsNotTheFirst) {
  const RedisTalk ours = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_EQ(take('a'), "granted");
  ASSERT_EQ(take('b'), "queued");
  ASSERT_EQ(acquire('c', {.keyed = true, .hears = true}), "queued");
  ASSERT_EQ(release('r'), "released");
  EXPECT_TRUE(holds('b'));
}

// Who was told that it is the first has left, and nobody else of ours listens to their word.
TEST_F(RedisRedisson, HasTheNextOfOursToldWhereTheFirstLeaves) {
  RedisTalk inbox = listen("c");
  const auto expect_told = [&](const char* about) {
    const auto word = inbox.receive(patience);
    ASSERT_TRUE(word) << about;
    EXPECT_THAT(word->words(), HasSubstr("L " + attempt('c') + " ")) << about;
  };
  theirs();
  ASSERT_EQ(take('b'), "queued");
  ASSERT_EQ(take('c'), "queued");
  EXPECT_EQ(cancel('b', true), "busy");
  expect_told("while they hold it");
  EXPECT_EQ(cancel('c', true), "busy");
  server().talk().expect_ok({"DEL", "a"});
  // At one moment, as above.
  const RedisTalk waits = java();
  const RedisTalk inbox_of_b = listen("b");
  RedisTalk talk = server().talk();
  for (const redis::Script* const each : {&redis::scripts::release, &redis::scripts::cancel}) {
    talk.expect_ok({"SCRIPT", "LOAD", std::string(each->text)});
  }
  std::vector<RedisAnswer> answers;
  const auto at_one_moment = [&] {
    while (inbox.receive(0ms)) continue;
    talk.expect_ok({"FLUSHALL"});
    EXPECT_EQ(take('a'), "granted");
    EXPECT_EQ(take('b'), "queued");
    EXPECT_EQ(take('c'), "queued");
    talk.expect_ok({"MULTI"});
    talk.expect_ok({"TIME"});
    talk.expect_ok(known(redis::scripts::release, releasing(hold(), 'r')));
    talk.expect_ok(known(redis::scripts::cancel, {attempt('b'), life_of_next}));
    talk.expect_ok({"TIME"});
    answers = talk.expect_ok({"EXEC"}).items;
    return microseconds(answers.at(3)) - microseconds(answers.at(0)) < well_within;
  };
  ASSERT_TRUE(eventually(at_one_moment));
  EXPECT_EQ(word_of(answers.at(1)), "released");
  EXPECT_EQ(word_of(answers.at(2)), "busy");
  expect_told("while it is kept for them");
}

// A key of that name may be anybody's.
TEST_F(RedisRedisson, IsAllThatIsTouchedAtThatName) {
  RedisTalk talk = server().talk();
  const auto fails = [&](const redis::Script& script, const RedisTalk::Command& words) {
    const RedisAnswer answer = talk.command(eval(script, words));
    EXPECT_TRUE(answer.is_error()) << answer.text;
  };
  const auto expect_untouched = [&](const char* type) {
    fails(redis::scripts::force_release, {"-0", life_of_next});
    fails(redis::scripts::acquire, asking(attempt('a'), {.keyed = true}, 'x'));
    EXPECT_EQ(talk.command({"TYPE", "a"}).text, type);
    EXPECT_EQ(talk.command({"EXISTS", key("a")}).integer, 0);
    talk.expect_ok({"DEL", "a"});
  };
  talk.expect_ok({"SET", "a", "somebody's"});
  expect_untouched("string");
  talk.expect_ok({"HSET", "a", "name", "somebody's"});
  expect_untouched("hash");
  talk.expect_ok(
      {"HSET", "a", "5e1f0000-0000-4000-8000-100000000001:1", "1", "name", "somebody's"});
  expect_untouched("hash");
  talk.expect_ok({"HSET", "a", "delivery_address_of_a_customer", "1"});  // of an attempt's digits
  expect_untouched("hash");
  talk.expect_ok({"HSET", "a", "1001", "2", "1002", "1"});  // a cart: goods and how many
  expect_untouched("hash");
  talk.expect_ok({"HSET", "a", "item:17", "5"});
  expect_untouched("hash");
  talk.expect_ok({"RPUSH", "a", "somebody's"});
  expect_untouched("list");
}

// One renewal is sent for many locks: what a stranger puts in the place of one is that one's harm.
TEST_F(RedisRedisson, AStrangersKeyCostsItsOwnHoldOnly) {
  RedisTalk talk = server().talk();
  RedisTalk::Command both{
      "EVAL",    std::string(redis::scripts::renew.text), "4", key("x"), "x", key("y"), "y",
      "redisson"};
  for (const char* const name : {"x", "y"}) {
    RedisTalk::Command words{"EVAL", std::string(redis::scripts::acquire.text), "2", key(name),
                             name};
    const RedisTalk::Command rest = asking(attempt('b'), {.keyed = true}, 'x');
    words.insert(words.end(), rest.begin(), rest.end());
    ASSERT_EQ(word_of(talk.expect_ok(words)), "granted");
    both.insert(both.end(), {attempt('b'), hold_of(name).number, "30000", "3630000"});
  }
  const auto renew_both = [&] {
    const RedisAnswer answer = talk.expect_ok(both);
    return std::pair(answer.items.at(2).integer, answer.items.at(3).integer);
  };
  EXPECT_EQ(renew_both(), std::pair(std::int64_t{1}, std::int64_t{1}));
  talk.expect_ok({"SET", "x", "somebody's"});
  EXPECT_EQ(renew_both(), std::pair(std::int64_t{0}, std::int64_t{1}));
}

// Nothing is known of its end: the first of the queue must not look all the time.
TEST_F(RedisRedisson, WithoutATimeToLiveIsHeldForLong) {
  server().talk().expect_ok({"HSET", "a", "5e1f0000-0000-4000-8000-100000000001:1", "1"});
  const redis::Answer answer = ask('b', {.keyed = true});
  EXPECT_EQ(answer.kind, redis::Answer::Kind::queued);
  EXPECT_GT(answer.left, 60s);
}

TEST_F(RedisRedisson, ATryThatFailsNamesTheHolder) {
  const auto expect_answer = [&](bool keyed, std::uint64_t number, std::uint64_t last,
                                 std::size_t waiters, const std::string& label) {
    const redis::Answer answer = ask('c', {.waits = false, .keyed = keyed});
    EXPECT_EQ(answer.kind, redis::Answer::Kind::busy);
    EXPECT_GT(answer.left, 0us);
    EXPECT_FALSE(answer.first);
    EXPECT_EQ(answer.holding.number, number);
    EXPECT_EQ(answer.last_number, last);
    EXPECT_EQ(answer.holding.waiters, waiters);
    EXPECT_EQ(answer.holding.label, label);
  };
  // Of a key that is free now, one with a number.
  ASSERT_EQ(take('a'), "granted");
  ASSERT_EQ(release('r'), "released");
  theirs();
  expect_answer(true, 0, number(), 0, "redisson");
  server().talk().expect_ok({"PERSIST", "a"});
  expect_answer(true, 0, number(), 0, "redisson");
  server().talk().expect_ok({"DEL", "a", key("a")});
  theirs();
  expect_answer(true, 0, 0, 0, "redisson");
  server().talk().expect_ok({"DEL", "a"});
  ASSERT_EQ(take('a'), "granted");
  expect_answer(true, number(), number(), 0, "label");
  ASSERT_EQ(take('b'), "queued");
  expect_answer(true, number(), number(), 1, "label");
  expect_answer(false, number(), number(), 1, "label");
  // Whoever asks again for what it has is told so.
  EXPECT_EQ(acquire('a', {.waits = false, .keyed = true}), "granted");
  lapse();
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_EQ(acquire('c', {.waits = false}), "granted") << "b cannot be told";
}

}  // namespace
}  // namespace mortise::fault
