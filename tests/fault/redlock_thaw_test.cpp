// SPDX-License-Identifier: MIT
// Goal: a server that stood still votes for nobody when it goes on: what it was asked meanwhile is
// taken back, whether the attempt has gone on without it, or its hold has ended without a word.
// Method: one server of three is stopped, and looked at after it was resumed.
#include "fault/redlock_fixture.hpp"

namespace mortise::fault {
namespace {

class RedlockThaw : public RedlockTest {
 protected:
  void SetUp() override {
    RedlockTest::SetUp();
    if (IsSkipped()) return;
    static_cast<void>(servers(3));
  }
  [[nodiscard]] std::uint64_t scripts(std::size_t server) {
    auto stats = servers()[server].talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
  void freeze(std::size_t server) {
    before_ = scripts(server);
    stop(server);
  }
  /// Goes on, executes what it was sent, and then is free far sooner than by the lease.
  void expect_that_it_votes_for_nobody(std::size_t server) {
    resume(server);
    EXPECT_TRUE(eventually([&] { return scripts(server) > before_; })) << "it was asked nothing";
    EXPECT_TRUE(eventually([&] { return !is_held(server, "a"); }, 1s)) << words("a");
    // A connection that it reads later brings no more.
    EXPECT_FALSE(happens_within([&] { return is_held(server, "a"); }, 300ms)) << words("a");
  }

 private:
  std::uint64_t before_ = 0;
};

// It has asked the server in a round that is older than a lease, and in none since; and that round
// was over with its connection, when nothing could follow on that.
TEST_F(RedlockThaw, AServerDoesNotVoteForAWaiterThatHasLeft) {
  Client mine = ready_client();
  Client theirs = ready_client();
  Lock held = theirs.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(held.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 3; }));
  for (const std::size_t i : {1U, 2U}) servers()[i].talk().expect_ok({"DEL", key("a")});
  freeze(2);
  Lock lock = mine.make_lock("a", {.lease = 3s});
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(7s, error));
  expect_that_it_votes_for_nobody(2);
}

TEST_F(RedlockThaw, AServerDoesNotVoteForAHoldThatHasLapsed) {
  Client mine = ready_client();
  freeze(2);
  Lock lock = mine.make_lock("a", {.lease = 3s, .renew = false});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return lock.lost().stop_requested(); }, 5s));
  expect_that_it_votes_for_nobody(2);
}

// The request for its vote came late. A renewal finds that it has no hold, and asks for its vote.
TEST_F(RedlockThaw, AServerVotesForAHoldThatStandsWithItsNextRenewal) {
  Client mine = ready_client();
  freeze(2);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  std::this_thread::sleep_for(1500ms);  // its connection is given up
  resume(2);
  EXPECT_TRUE(eventually([&] { return is_held(2, "a"); }));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return !is_held(2, "a"); }));
}

// Its reply to the request for its vote was lost. It stops again, and hears of the release when it
// goes on. The release finds the vote.
TEST_F(RedlockThaw, AServerWhoseVoteWasInDoubtIsCountedByTheRelease) {
  Client mine = ready_client();
  freeze(2);
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  ASSERT_TRUE(lock.try_lock_for(patience));
  std::this_thread::sleep_for(300ms);  // the request is on time, and its connection stands
  resume(2);
  ASSERT_TRUE(eventually([&] { return is_held(2, "a"); }));
  Lock other = mine.make_lock("b", {.lease = 300ms, .renew = false});
  // It is connected to again.
  ASSERT_TRUE(eventually([&] {
    const Guard guard(other);
    return eventually([&] { return holds("b") == 3; }, 50ms);
  }));
  freeze(2);
  kill(0);
  // Neither is connected any more when the release is asked for.
  std::error_code error;
  EXPECT_FALSE(other.try_lock_for(1s, error));
  ASSERT_TRUE(lock.valid_for() > 1s);
  Worker worker;
  auto resumed = worker.start([&] {
    std::this_thread::sleep_for(50ms);
    resume(2);
  });
  EXPECT_EQ(lock.release(), Released::released);
  resumed.get();
  EXPECT_TRUE(eventually([&] { return !is_held(2, "a") && !is_held(1, "a"); })) << words("a");
}

}  // namespace
}  // namespace mortise::fault
