// SPDX-License-Identifier: MIT
// Goal: a waiter that is given the lock by its predecessor's end, while a stranger has deleted its
// own node, is told so at once, and not only by a renewal. Method: a session so long that no
// renewal comes.
#include "fault/zookeeper_fixture.hpp"
#include "support/eventually.hpp"

#include <future>

namespace mortise::fault {
namespace {

using namespace std::chrono_literals;

class ZooKeeperOrphan : public ZooKeeperTest {};

TEST_F(ZooKeeperOrphan, IsToldWithoutARenewal) {
  have_own({.tick = 1'000ms});  // its longest session has 20 ticks
  const std::string long_session = "session=20s&margin=1s";
  Client theirs(url(long_session));
  Client mine(url(long_session));
  Lock held = theirs.make_lock("a");
  Lock wanted = mine.make_lock("a");
  bool orphan = false;
  for (int i = 0; i < 20 && !orphan; ++i) {
    held.lock();
    std::stop_token lost;
    auto served = std::async(std::launch::async, [&] {
      wanted.lock();
      lost = wanted.lost();
      // Where its look of each second came in between it has queued again: no orphan, once more.
      orphan = queue("a").empty();
      const bool told = test::eventually([&] { return !orphan || lost.stop_requested(); }, 3s);
      wanted.release();
      return told;
    });
    ASSERT_TRUE(come_to_wait("a", 1));
    server().talk().remove(queue("a").at(1));
    EXPECT_EQ(held.release(), Released::released);
    EXPECT_TRUE(served.get()) << "it was not told for 3 s";
  }
  EXPECT_TRUE(orphan) << "the waiter was never too late to notice";
}

}  // namespace
}  // namespace mortise::fault
