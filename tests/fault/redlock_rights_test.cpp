// SPDX-License-Identifier: MIT
// Goal: what a user of several servers may not do any more costs what it concerns, and nothing
// else. Method: rights are taken away on real servers while locks are held.
#include "fault/redlock_fixture.hpp"

#include <deque>

namespace mortise::fault {
namespace {

class RedlockRights : public RedlockTest {};

// Promise: L8
TEST_F(RedlockRights, ANameThatIsTakenAwayCostsNoOtherHold) {
  static_cast<void>(servers(3));
  Client mine = ready_client();
  std::deque<Lock> kept;
  for (int i = 0; i < 5; ++i) {
    kept.push_back(mine.make_lock("kept/" + std::to_string(i), {.lease = 2s}));
    kept.back().lock();
  }
  Lock taken = mine.make_lock("taken", {.lease = 2s});
  taken.lock();
  for (std::size_t i = 0; i < 3; ++i) {
    servers()[i].talk().expect_ok({"ACL", "SETUSER", "default", "resetkeys", "~mortise:{kept*"});
  }
  EXPECT_TRUE(eventually([&] { return taken.lost().stop_requested(); }));
  for (Lock& lock : kept) {
    EXPECT_FALSE(lock.lost().stop_requested());
    EXPECT_EQ(lock.release(), Released::released);
  }
}

}  // namespace
}  // namespace mortise::fault
