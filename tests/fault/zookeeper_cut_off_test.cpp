// SPDX-License-Identifier: MIT
// Goal: a server that is cut off from its ensemble goes on answering, and keeps no hold alive by
// that: two never hold a lock at once, whether a follower is cut off or the leader (S1). Method:
// three real servers, with proxies between them, also where they elect; the holder knows the server
// that is cut off, and no other, and somebody else waits at the others. What is measured is for how
// long both believe. The long form is that of the default session and ticks:
//   mortise_fault_zookeeper_tests --gtest_filter='ZooKeeperCutOffLong.*'
#include <mortise/clock.hpp>

#include "fault/party.hpp"
#include "model/seed.hpp"
#include "support/zookeeper_ensemble.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

using test::ZooKeeperEnsemble;
using test::ZooKeeperServer;
using test::ZooKeeperServerOptions;
using Seconds = std::chrono::duration<double>;

enum class Role { follower, leader };

/// Of the servers that are left, on a machine that does other things.
constexpr std::chrono::seconds to_elect{60};

class ZooKeeperCutOff : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }

  void have(ZooKeeperServerOptions options, std::string parameters,
            std::chrono::milliseconds lease) {
    options_ = std::move(options);
    parameters_ = std::move(parameters);
    lease_ = lease;
  }

  /// @param after how long the lock has been held when its server is cut off
  /// @return how long the old holder believed after the new one did
  Seconds two_holders(Role role, std::chrono::nanoseconds after) {
    // A new one each time: servers that were apart take minutes to agree again.
    all_ = std::make_unique<ZooKeeperEnsemble>(options_, ZooKeeperEnsemble::Links::severable);
    const std::size_t leads = all_->leader();
    const std::size_t cut = role == Role::leader ? leads : (leads + 1) % ZooKeeperEnsemble::size;
    const std::size_t other = (leads + (role == Role::leader ? 1 : 2)) % ZooKeeperEnsemble::size;
    const std::string rest = ZooKeeperServer::fresh_root() + parameters_;
    Client mine(all_->server(cut).url(rest));
    Client theirs(all_->server(other).url(rest));
    mine.check(patience);
    theirs.check(patience);
    Lock lock = mine.make_lock("a");
    lock.lock();
    // Of a later moment than any at which the holder was seen to believe.
    Instant believed{};
    const auto watch = [&](Instant until) {
      for (Instant now = BootClock::now(); now < until; now = BootClock::now()) {
        if (lock.valid_for() == 0ns) return false;
        believed = now;
        std::this_thread::sleep_for(1ms);
      }
      return true;
    };
    EXPECT_TRUE(watch(BootClock::now() + after)) << "the hold was lost before anything happened";
    std::atomic<Instant::rep> granted{0};
    std::thread waiter([&] {
      Lock next = theirs.make_lock("a");
      std::error_code error;
      if (!next.try_lock_for(to_elect + 2 * lease_, error)) {
        std::printf("nobody was granted the lock: %s\n", error.message().c_str());
        return;
      }
      granted = BootClock::now().time_since_epoch().count();
      next.unlock();
    });
    all_->cut_off(cut);
    EXPECT_FALSE(watch(BootClock::now() + 2 * lease_)) << "it believes although nobody hears it";
    waiter.join();
    EXPECT_TRUE(lock.lost().stop_requested());
    EXPECT_EQ(lock.release(), Released::was_lost);
    EXPECT_NE(granted.load(), 0) << "the servers that were left have granted nothing";
    const Instant taken{Instant::duration(granted.load())};
    return std::max(Seconds(0), Seconds(believed - taken));
  }

  void measure(Role role, int rounds, std::chrono::nanoseconds step,
               std::chrono::nanoseconds first = {}) {
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
      const Seconds both = two_holders(role, lease_ / 2 + first + round * step);
      std::printf("two holders for %.2f s after the %s was cut off, round %d\n", both.count(),
                  role == Role::leader ? "leader" : "follower", round + 1);
      EXPECT_EQ(both.count(), 0.0) << "two hold the lock";
    }
  }

 private:
  ZooKeeperServerOptions options_;
  std::unique_ptr<ZooKeeperEnsemble> all_;
  std::string parameters_;
  std::chrono::milliseconds lease_{};
};
class ZooKeeperCutOffLong : public ZooKeeperCutOff {};

/// Any moment between two proofs of life.
std::chrono::milliseconds by_chance() {
  return std::chrono::milliseconds(model::test_seed() % 450);
}

// The starts of the servers take most of the time, so a run has one moment, and the long form many.
TEST_F(ZooKeeperCutOff, AFollowerKeepsNobodysHoldAlive) {
  have({}, "?session=2s&margin=300ms", 2s);
  measure(Role::follower, 1, {}, by_chance());
}
TEST_F(ZooKeeperCutOff, ALeaderKeepsNobodysHoldAlive) {
  have({}, "?session=2s&margin=300ms", 2s);
  measure(Role::leader, 1, {}, by_chance());
}

ZooKeeperServerOptions by_default() { return {.tick = 2s, .lines = {"syncLimit=5"}}; }

TEST_F(ZooKeeperCutOffLong, AFollowerKeepsNobodysHoldAlive) {
  have({}, "?session=2s&margin=300ms", 2s);
  measure(Role::follower, 3, 150ms);
}
TEST_F(ZooKeeperCutOffLong, ALeaderKeepsNobodysHoldAlive) {
  have({}, "?session=2s&margin=300ms", 2s);
  measure(Role::leader, 3, 150ms);
}
TEST_F(ZooKeeperCutOffLong, AFollowerOfDefaultTicksKeepsNobodysHoldAlive) {
  have(by_default(), "", 10s);
  measure(Role::follower, 5, 430ms);
}
TEST_F(ZooKeeperCutOffLong, ALeaderOfDefaultTicksKeepsNobodysHoldAlive) {
  have(by_default(), "", 10s);
  measure(Role::leader, 5, 430ms);
}

}  // namespace
}  // namespace mortise::fault
