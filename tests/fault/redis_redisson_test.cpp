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

  std::string take(char client) { return acquire(client, {.flags = "r01"}); }
  std::string force() { return RedisScriptTest::force("r"); }
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
  ASSERT_TRUE(take('a').starts_with("G"));
  const std::string hold = this->hold();
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_EQ(renew(hold, 30'000, "r"), "0");
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  theirs();
  EXPECT_EQ(renew(hold, 30'000, "r"), "0");
  EXPECT_TRUE(take('a').starts_with("Q"));
}

TEST_F(RedisRedisson, FindsNothingOfALapsedHold) {
  ASSERT_TRUE(take('a').starts_with("G"));
  lapse();
  ASSERT_TRUE(take('b').starts_with("G"));
  EXPECT_THAT(their_fields(), Not(HasSubstr(attempt('a'))));
  EXPECT_THAT(their_fields(), HasSubstr(attempt('b')));
}

TEST_F(RedisRedisson, LosesItsHoldByForce) {
  RedisTalk inbox = listen("b");
  theirs();
  ASSERT_TRUE(take('b').starts_with("Q"));
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_THAT(their_fields(), Not(HasSubstr("5e1f0000")));
  EXPECT_TRUE(owns('b')) << "the next of our queue";
  EXPECT_TRUE(inbox.receive(patience));
}

// Theirs have no numbers: it is known by our last one, which each release by force raises, and by
// whose it is.
TEST_F(RedisRedisson, KeepsAHoldThatCameAfterTheOneThatAReleaseByForceIsAbout) {
  ASSERT_TRUE(take('a').starts_with("G"));
  const std::string ours = std::to_string(number());
  ASSERT_EQ(release("r0"), "F");
  theirs();
  const auto end = [&](const std::string& which) {
    return call(redis::scripts::force_release, {"", "r", which});
  };
  EXPECT_TRUE(end(ours).starts_with("E")) << "said of ours";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
  const auto found = redis::Answer::parse(call(redis::scripts::inspect, {"", "r"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->label, "redisson 5e1f0000-0000-4000-8000-100000000001:1");
  const std::string its = found->last_grant();
  EXPECT_EQ(its, "-" + ours + " 5e1f0000-0000-4000-8000-100000000001:1");
  server().talk().expect_ok({"DEL", "a"});
  theirs("5e1f0000-0000-4000-8000-100000000002:1");
  EXPECT_TRUE(end(its).starts_with("E")) << "another one of theirs has come in between";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
  server().talk().expect_ok({"DEL", "a"});
  theirs();
  EXPECT_TRUE(end(its).starts_with("O"));
  theirs();
  EXPECT_TRUE(end(its).starts_with("E")) << "sent again, or late";
  EXPECT_THAT(their_fields(), HasSubstr("5e1f0000"));
}

TEST_F(RedisRedisson, HearsOfAReleaseByForce) {
  RedisTalk waits = java();
  theirs();
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_TRUE(waits.receive(patience)) << "of their hold";
  ASSERT_TRUE(take('a').starts_with("G"));
  EXPECT_TRUE(force().starts_with("O"));
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0);
  EXPECT_TRUE(waits.receive(patience)) << "of ours";
}

// Nobody of theirs listens: fifteen times of sixteen the first of our queue is given the lock, then
// it is asked to look, and who tries without listening has a chance.
TEST_F(RedisRedisson, HasItsTurnEachSixteenthReleaseWithoutListening) {
  RedisTalk inboxes_of = listen("ab");
  ASSERT_TRUE(take('a').starts_with("G"));
  for (int i = 1; i < 16; ++i) {
    const char next = i % 2 == 1 ? 'b' : 'a';
    ASSERT_TRUE(take(next).starts_with("Q"));
    ASSERT_EQ(release("r0"), "F");
    EXPECT_TRUE(owns(next)) << i;
  }
  ASSERT_TRUE(take('a').starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
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
    EXPECT_TRUE(take('a').starts_with("G"));
    EXPECT_TRUE(take('b').starts_with("Q"));
    talk.expect_ok({"MULTI"});
    talk.expect_ok({"TIME"});
    talk.expect_ok(known(redis::scripts::release, {hold(), "r0", "1"}));
    talk.expect_ok(known(redis::scripts::acquire, {attempt('b'), "r01", "1", "30000", "label"}));
    talk.expect_ok(known(redis::scripts::acquire, {attempt('c'), "r00", "1", "30000", "label"}));
    talk.expect_ok({"EXISTS", "a"});
    talk.expect_ok({"TIME"});
    answers = talk.expect_ok({"EXEC"}).items;
    return microseconds(answers.at(5)) - microseconds(answers.at(0)) < well_within;
  };
  ASSERT_TRUE(eventually(at_one_moment));
  EXPECT_EQ(answers.at(1).text, "F");
  EXPECT_TRUE(answers.at(2).text.starts_with("Q")) << answers.at(2).text;
  EXPECT_TRUE(answers.at(3).text.starts_with("B")) << "nor who does not wait";
  EXPECT_EQ(answers.at(4).integer, 0);
  EXPECT_TRUE(waits.receive(patience));
  theirs();
  EXPECT_TRUE(take('b').starts_with("Q"));
}

TEST_F(RedisRedisson, HasItKeptForAMomentOnly) {
  const RedisTalk waits = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_TRUE(take('a').starts_with("G"));
  ASSERT_TRUE(take('b').starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
  EXPECT_TRUE(eventually([&] { return take('b').starts_with("G"); }, 1s));
  // However far the server's clock is set back: a later end than a moment from now is no end.
  ASSERT_EQ(release("r0"), "F");
  set("y", std::to_string(ahead));
  EXPECT_TRUE(take('a').starts_with("G"));
}

// The first of ours listens as well, and is no reason to keep the lock from ourselves.
TEST_F(RedisRedisson, IsNotTakenForOneOfOurs) {
  const RedisTalk ours = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_TRUE(take('a').starts_with("G"));
  ASSERT_TRUE(take('b').starts_with("Q"));
  ASSERT_TRUE(acquire('b', {.flags = "r011"}).starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
  EXPECT_TRUE(holds('b'));
}

// Nor is one of ours further behind whose client has not stopped to listen since its last wait.
TEST_F(RedisRedisson, IsNotTakenForOneOfOursWhoIsNotTheFirst) {
  const RedisTalk ours = java();
  const RedisTalk inboxes_of = listen("b");
  ASSERT_TRUE(take('a').starts_with("G"));
  ASSERT_TRUE(take('b').starts_with("Q"));
  ASSERT_TRUE(acquire('c', {.flags = "r011"}).starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
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
  ASSERT_TRUE(take('b').starts_with("Q"));
  ASSERT_TRUE(take('c').starts_with("Q"));
  EXPECT_TRUE(cancel('b', "r0").starts_with("B"));
  expect_told("while they hold it");
  EXPECT_TRUE(cancel('c', "r0").starts_with("B"));
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
    EXPECT_TRUE(take('a').starts_with("G"));
    EXPECT_TRUE(take('b').starts_with("Q"));
    EXPECT_TRUE(take('c').starts_with("Q"));
    talk.expect_ok({"MULTI"});
    talk.expect_ok({"TIME"});
    talk.expect_ok(known(redis::scripts::release, {hold(), "r0", "1"}));
    talk.expect_ok(known(redis::scripts::cancel, {attempt('b'), "r0", "1"}));
    talk.expect_ok({"TIME"});
    answers = talk.expect_ok({"EXEC"}).items;
    return microseconds(answers.at(3)) - microseconds(answers.at(0)) < well_within;
  };
  ASSERT_TRUE(eventually(at_one_moment));
  EXPECT_EQ(answers.at(1).text, "F");
  EXPECT_TRUE(answers.at(2).text.starts_with("B")) << answers.at(2).text;
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
    fails(redis::scripts::force_release, {"", "r", "-0"});
    fails(redis::scripts::acquire, {attempt('a'), "r01", "1", "30000", "label"});
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
  const auto run = [&](const redis::Script& script, const RedisTalk::Command& rest) {
    RedisTalk::Command command{"EVAL", std::string(script.text)};
    command.insert(command.end(), rest.begin(), rest.end());
    return talk.expect_ok(command).text;
  };
  for (const char* const name : {"x", "y"}) {
    ASSERT_TRUE(run(redis::scripts::acquire,
                    {"2", key(name), name, attempt('b'), "r01", "1", "30000", "label"})
                    .starts_with("G"));
  }
  const auto renew_both = [&] {
    return run(redis::scripts::renew, {"4", key("x"), "x", key("y"), "y", "", "r", hold_of("x"),
                                       "30000", hold_of("y"), "30000"});
  };
  EXPECT_EQ(renew_both(), "11");
  talk.expect_ok({"SET", "x", "somebody's"});
  EXPECT_EQ(renew_both(), "01");
}

// Nothing is known of its end: the first of the queue must not look all the time.
TEST_F(RedisRedisson, WithoutATimeToLiveIsHeldForLong) {
  server().talk().expect_ok({"HSET", "a", "5e1f0000-0000-4000-8000-100000000001:1", "1"});
  const std::string answer = take('b');
  ASSERT_TRUE(answer.starts_with("Q ")) << answer;
  const std::string rest = answer.substr(answer.find(' ', 2) + 1);
  EXPECT_GT(std::stoll(rest), 60'000'000) << answer;
}

// A fourth flag closes the quick way of a try that fails (acquire_quick.lua), and says nothing else
// here.
TEST_F(RedisRedisson, ATryThatFailsSaysTheSameQuicklyAndSlowly) {
  const auto without_times = [](const std::string& answer) {
    const auto read = redis::Answer::parse(answer);
    if (!read) return "no answer: " + answer;
    return std::string(1, static_cast<char>(read->kind)) +
           (read->left.count() > 0 ? " held" : " free") + (read->first ? " 1 " : " 0 ") +
           (read->holder_number == 0 ? "-" : "") + std::to_string(read->last_number) + " " +
           std::to_string(read->waiters) + " " + read->label;
  };
  const auto expect_same = [&](const std::string& mode, const std::string& expected) {
    const std::string quick = acquire('c', {.flags = mode + "00"});
    EXPECT_EQ(without_times(quick), expected) << mode << ": " << quick;
    EXPECT_EQ(without_times(acquire('c', {.flags = mode + "000"})), expected) << mode;
  };
  // Of a key that is free now, one with a number.
  ASSERT_TRUE(take('a').starts_with("G"));
  ASSERT_EQ(release("r0"), "F");
  const std::string last = std::to_string(number());
  theirs();
  expect_same("r", "B held 0 -" + last + " 0 redisson");
  server().talk().expect_ok({"PERSIST", "a"});
  expect_same("r", "B held 0 -" + last + " 0 redisson");
  server().talk().expect_ok({"DEL", "a", key("a")});
  theirs();
  expect_same("r", "B held 0 -0 0 redisson");
  server().talk().expect_ok({"DEL", "a"});
  ASSERT_TRUE(take('a').starts_with("G"));
  expect_same("r", "B held 0 " + std::to_string(number()) + " 0 label");
  ASSERT_TRUE(take('b').starts_with("Q"));
  expect_same("r", "B held 0 " + std::to_string(number()) + " 1 label");
  expect_same("f", "B held 0 " + std::to_string(number()) + " 1 label");
  // Whoever asks again for what it has is told so.
  EXPECT_TRUE(acquire('a', {.flags = "r00"}).starts_with("G"));
  lapse();
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_TRUE(acquire('c', {.flags = "f00"}).starts_with("G")) << "b cannot be told";
}

}  // namespace
}  // namespace mortise::fault
