// SPDX-License-Identifier: MIT
// Goal: a forced release ends the hold that it found, and none that began since: neither where its
// answer is lost and it is sent again, nor where its caller has been told that it is in doubt (S3).
// Method: an administrator whose way to the server breaks; the same on each backend with one
// server. A quorum's is in redlock_forcing_test.cpp.
#include "core/figures.hpp"
#include "fault/own_server.hpp"

namespace mortise::fault {
namespace {

// Its first copy has ended a hold, and the next in the queue has the lock.
// Promise: S3
MORTISE_TEST(ForcedRelease, LeavesTheNextHolderWhereItsAnswerIsLost) {
  Client mine = client();
  LockOptions options = server().hold(60s);
  options.label = "old holder";
  Lock lock = mine.make_lock("a", options);
  lock.lock();
  Party waiter(client(), "a", server().hold(60s));
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  const auto way = server().way();
  Client admin = server().administrator(*way);
  const NthRequest& act = ground().ends_by_force;
  way->cut_at(act.nth, test::Proxy::Moment::reply, act.command);
  const std::vector<Holder> ended = admin.force_release("a", {.wait = patience});
  EXPECT_FALSE(way->cut_is_ahead());
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "old holder");
  EXPECT_EQ(ended.front().token, lock.token());
  // Woken, although nobody has heard the answer that told of its being free.
  ASSERT_TRUE(comes(served, core::fallback_period / 2));
  EXPECT_TRUE(mine.make_lock("a").holder()) << "the next holder's hold was ended as well";
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// It asks who holds first. Whoever asked for it was told by then that it may have been done, and
// somebody has taken the lock since.
// Promise: S3
MORTISE_TEST(ForcedRelease, ThatWasGivenUpLeavesTheNextHolder) {
  const auto way = server().way();
  Client admin = server().administrator(*way);
  admin.check(patience);
  way->freeze(true);
  std::error_code ec;
  EXPECT_TRUE(admin.force_release("a", {.wait = 200ms}, ec).empty());
  EXPECT_EQ(ec, Errc::unavailable);
  Client mine = client();
  Lock lock = mine.make_lock("a", server().hold(60s));
  lock.lock();
  way->freeze(false);
  EXPECT_NO_THROW(admin.check(patience));
  EXPECT_FALSE(happens_within([&] { return !mine.make_lock("a").holder(); }, 300ms));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
