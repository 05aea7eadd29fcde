// SPDX-License-Identifier: MIT
// Goal: a hold that was ended by force is over where a majority has heard of it, whatever servers
// are away, and whatever its client has under way; and where no majority has, nobody is told so.
// Method: a quorum of which servers are killed and stopped, and a look at each server's own vote.
#include "fault/redlock_fixture.hpp"
#include "support/force.hpp"

#include <cstdint>
#include <deque>
#include <future>
#include <vector>

namespace mortise::fault {
namespace {

class RedlockForcing : public RedlockTest {
 public:
  /// @return how many servers have heard of the forced release.
  [[nodiscard]] std::size_t forced(const std::string& name) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < servers().size(); ++i) {
      if (servers()[i].talk().command({"ZCARD", key(name) + ":forced"}).integer == 1) ++count;
    }
    return count;
  }
};

TEST_F(RedlockForcing, AMajorityIsEnoughAndWhoeverWasAwayIsOneVote) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 1'500ms});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  stop(0);
  stop(1);
  ASSERT_EQ(test::force_release(servers().url(), "a", patience).size(), 1U);
  EXPECT_EQ(holds("a"), 0U) << words("a");
  // Two servers still have the vote, and go on.
  resume(0);
  resume(1);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  Client other = client();
  Lock next = other.make_lock("a");
  EXPECT_TRUE(next.try_lock_for(patience));
  next.unlock();
}

// A majority says whose it is, and then a minority of the servers can write.
TEST_F(RedlockForcing, AMinorityThatHasHeardOfItIsNotToldAsTheEnd) {
  Client mine = ready_client();
  Client other = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  const auto may_write = [&](const char* replicas) {
    for (const std::size_t i : {0U, 1U, 2U}) {
      servers()[i].talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", replicas});
    }
  };
  may_write("1");
  std::error_code ec;
  EXPECT_TRUE(other.force_release("a", {.wait = 1s}, ec).empty());
  EXPECT_EQ(ec, Errc::in_doubt);
  EXPECT_GE(holds("a"), 3U) << words("a");
  EXPECT_TRUE(other.make_lock("a").holder()) << "a majority has it still";
  may_write("0");
  // What was in doubt is repeated, and may have ended the hold by now: then none is told.
  EXPECT_LE(other.force_release("a", {.wait = patience}).size(), 1U);
  EXPECT_TRUE(eventually([&] { return holds("a") == 0; }));
}

// A vote that was asked for before comes after the end: by a connection that stood still.
TEST_F(RedlockForcing, WhatItsClientHadOnItsWayBringsNoVoteBack) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 6s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  const std::string owner = field(0, "a", "owner");
  const std::string number = field(0, "a", "grant");
  // It returns with a majority. The others hear of it later, from a client that stays.
  Client other = ready_client();
  ASSERT_EQ(other.force_release("a", {.wait = patience}).size(), 1U);
  // A vote that is gone does not show that: the owner itself may have released it.
  ASSERT_TRUE(eventually([&] { return forced("a") == servers().size(); }));
  ASSERT_EQ(holds("a"), 0U);
  // As relock() sends it, in the step of the hold.
  const std::string step = field(0, "a", "step");
  for (std::size_t i = 0; i < servers().size(); ++i) {
    const RedisAnswer answer = servers()[i].talk().expect_ok(
        {"EVAL", std::string(redlock::scripts::acquire.text), "1", key("a"), owner, step,
         "8000000000000000", "6000", number, "", "hold"});
    EXPECT_EQ(answer.items.at(0).text, "refused") << i;
    EXPECT_FALSE(is_held(i, "a")) << i;
  }
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
}

// A majority has voted for it, and the answers take longer than its client waits for them: it knows
// nothing of its hold. So it asks as any other client.
TEST_F(RedlockForcing, WhoDidNotKnowThatItHadTheLockAsksForItAgain) {
  proxied();
  Client mine = ready_client();
  for (const std::size_t i : {0U, 1U, 2U}) {
    servers().proxy(i).delay(3s, 3s, Proxy::Direction::to_client);
  }
  Lock lock = mine.make_lock("a", {.lease = 6s});
  std::future<bool> taken = std::async(std::launch::async, [&] { return lock.try_lock_for(20s); });
  EXPECT_TRUE(eventually([&] { return holds("a") == 5; }));
  ASSERT_EQ(test::force_release(servers().direct_url(), "a", patience).size(), 1U);
  for (const std::size_t i : {0U, 1U, 2U}) servers().proxy(i).heal();
  ASSERT_TRUE(taken.get()) << words("a");
  // Servers whose connections were given up meanwhile may be asked with its first renewal only.
  EXPECT_GE(holds("a"), 3U) << words("a");
}

// The administrator ends the votes of the first round. Its replies are lost, so it sends the
// request again, when the owner has the lock by its second round. Promise: S3
TEST_F(RedlockForcing, ARequestThatIsRepeatedLeavesALaterHoldOfTheSameClient) {
  proxied();
  std::deque<Proxy> its;  // the administrator's network
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < servers().size(); ++i) {
    ports.push_back(its.emplace_back(servers()[i].port()).port());
  }
  Client administrator(test::redlock_url(ports));
  administrator.check(patience);
  Client mine = ready_client();
  for (const std::size_t i : {0U, 1U, 2U}) {
    servers().proxy(i).delay(3s, 3s, Proxy::Direction::to_client);
  }
  Lock lock = mine.make_lock("a", {.lease = 6s});
  std::future<bool> taken = std::async(std::launch::async, [&] { return lock.try_lock_for(20s); });
  ASSERT_TRUE(eventually([&] { return holds("a") == 5; }));
  // The question is answered, and the request behind it is not.
  for (const std::size_t i : {0U, 1U, 2U}) {
    its[i].cut_at(2, Proxy::Moment::reply);
    its[i].refuse(true);
  }
  auto ended = std::async(std::launch::async,
                          [&] { return administrator.force_release("a", {.wait = 20s}); });
  ASSERT_TRUE(eventually([&] { return forced("a") == servers().size(); }));
  for (const std::size_t i : {0U, 1U, 2U}) servers().proxy(i).heal();
  ASSERT_TRUE(taken.get()) << words("a");
  ASSERT_GE(holds("a"), 3U) << words("a");
  for (const std::size_t i : {0U, 1U, 2U}) its[i].refuse(false);
  EXPECT_EQ(ended.get().size(), 1U);
  EXPECT_GE(holds("a"), 3U) << words("a");
  EXPECT_FALSE(administrator.make_lock("a").try_lock()) << words("a");
  EXPECT_FALSE(lock.lost().stop_requested());
}

// A client is between two rounds: it knows that it lost the first one, and the second may be won.
// Promise: S3
TEST_F(RedlockForcing, OnlyARoundThatAMajorityMayHaveWonIsEnded) {
  const auto vote = [&](std::size_t i, const std::string& name, int step) {
    const RedisAnswer answer = servers()[i].talk().expect_ok(
        {"EVAL", std::string(redlock::scripts::acquire.text), "1", key(name), "AAAAAQAAAAAAAAACCr",
         std::to_string(step), "8000000000000000", "30000", "1700000000000000", "label", "00"});
    EXPECT_EQ(answer.items.at(0).text, "vote") << i;
  };
  Client administrator = ready_client();
  for (const std::size_t i : {0U, 1U, 2U}) vote(i, "a", 1);
  for (const std::size_t i : {3U, 4U}) vote(i, "a", 2);
  EXPECT_EQ(administrator.force_release("a", {.wait = patience}).size(), 1U);
  EXPECT_TRUE(eventually([&] { return forced("a") == servers().size(); }));
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_FALSE(is_held(i, "a")) << i;
  for (const std::size_t i : {3U, 4U}) EXPECT_TRUE(is_held(i, "a")) << i;
  for (const std::size_t i : {0U, 1U}) vote(i, "b", 1);
  for (const std::size_t i : {2U, 3U, 4U}) vote(i, "b", 2);
  EXPECT_EQ(administrator.force_release("b", {.wait = patience}).size(), 1U);
  EXPECT_TRUE(eventually([&] { return holds("b") == 0; })) << words("b");
}

}  // namespace
}  // namespace mortise::fault
