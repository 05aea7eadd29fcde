// SPDX-License-Identifier: MIT
// Goal: who reads holds the lock by a lease, a number and an end of its own, beside all others who
// read, and nothing of it stays. Method: scripts, and leases that are set back in the lock.
#include "fault/redis_readers.hpp"

#include <string>
#include <thread>

namespace mortise::fault {
namespace {

class RedisReaders : public RedisReadersTest {};

// Promise: S1
TEST_F(RedisReaders, HoldItTogetherAndKeepOutWhoWantsItAlone) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_FALSE(is_written('x'));
  EXPECT_FALSE(is_written('y')) << "by the slow way";
  EXPECT_EQ(leave('a'), "released");
  EXPECT_FALSE(is_written('x')) << "one of them reads still";
  EXPECT_EQ(leave('b'), "released");
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

// Promise: S2
TEST_F(RedisReaders, HaveNumbersOfTheSameSequence) {
  ASSERT_EQ(acquire('x'), "granted");
  std::uint64_t last = number();
  ASSERT_EQ(release(), "released");
  for (const char each : {'a', 'b', 'c'}) {
    ASSERT_TRUE(reads(each));
    EXPECT_GT(number_of(each), last);
    last = number_of(each);
    EXPECT_EQ(number(), last);
  }
  for (const char each : {'a', 'b', 'c'}) ASSERT_EQ(leave(each), "released");
  ASSERT_EQ(acquire('x'), "granted");
  EXPECT_GT(number(), last);
}

TEST_F(RedisReaders, HaveLargerNumbersAlsoWhenTheClockSteppedBack) {
  ASSERT_EQ(acquire('x'), "granted");
  set_ahead('x');
  ASSERT_EQ(release(), "released");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_EQ(number_of('a'), ahead + 1);
  EXPECT_EQ(number_of('b'), ahead + 2);
  EXPECT_EQ(prolong('a'), 1);
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('b'), "released");
  ASSERT_EQ(acquire('x'), "granted");
  EXPECT_EQ(number(), ahead + 3);
}

// Promise: S5
TEST_F(RedisReaders, AreTheSameWhenTheyAskAgain) {
  ASSERT_TRUE(reads('a'));
  const std::uint64_t first = number_of('a');
  ASSERT_TRUE(reads('b'));
  ASSERT_TRUE(reads('a'));
  EXPECT_EQ(number_of('a'), first);
  EXPECT_EQ(readers(), 2);
}

// Promise: S3
TEST_F(RedisReaders, LetGoByThemselvesOnly) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  for (const Held& forged :
       {Held{attempt('a'), std::to_string(number_of('b'))},
        Held{attempt('a'), std::to_string(number_of('b') + 1)},
        Held{attempt('c'), std::to_string(number_of('a'))},
        Held{attempt('a') + "1", std::to_string(number_of('a'))}, Held{"nonsense", ""}}) {
    EXPECT_EQ(release_of(forged), "not_held") << forged.attempt << " " << forged.number;
    EXPECT_EQ(renew(forged), 0) << forged.attempt << " " << forged.number;
  }
  EXPECT_EQ(readers(), 2);
}

TEST_F(RedisReaders, ThatLetGoTwiceAreToldSoWhoeverReadsStill) {
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(reads(each));
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(leave('b'), "released_before");
  EXPECT_EQ(leave('c'), "released");
  EXPECT_EQ(leave('b'), "released_before");
  EXPECT_EQ(leave('c'), "released_before");
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('a'), "released_before");
  EXPECT_EQ(leave('b'), "released_before") << "nobody has had it since";
  ASSERT_TRUE(reads('d'));
  EXPECT_EQ(leave('d'), "released");
}

// What has lapsed is never said to be freed before: somebody else may have had it since.
TEST_F(RedisReaders, ThatHaveLapsedLetGoAsSuch) {
  for (const char each : {'a', 'b'}) ASSERT_TRUE(reads(each));
  lapse_reader('a');
  EXPECT_EQ(prolong('a'), 0);
  EXPECT_EQ(leave('a'), "expired");
  EXPECT_EQ(leave('a'), "expired");
  EXPECT_EQ(prolong('b'), 1);
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(leave('b'), "released_before");
  ASSERT_TRUE(reads('c'));
  lapse_reader('c');
  EXPECT_EQ(leave('c', 'u'), "expired");
  EXPECT_EQ(leave('c'), "expired");
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

// Promise: L1
TEST_F(RedisReaders, WhoseLeaseHasEndedExcludeNobody) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  lapse_reader('b');
  EXPECT_FALSE(is_written('x'));
  EXPECT_EQ(leave('a'), "released");
  EXPECT_TRUE(is_written('x'));
  expect_free("a");
}

TEST_F(RedisReaders, KeepItNoLongerThanTheLastOfTheirLeases) {
  ASSERT_EQ(read('a', {.lease = 20'000}), "granted");
  ASSERT_EQ(read('b', {.lease = 3'600'000}), "granted");
  ASSERT_EQ(read('c', {.lease = 10'000}), "granted");
  EXPECT_GT(tried().left, 30min);
  EXPECT_EQ(leave('b'), "released");
  EXPECT_LE(tried().left, 20s);
  EXPECT_EQ(prolong('c', 60'000), 1);
  EXPECT_GT(tried().left, 50s);
  EXPECT_EQ(prolong('c', 5'000), 1);
  EXPECT_LE(tried().left, 20s);
}

TEST_F(RedisReaders, AreRenewedEachForItself) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  const std::int64_t before = end_of('a');
  EXPECT_EQ(prolong('b', 50'000), 1);
  EXPECT_EQ(end_of('a'), before);
  EXPECT_GT(end_of('b'), before + 15'000'000);
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(renew(hold_of('b')), 0);
  EXPECT_EQ(end_of('b'), 0);
}

// By the one whose lease ends last.
TEST_F(RedisReaders, AreNamedToThoseWhoAsk) {
  ASSERT_TRUE(reads('a'));
  const auto by_one = tried();
  EXPECT_EQ(by_one.holder()->mode, Mode::shared);
  EXPECT_EQ(by_one.holder()->label, "reads");
  EXPECT_EQ(by_one.holding.number, number_of('a'));
  ASSERT_TRUE(reads('b'));
  EXPECT_EQ(tried().holding.number, number_of('b'));
  EXPECT_EQ(tried().last_number, number_of('b'));
  EXPECT_EQ(prolong('a', 60'000), 1);
  const redis::Answer asked = look();
  EXPECT_EQ(asked.holding.number, number_of('a'));
  EXPECT_EQ(asked.last_number, number_of('b'));
  ASSERT_EQ(leave('a'), "released");
  EXPECT_EQ(tried().holding.number, number_of('b'));
  EXPECT_EQ(tried().holder()->label, "reads");
}

TEST_F(RedisReaders, ReadBesideTheHoldOfTheirOwnClient) {
  ASSERT_EQ(acquire('x'), "granted");
  const Held owner = hold();
  ASSERT_EQ(acquire('w'), "queued");
  EXPECT_EQ(read('a', {.own = attempt('y')}), "queued") << "of nobody who owns it";
  ASSERT_EQ(read('b', {.own = attempt('x')}), "granted");
  EXPECT_EQ(acquire('x'), "granted") << "a copy";
  EXPECT_EQ(read('b', {.own = attempt('x')}), "granted");
  EXPECT_EQ(tried().holder()->mode, Mode::exclusive);
  EXPECT_EQ(tried().holder()->label, "label");
  EXPECT_EQ(renew(owner, 50'000), 1);
  EXPECT_EQ(prolong('b'), 2);
  EXPECT_EQ(release_of(owner), "released");
  EXPECT_EQ(release_of(owner), "released_before");
  EXPECT_EQ(renew(owner), 0);
  EXPECT_EQ(tried().holder()->mode, Mode::shared);
  EXPECT_EQ(acquire('w'), "queued");
  EXPECT_EQ(read('c', {.own = attempt('x')}), "queued") << "that hold is over";
  EXPECT_EQ(leave('b'), "released");
  EXPECT_EQ(acquire('w'), "granted");
}

TEST_F(RedisReaders, LeaveTheirOwnerAsItWas) {
  ASSERT_EQ(acquire('x', {.lease = 20'000}), "granted");
  const Held owner = hold();
  const std::int64_t its = end();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(read('a', {.lease = 60'000, .own = attempt('x')}), "granted");
    EXPECT_EQ(leave('a'), "released");
    EXPECT_EQ(end(), its);
    EXPECT_FALSE(reads('b'));
    EXPECT_EQ(acquire('x'), "granted");
    EXPECT_EQ(cancel('b'), "busy");
  }
  EXPECT_EQ(release_of(owner), "released");
  EXPECT_EQ(release_of(owner), "released_before");
  EXPECT_TRUE(is_written('y'));
  expect_free("a");
}

TEST_F(RedisReaders, AreLetInWhenTheirOwnersLeaseEnds) {
  ASSERT_EQ(acquire('x'), "granted");
  const Held owner = hold();
  ASSERT_EQ(read('a', {.own = attempt('x')}), "granted");
  EXPECT_FALSE(reads('b'));
  lapse();
  EXPECT_EQ(release_of(owner), "expired");
  EXPECT_TRUE(reads('b'));
  EXPECT_NE(release_of(owner), "released");
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('b'), "released");
  expect_free("a");
}

TEST_F(RedisReaders, KeepTheLockAlive) {
  ASSERT_TRUE(reads('a'));
  EXPECT_GT(life(), hour);
  ASSERT_EQ(read('b', {.lease = 86'400'000}), "granted");
  for (const char* const which : {"", ":readers", ":reader_info"}) {
    EXPECT_GT(life(key("a") + which), 24 * hour + 60'000) << which;
    server().talk().expect_ok({"PEXPIRE", key("a") + which, "60000"});
  }
  EXPECT_EQ(prolong('a'), 1);
  for (const char* const which : {"", ":readers", ":reader_info"}) {
    EXPECT_GT(life(key("a") + which), hour) << which;
  }
}

// Promise: S5
TEST_F(RedisReaders, HeedNoCopyThatComesLate) {
  const Read late{.void_after = "1000"};
  EXPECT_EQ(read('a', late), "too_late");
  EXPECT_EQ(readers(), 0);
  ASSERT_TRUE(reads('a'));
  EXPECT_EQ(read('b', late), "too_late");
  EXPECT_EQ(read('a', late), "too_late");
  EXPECT_EQ(readers(), 1);
}

TEST_F(RedisReaders, ThatAreTakenBackTellOfTheirHold) {
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(reads('b'));
  const redis::Answer answer =
      understood(call(redis::scripts::cancel, {attempt('a'), life_of_next}));
  EXPECT_EQ(answer.kind, redis::Answer::Kind::granted);
  EXPECT_EQ(answer.number, number_of('a'));
}

TEST_F(RedisReaders, AreEndedByForceAndTold) {
  RedisTalk hears = listen("abx");
  ASSERT_EQ(acquire('x'), "granted");
  const std::string owner = get("grant");
  ASSERT_EQ(read('a', {.own = attempt('x')}), "granted");
  EXPECT_EQ(force(owner), "released");
  EXPECT_EQ(hear(hears), said('T', 'x'));
  EXPECT_EQ(force(std::to_string(number_of('a'))), "released");
  EXPECT_EQ(hear(hears), said('S', 'a'));
  EXPECT_EQ(prolong('a'), 0);
  EXPECT_EQ(leave('a'), "not_held");
  EXPECT_EQ(force(std::to_string(number_of('a'))), "not_held");
  ASSERT_EQ(acquire('x'), "granted");
  EXPECT_GT(number(), number_of('a') + 1);
  ASSERT_EQ(release(), "released");
  expect_free("a");
}

// Each that died leaves its place for no longer than others come by.
TEST_F(RedisReaders, LeaveNothingWhenTheyDie) {
  ASSERT_TRUE(reads('a'));
  for (int i = 0; i < 100; ++i) {
    const std::string who = std::string(16, 'd') + std::to_string(i);
    ASSERT_EQ(ask_to_read(who, {}), "granted");
    lapse_reader(who);
  }
  EXPECT_LE(noted(), 2) << "each that comes clears away";
  ASSERT_TRUE(reads('b'));
  EXPECT_EQ(noted(), 2);
  EXPECT_EQ(server().talk().command({"HLEN", key("a") + ":reader_info"}).integer, 4)
      << "with labels";
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('b'), "released");
  expect_free("a");
}

// Each key that the scripts write may be removed by hand. Who read may have lost its hold. The lock
// is had again when the leases are over, and no number is given twice.
TEST_F(RedisReaders, GoOnWithoutAnyOneOfTheirKeys) {
  for (const char* const which : {"", ":readers", ":reader_info"}) {
    server().talk().expect_ok({"FLUSHALL"});
    for (const char each : {'a', 'b'}) ASSERT_EQ(read(each, {.lease = 300}), "granted");
    ASSERT_EQ(server().talk().expect_ok({"DEL", key("a") + which}).integer, 1) << which;
    static_cast<void>(leave('a'));
    static_cast<void>(prolong('b', 300));
    const std::int64_t over = server_time() + 300'000;
    ASSERT_TRUE(eventually([&] { return server_time() > over; }));
    EXPECT_EQ(acquire('x'), "granted") << which;
    EXPECT_GT(number(), number_of('b')) << which;
    EXPECT_EQ(release(), "released") << which;
    EXPECT_TRUE(reads('c')) << which;
    EXPECT_EQ(leave('c'), "released") << which;
  }
}

TEST_F(RedisReaders, LeaveTheHashInOnePiece) {
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(reads(each));
  const auto encoding = server().talk().command({"OBJECT", "ENCODING", key("a")}).text;
  EXPECT_TRUE(encoding == "listpack" || encoding == "ziplist") << encoding;
}

}  // namespace
}  // namespace mortise::fault
