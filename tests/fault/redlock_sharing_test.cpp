// SPDX-License-Identifier: MIT
// Goal: readers and writers of a quorum keep each other out, in the order of their tokens, whatever
// minority of the servers is away, forgets, or has given larger numbers; what a server could not be
// told it is told later; and an administrator ends all who read, or the one that is meant. Method:
// real servers that are killed, stopped and emptied, and a look at each one's votes.
#include <mortise/redlock.hpp>

#include "fault/redlock_fixture.hpp"

namespace mortise::fault {
namespace {

class RedlockSharing : public RedlockTest {
 protected:
  [[nodiscard]] static Lock reader(Client& client, std::chrono::milliseconds lease = 60s) {
    return client.make_lock("a", {.lease = lease, .label = "reads", .mode = Mode::shared});
  }
  [[nodiscard]] static Lock writer(Client& client) { return client.make_lock("a", {.lease = 60s}); }
  /// @return how many read the name at a server, or may have let go.
  [[nodiscard]] std::size_t readers_at(std::size_t server) {
    return static_cast<std::size_t>(
        servers()[server].talk().expect_ok({"ZCARD", key("a") + ":readers"}).integer);
  }
  void raise_number(std::size_t server, std::uint64_t number) {
    servers()[server].talk().expect_ok({"HSET", key("a"), "max_grant", std::to_string(number)});
  }
};

TEST_F(RedlockSharing, BearsTheLossOfAMinority) {
  Client one = ready_client();
  Client other = ready_client();
  Client third = ready_client();
  Lock first = reader(one);
  ASSERT_TRUE(first.try_lock_for(patience));
  kill(0);
  kill(3);
  Lock second = reader(other);
  ASSERT_TRUE(second.try_lock_for(patience));
  Lock alone = writer(third);
  EXPECT_FALSE(alone.try_lock());
  first.unlock();
  EXPECT_FALSE(alone.try_lock());
  start(0);
  start(3);
  EXPECT_FALSE(alone.try_lock_for(500ms)) << "of the second reader those know nothing";
  second.unlock();
  ASSERT_TRUE(alone.try_lock_for(patience));
  EXPECT_GT(alone.token(), first.token());
  EXPECT_GT(alone.token(), second.token());
  EXPECT_FALSE(reader(one).try_lock());
}

TEST_F(RedlockSharing, AMinorityThatForgotIsGivenTheVoteOnceMore) {
  Client one = ready_client();
  Lock lock = reader(one, 1'500ms);
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  for (const std::size_t each : {1U, 4U}) servers()[each].talk().expect_ok({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return holds("a") == 5; })) << words("a");
  EXPECT_EQ(readers_at(1), 1U) << "not as a reader's";
  Client other = client();
  Lock beside = reader(other);
  EXPECT_TRUE(beside.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_EQ(beside.release(), Released::released);
  expect_free("a");
}

// Promise: S5
TEST_F(RedlockSharing, AServerThatStoodStillIsToldOfTheEnd) {
  Client one = ready_client();
  Lock lock = reader(one);
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  stop(2);
  EXPECT_EQ(lock.release(), Released::released);
  Client other = client();
  Lock alone = writer(other);
  EXPECT_TRUE(alone.try_lock_for(patience)) << "it is one vote";
  alone.unlock();
  resume(2);
  expect_free("a", 5s);
}

// Promise: S2
TEST_F(RedlockSharing, TokensGrowWhereAMinorityHasGivenMore) {
  Client one = ready_client();
  Client other = ready_client();
  Token last;
  std::uint64_t ahead = 1'000'000;
  for (int round = 0; round < 6; ++round) {
    Lock alone = writer(one);
    ASSERT_TRUE(alone.try_lock_for(patience));
    EXPECT_GT(alone.token(), last);
    const Token written = alone.token();
    alone.unlock();
    expect_free("a");
    raise_number(static_cast<std::size_t>(round) % 5, written.value() / 1024 + ahead);
    Lock first = reader(one);
    Lock second = reader(other);
    ASSERT_TRUE(first.try_lock_for(patience));
    raise_number(static_cast<std::size_t>(round + 2) % 5, written.value() / 1024 + ahead / 2);
    ASSERT_TRUE(second.try_lock_for(patience));
    EXPECT_GT(first.token(), written);
    EXPECT_GT(second.token(), written);
    last = std::max(first.token(), second.token());
    first.unlock();
    second.unlock();
    ahead *= 2;
  }
}

TEST_F(RedlockSharing, AnOwnerThatAMinorityDoesNotKnowGoesOnAsAReader) {
  Client one = ready_client();
  Client other = ready_client();
  ReadWriteLock lock = one.make_read_write_lock("a", {.lease = 1'500ms});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  for (const std::size_t each : {0U, 1U}) servers()[each].talk().expect_ok({"FLUSHALL"});
  ASSERT_TRUE(lock.try_lock_shared());
  EXPECT_GT(lock.reader().token(), lock.writer().token());
  EXPECT_FALSE(reader(other).try_lock()) << "it is the owner still";
  EXPECT_EQ(lock.writer().release(), Released::released);
  Lock beside = reader(other, 1'500ms);
  EXPECT_TRUE(beside.try_lock_for(patience));
  Client third = client();
  EXPECT_FALSE(writer(third).try_lock());
  for (const Lock* const each : {&lock.reader(), &beside}) {
    const std::chrono::nanoseconds left = each->valid_for();
    EXPECT_TRUE(eventually([&] { return each->valid_for() > left; })) << "it is not renewed";
  }
  EXPECT_EQ(lock.reader().release(), Released::released);
  EXPECT_EQ(beside.release(), Released::released);
  EXPECT_TRUE(writer(third).try_lock_for(patience));
}

TEST_F(RedlockSharing, LeavesNothingOfManyReaders) {
  Client one = ready_client();
  Client other = ready_client();
  for (int i = 0; i < 100; ++i) {
    const Guard first(reader(one));
    const Guard second(reader(other));
    ASSERT_TRUE(first && second);
  }
  expect_free("a");
  for (std::size_t i = 0; i < servers().size(); ++i) EXPECT_LE(readers_at(i), 2U) << words("a");
}

TEST_F(RedlockSharing, SemaphoresAreRefusedWithAReason) {
  Client one = client();
  const Failure failure = failure_of([&] { static_cast<void>(one.make_semaphore("a", 3)); });
  EXPECT_EQ(failure.code, Errc::unsupported);
  EXPECT_NE(failure.text.find("majority voting guarantees one holder, but not at most N"),
            std::string::npos)
      << failure.text;
}

}  // namespace
}  // namespace mortise::fault
