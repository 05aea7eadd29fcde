// SPDX-License-Identifier: MIT
// Goal: who reads holds the lock by a lease, a number and an end of its own, beside all others who
// read, and nothing of it stays. Method: scripts, and leases that are set back in the lock.
#include "fault/redis_readers.hpp"

#include <algorithm>
#include <vector>

namespace mortise::fault {
namespace {

using ::testing::SizeIs;

class RedisReaders : public RedisReadersTest {};

// Promise: S1
TEST_F(RedisReaders, HoldItTogetherAndKeepOutWhoWantsItAlone) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_FALSE(is_written('x'));
  EXPECT_FALSE(is_written('y')) << "by the slow way";
  EXPECT_EQ(leave('a'), "F");
  EXPECT_FALSE(is_written('x')) << "one of them reads still";
  EXPECT_EQ(leave('b'), "F");
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

// Promise: S2
TEST_F(RedisReaders, HaveNumbersOfTheSameSequence) {
  ASSERT_TRUE(acquire('x').starts_with("G"));
  std::uint64_t last = number();
  ASSERT_EQ(release(), "F");
  for (const char each : {'a', 'b', 'c'}) {
    ASSERT_TRUE(reads(each));
    EXPECT_GT(number_of(each), last);
    last = number_of(each);
    EXPECT_EQ(number(), last);
  }
  for (const char each : {'a', 'b', 'c'}) ASSERT_EQ(leave(each), "F");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  EXPECT_GT(number(), last);
}

TEST_F(RedisReaders, HaveLargerNumbersAlsoWhenTheClockSteppedBack) {
  ASSERT_TRUE(acquire('x').starts_with("G"));
  set_ahead('x');
  ASSERT_EQ(release(), "F");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_EQ(number_of('a'), ahead + 1);
  EXPECT_EQ(number_of('b'), ahead + 2);
  EXPECT_EQ(prolong('a'), "1");
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('b'), "F");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  EXPECT_EQ(number(), ahead + 3);
}

// Promise: S5
TEST_F(RedisReaders, AreTheSameWhenTheyAskAgain) {
  ASSERT_TRUE(reads('a'));
  const std::uint64_t first = number_of('a');
  ASSERT_TRUE(reads('b'));
  ASSERT_TRUE(reads('a'));
  EXPECT_EQ(number_of('a'), first);
  EXPECT_THAT(get("s"), SizeIs(2 * place));
}

// Promise: S3
TEST_F(RedisReaders, LetGoByThemselvesOnly) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  for (const std::string& forged :
       {hold_text(attempt('a'), number_of('b')), hold_text(attempt('a'), number_of('b') + 1),
        hold_text(attempt('c'), number_of('a') - 1),
        hold_text(attempt('a') + "1", number_of('b') + 1), std::string("nonsense ")}) {
    EXPECT_EQ(call(redis::scripts::release, {forged, "f0", "1"}), "N") << forged;
    EXPECT_EQ(renew(forged), "0") << forged;
  }
  EXPECT_THAT(get("s"), SizeIs(2 * place));
}

TEST_F(RedisReaders, ThatLetGoTwiceAreToldSoWhoeverReadsStill) {
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(reads(each));
  EXPECT_EQ(leave('b'), "F");
  EXPECT_EQ(leave('b'), "A");
  EXPECT_EQ(leave('c'), "F");
  EXPECT_EQ(leave('b'), "A");
  EXPECT_EQ(leave('c'), "A");
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('a'), "A");
  EXPECT_EQ(leave('b'), "A") << "nobody has had it since";
  ASSERT_TRUE(reads('d'));
  EXPECT_EQ(leave('b'), "N");
  EXPECT_EQ(leave('d'), "F");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  EXPECT_EQ(leave('d'), "N");
}

// What has lapsed is never said to be freed before: somebody else may have had it since.
TEST_F(RedisReaders, ThatHaveLapsedLetGoAsSuch) {
  for (const char each : {'a', 'b'}) ASSERT_TRUE(reads(each));
  lapse_reader('a');
  EXPECT_EQ(leave('a'), "L");
  EXPECT_EQ(prolong('a'), "0");
  EXPECT_EQ(prolong('b'), "1");  // it clears away
  EXPECT_EQ(leave('a'), "N");
  EXPECT_EQ(leave('b'), "F");
  EXPECT_EQ(leave('a'), "N");
  EXPECT_EQ(leave('b'), "A");
  ASSERT_TRUE(reads('c'));
  lapse_reader('c');
  EXPECT_EQ(leave('c', "u0"), "L") << "by the long way";
  EXPECT_EQ(leave('c'), "F") << "as of an owner after whom nobody came";
  ASSERT_TRUE(reads('c'));
  ASSERT_TRUE(reads('d'));
  for (const char each : {'c', 'd'}) lapse_reader(each);
  lapse();
  EXPECT_EQ(leave('c'), "L");
  EXPECT_FALSE(get("s").empty());
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

// Promise: L1
TEST_F(RedisReaders, WhoseLeaseHasEndedExcludeNobody) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  lapse_reader('b');
  EXPECT_FALSE(is_written('x'));
  EXPECT_EQ(leave('a'), "F");
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

TEST_F(RedisReaders, KeepItNoLongerThanTheLastOfTheirLeases) {
  ASSERT_TRUE(read('a', {.lease = 20'000}).starts_with("G"));
  const std::int64_t its = end();
  ASSERT_TRUE(read('b', {.lease = 3'600'000}).starts_with("G"));
  ASSERT_TRUE(read('c', {.lease = 10'000}).starts_with("G"));
  EXPECT_GT(end(), its + hour / 2);
  EXPECT_GT(tried().left, 30min);
  EXPECT_EQ(leave('b'), "F");
  EXPECT_NEAR(static_cast<double>(end()), static_cast<double>(its), 1) << "rounded";
  EXPECT_EQ(prolong('c', 60'000), "1");
  EXPECT_GT(end(), its + 30'000);
  EXPECT_EQ(prolong('c', 5'000), "1");
  EXPECT_NEAR(static_cast<double>(end()), static_cast<double>(its), 1) << "rounded";
}

TEST_F(RedisReaders, AreRenewedEachForItself) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  const std::int64_t before = end_of('a');
  EXPECT_EQ(prolong('b', 50'000), "1");
  EXPECT_EQ(end_of('a'), before);
  EXPECT_GT(end_of('b'), before + 15'000'000);
  EXPECT_EQ(call(redis::scripts::release, {hold_of('b'), "f0", "1"}), "F");
  EXPECT_EQ(renew(hold_of('b')), "0");
  EXPECT_EQ(end_of('b'), 0);
}

TEST_F(RedisReaders, StandInTheOrderInWhichTheirLeasesEnd) {
  std::string all = "abcdefghijklmnopq";
  std::int64_t lease = 7;
  for (const char each : all) {
    lease = lease * 31 % 997;
    ASSERT_TRUE(read(each, {.lease = 10'000 + lease * 100}).starts_with("G"));
  }
  for (const char each : {'c', 'h', 'q'}) ASSERT_EQ(prolong(each, 11'111), "1");
  for (const char each : {'a', 'g'}) {
    ASSERT_EQ(leave(each), "F");
    std::erase(all, each);
  }
  const std::string text = get("s");
  ASSERT_THAT(text, SizeIs(all.size() * place));
  std::vector<std::string> ends;
  for (std::size_t at = 0; at < text.size(); at += place) ends.push_back(text.substr(at, digits));
  EXPECT_TRUE(std::is_sorted(ends.rbegin(), ends.rend()));
  for (const char each : all) EXPECT_GT(end_of(each), 0) << each;
}

TEST_F(RedisReaders, AreNamedToThoseWhoAsk) {
  ASSERT_TRUE(reads('a'));
  const auto by_one = tried();
  EXPECT_EQ(by_one.holder()->mode, Mode::shared);
  EXPECT_EQ(by_one.holder()->label, "reads");
  EXPECT_EQ(by_one.holder_number, number_of('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_EQ(tried().holder_number, number_of('a')) << "by the quick way";
  EXPECT_EQ(tried().last_number, number_of('b'));
  const auto asked = redis::Answer::parse(call(redis::scripts::inspect, {"", "f"}));
  ASSERT_TRUE(asked && asked->holder());
  EXPECT_EQ(asked->holder_number, number_of('a'));
  EXPECT_EQ(asked->last_number, number_of('b'));
  ASSERT_EQ(leave('a'), "F");
  EXPECT_EQ(tried().holder_number, number_of('b'));
  EXPECT_EQ(tried().holder()->label, "reads");
}

TEST_F(RedisReaders, ReadBesideTheHoldOfTheirOwnClient) {
  ASSERT_TRUE(acquire('x').starts_with("G"));
  const std::string owner = hold();
  ASSERT_TRUE(acquire('w').starts_with("Q"));
  EXPECT_TRUE(read('a', {.own = attempt('y')}).starts_with("Q")) << "of nobody who owns it";
  ASSERT_TRUE(read('b', {.own = attempt('x')}).starts_with("G"));
  EXPECT_TRUE(acquire('x').starts_with("G")) << "a copy";
  EXPECT_TRUE(read('b', {.own = attempt('x')}).starts_with("G"));
  EXPECT_EQ(tried().holder()->mode, Mode::exclusive);
  EXPECT_EQ(tried().holder()->label, "label");
  EXPECT_EQ(renew(owner, 50'000), "1");
  EXPECT_EQ(prolong('b'), "2");
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "F");
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "A");
  EXPECT_EQ(renew(owner), "0");
  EXPECT_EQ(tried().holder()->mode, Mode::shared);
  EXPECT_TRUE(acquire('w').starts_with("Q"));
  EXPECT_TRUE(read('c', {.own = attempt('x')}).starts_with("Q")) << "that hold is over";
  EXPECT_EQ(leave('b'), "F");
  EXPECT_TRUE(acquire('w').starts_with("G"));
}

TEST_F(RedisReaders, LeaveTheirOwnerAsItWas) {
  ASSERT_TRUE(acquire('x', {.lease = 20'000}).starts_with("G"));
  const std::string owner = hold();
  const std::int64_t its = end();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(read('a', {.lease = 60'000, .own = attempt('x')}).starts_with("G"));
    EXPECT_GT(end(), its);
    EXPECT_EQ(leave('a'), "F");
    EXPECT_NEAR(static_cast<double>(end()), static_cast<double>(its), 1) << "rounded";
    EXPECT_FALSE(reads('b'));
    EXPECT_TRUE(acquire('x').starts_with("G"));
    EXPECT_EQ(call(redis::scripts::cancel, {attempt('b'), "f0", "1"}).front(), 'B');
  }
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "F");
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "A");
  EXPECT_TRUE(is_written('y'));
  expect_free("a");
}

TEST_F(RedisReaders, AreLetInWhenTheirOwnersLeaseEnds) {
  ASSERT_TRUE(acquire('x').starts_with("G"));
  const std::string owner = hold();
  ASSERT_TRUE(read('a', {.own = attempt('x')}).starts_with("G"));
  EXPECT_FALSE(reads('b'));
  set("k", "1");
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "L");
  EXPECT_TRUE(reads('b'));
  EXPECT_EQ(call(redis::scripts::release, {owner, "f0", "1"}), "N");
  EXPECT_EQ(get("k"), "");
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('b'), "F");
  expect_free("a");
}

TEST_F(RedisReaders, KeepTheLockAlive) {
  ASSERT_TRUE(reads('a'));
  EXPECT_GT(life(), hour + 60'000);
  ASSERT_TRUE(read('b', {.lease = 86'400'000}).starts_with("G"));
  EXPECT_GT(life(), 25 * hour);
  server().talk().expect_ok({"PEXPIRE", key("a"), "60000"});
  EXPECT_EQ(prolong('a'), "1");
  EXPECT_GT(life(), hour);
  ASSERT_TRUE(read('c', {.flags = "f01s.60"}).starts_with("G"));
}

// Promise: S5
TEST_F(RedisReaders, HeedNoCopyThatComesLate) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(read('b', {.flags = "f11s", .epoch = 2}).starts_with("G"));
  EXPECT_EQ(read('b', {.epoch = 1}), "R");
  ASSERT_EQ(call(redis::scripts::release, {hold_of('b'), "f1", "2"}), "F");
  EXPECT_EQ(read('b', {.epoch = 1}), "R");
  EXPECT_THAT(get("s"), SizeIs(place));
  EXPECT_EQ(cancel('c', "f1", 2).front(), 'B');
  EXPECT_EQ(read('c', {.epoch = 1}), "R");
}

TEST_F(RedisReaders, ThatAreTakenBackTellOfTheirHold) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  const auto answer = redis::Answer::parse(cancel('a'));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, redis::Answer::Kind::granted);
  EXPECT_EQ(answer->number, number_of('a'));
}

TEST_F(RedisReaders, AreAllEndedByForceAndTold) {
  RedisTalk hears = listen("abx");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a', {.own = attempt('x')}).starts_with("G"));
  EXPECT_EQ(force().front(), 'O');
  EXPECT_EQ(hear(hears), said('T', 'x'));
  EXPECT_EQ(hear(hears), said('S', 'a'));
  EXPECT_EQ(prolong('a'), "0");
  EXPECT_EQ(leave('a'), "N");
  EXPECT_EQ(force().front(), 'E');
  ASSERT_TRUE(acquire('x').starts_with("G"));
  EXPECT_GT(number(), number_of('a') + 1);
  ASSERT_EQ(release(), "F");
  expect_free("a");
}

// Promise: S3
TEST_F(RedisReaders, WhoCameSinceItWasAskedAreNotEndedByForce) {
  ASSERT_TRUE(reads('a'));
  const auto found = redis::Answer::parse(call(redis::scripts::inspect, {"", "f"}));
  ASSERT_TRUE(reads('b'));
  const std::string those = found->last_grant();
  EXPECT_EQ(call(redis::scripts::force_release, {"", "f", those}).front(), 'O');
  EXPECT_EQ(prolong('a'), "0");
  EXPECT_EQ(prolong('b'), "1");
  EXPECT_EQ(call(redis::scripts::force_release, {"", "f", those}).front(), 'E') << "a copy";
  EXPECT_EQ(prolong('b'), "1");
  ASSERT_TRUE(reads('c'));
  EXPECT_GT(number_of('c'), number_of('b') + 1) << "the number was raised";
}

// Each that died leaves its place for no longer than others come by.
TEST_F(RedisReaders, LeaveNothingWhenTheyDie) {
  ASSERT_TRUE(reads('a'));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(ask_to_read(std::string(16, 'd') + std::to_string(i), {}).starts_with("G"));
  }
  std::string all = get("s");
  for (std::size_t at = 0; at < all.size(); at += place) {
    if (all.find(attempt('a'), at) == at + 2 * digits + 1) continue;
    all.replace(at, digits, std::string(digits - 1, '0') + "1");
  }
  const std::size_t its = all.find(attempt('a')) - 2 * digits - 1;
  all = all.substr(its, place) + all.substr(0, its) + all.substr(its + place);
  set("s", all);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(prolong('a'), "1");
  EXPECT_THAT(get("s"), SizeIs(place));
  EXPECT_THAT(queued("a"), SizeIs(1U)) << "its label";
  EXPECT_EQ(leave('a'), "F");
  expect_free("a");
}

TEST_F(RedisReaders, OfALockThatWasDeletedAreGone) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  server().talk().expect_ok({"DEL", key("a")});
  EXPECT_EQ(prolong('a'), "0");
  EXPECT_EQ(leave('b'), "N");
  EXPECT_TRUE(acquire('x').starts_with("G"));
}

TEST_F(RedisReaders, LeaveTheHashInOnePieceWhereOneReads) {
  ASSERT_TRUE(reads('a'));
  const auto encoding = server().talk().command({"OBJECT", "ENCODING", key("a")}).text;
  EXPECT_TRUE(encoding == "listpack" || encoding == "ziplist") << encoding;
}

}  // namespace
}  // namespace mortise::fault
