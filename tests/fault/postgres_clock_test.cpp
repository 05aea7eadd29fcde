// SPDX-License-Identifier: MIT
// Goal: the client's clock decides nothing at the server, and a step of it no lease (S1, S6).
// Method: a client process whose wall clock jumps by hours; and a client whose monotonic clock runs
// ahead, which may cost it its hold early and nothing else.
#include "fault/postgres_fixture.hpp"
#include "model/process.hpp"

#include <atomic>

namespace mortise::fault {
namespace {

class PostgresClock : public PostgresTest {};

TEST_F(PostgresClock, StepsOfTheWallClockChangeNothing) {
  model::Process program =
      model::Process::spawn(MORTISE_BIN_DIR "/mortise_postgres_clock", {server().url()});
  const auto exit = program.wait_for(60s);
  ASSERT_TRUE(exit) << "it does not end";
  EXPECT_FALSE(exit->killed());
  EXPECT_EQ(exit->code, 0) << "the step that changed something";
}

/// The real clock, and what it was stepped by.
class SteppedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    return BootClock::now() + std::chrono::nanoseconds(ahead_.load());
  }
  void step(std::chrono::nanoseconds by) { ahead_ += by.count(); }

 private:
  std::atomic<std::int64_t> ahead_{0};
};

TEST_F(PostgresClock, AClientWhoseTimeJumpsAheadLosesItsHoldEarlyAndNobodyOverlaps) {
  const auto time = std::make_shared<SteppedClock>();
  Client mine = client({.clock = time});
  Client other = client();
  Lock lock = mine.make_lock("a", {.lease = 3s});
  lock.lock();
  time->step(1h);
  EXPECT_EQ(lock.valid_for(), 0ns);
  EXPECT_TRUE(eventually([&] { return lock.lost().stop_requested(); }));
  // The lost hold is given back at the server, or it runs out there.
  Lock same = other.make_lock("a");
  EXPECT_TRUE(taken_within(same, 3s + 1s));
  EXPECT_GT(same.token(), lock.token());
  EXPECT_EQ(lock.release(), Released::was_lost);
  EXPECT_EQ(same.release(), Released::released);
  // Its time goes on from there.
  EXPECT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
