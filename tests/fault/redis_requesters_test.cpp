// SPDX-License-Identifier: MIT
// Goal: of two threads that ask for one attempt the late one sends nothing, however late it is: its
// request would come behind the release, or behind the cancel, and make an orphaned grant. Method:
// a clock that stops the second thread inside of the backend, after it has seen the attempt
// undecided.
#include "fault/redis_fixture.hpp"
#include "redis/redis_backend.hpp"
#include "remote/one_shot.hpp"

#include <semaphore>
#include <thread>

namespace mortise::fault {
namespace {

/// Stops one thread at its next look.
class StoppingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (std::this_thread::get_id() == stopped_.load()) {
      stopped_.store({});
      stands_.release();
      goes_on_.acquire();
    }
    return BootClock::now();
  }
  void stop_this_thread() { stopped_.store(std::this_thread::get_id()); }
  void until_it_stands() { stands_.acquire(); }
  void let_go() { goes_on_.release(); }

 private:
  mutable std::atomic<std::thread::id> stopped_{};
  mutable std::binary_semaphore stands_{0};
  mutable std::binary_semaphore goes_on_{0};
};

class RedisRequesters : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    backend_.emplace(redis::Settings::parse(server().url()));
    backend_->start(one_shot_);
    check();
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  /// Behind everything that was sent before.
  void check() {
    const auto all = std::make_shared<Check>();
    backend_->check(all);
    run(*all);
  }
  void run(const Operation& operation) {
    one_shot_.run(operation, 10s);
    ASSERT_TRUE(operation.done());
  }
  [[nodiscard]] static std::shared_ptr<Acquisition> attempt(std::uint64_t sequence) {
    return std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {.client_high = 1, .client_low = 2, .sequence = sequence},
                             .name = "a",
                             .lease = 30s,
                             .wait = true});
  }
  /// Asks in another thread, which stands still with its request made until `let_go()`.
  [[nodiscard]] std::jthread ask_late(const std::shared_ptr<Acquisition>& operation) {
    std::jthread late([this, operation] {
      clock_->stop_this_thread();
      backend_->acquire(operation);
    });
    clock_->until_it_stands();
    return late;
  }
  /// Lets it send what it will; that is nothing.
  void let_go(std::jthread late) {
    const std::uint64_t before = scripts();
    check();
    const std::uint64_t of_a_check = scripts() - before;
    clock_->let_go();
    late.join();
    check();
    EXPECT_EQ(scripts(), before + 2 * of_a_check);
  }
  [[nodiscard]] std::uint64_t scripts() {
    auto stats = server().talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
  [[nodiscard]] redis::RedisBackend& backend() { return *backend_; }

 private:
  std::shared_ptr<StoppingClock> clock_ = std::make_shared<StoppingClock>();
  remote::OneShotHost one_shot_{clock_};
  std::optional<redis::RedisBackend> backend_;
};

TEST_F(RedisRequesters, ALateOneTakesNothingBehindTheRelease) {
  const auto mine = attempt(1);
  std::jthread late = ask_late(mine);
  backend().acquire(mine);
  run(*mine);
  ASSERT_NE(mine->grant().number, 0U);
  const auto release = std::make_shared<Release>(
      HoldId{.name = "a", .attempt = mine->request().attempt, .number = mine->grant().number});
  backend().release(release);
  run(*release);
  EXPECT_EQ(release->outcome(), Released::released);
  let_go(std::move(late));
  expect_free("a");
}

TEST_F(RedisRequesters, ALateOneDoesNotJoinTheQueueBehindTheCancel) {
  Client other = client();
  Lock theirs = other.lock("a");
  theirs.lock();
  const auto mine = attempt(1);
  std::jthread late = ask_late(mine);
  backend().acquire(mine);
  ASSERT_TRUE(eventually([&] {
    check();
    return waiting("a") == 1;
  }));
  backend().cancel(mine);
  run(*mine);
  EXPECT_EQ(mine->grant().number, 0U);
  let_go(std::move(late));
  EXPECT_EQ(waiting("a"), 0U);
  theirs.unlock();
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
