// SPDX-License-Identifier: MIT
// Goal: a caller that awaits a push and callers that await replies do not stand in each other's
// way; no role is lost, whichever way its holder leaves it. Method: two sources over socketpairs,
// of replies and of pushes, which note who reads them.
#include "base/timer_source.hpp"
#include "support/asleep.hpp"
#include "support/eventually.hpp"
#include "unit/engine_fixture.hpp"

#include <sys/syscall.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace mortise::runtime {
namespace {

using test::best_of;
using test::eventually;
using test::own_duration_of;

/// Replies that nobody awaits, as the last votes of a quorum are; who has pushes reads them when
/// they are due.
class UnawaitedReplies final : public Source {
 public:
  explicit UnawaitedReplies(bool pushes) : pushes_(pushes) {}
  void set_due(Instant due) noexcept { due_.store(due.time_since_epoch().count()); }
  [[nodiscard]] bool was_ready() const noexcept { return ready_.load(); }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] short interest() const noexcept override { return 0; }
  [[nodiscard]] bool pushes() const noexcept override { return pushes_; }
  [[nodiscard]] bool outstanding() const noexcept override { return false; }
  [[nodiscard]] Instant due() const noexcept override {
    return Instant(Instant::duration(due_.load()));
  }
  void ready(short /*events*/, Instant /*now*/) override {
    due_.store(never.time_since_epoch().count());
    ready_.store(true);
  }

 private:
  const bool pushes_;
  std::atomic<Instant::rep> due_{never.time_since_epoch().count()};
  std::atomic<bool> ready_{false};
};

class OnlyMoments final : public base::TimerSource {
 public:
  void ready(short /*events*/, Instant /*now*/) override {}
};

class EngineRoles : public ::testing::Test {
 protected:
  EngineRoles() {
    engine_.attach(replies_);
    engine_.attach(pushes_);
  }
  ~EngineRoles() override {
    engine_.detach(replies_);
    engine_.detach(pushes_);
  }
  /// Request and reply, `count` times, with a server of its own.
  void cycles(int count) {
    std::thread server([&] { replies_.answer(count); });
    for (int i = 0; i < count; ++i) {
      const auto operation = std::make_shared<Check>();
      replies_.request(operation);
      wait_done(engine_, *operation);
    }
    server.join();
  }
  /// A caller asks, is answered and leaves, and what else it has asked for is due then,
  /// unanswered.
  void leave_votes(UnawaitedReplies& votes, UnawaitedReplies& care) {
    const auto operation = std::make_shared<Check>();
    replies_.request(operation);
    std::thread caller([&] { wait_done(engine_, *operation); });
    // Asked by the caller, while whoever reads pushes sleeps.
    votes.set_due(BootClock::now() + 100ms);
    care.set_due(BootClock::now() + 100ms);
    replies_.answer(1);
    caller.join();
  }

  Engine engine_{Clock::real()};
  EchoSource replies_{false};
  EchoSource pushes_{true};
};

/// A thread that waits for one push.
class PushWaiter {
 public:
  PushWaiter(Engine& engine, EchoSource& pushes) : engine_(engine), pushes_(pushes) {
    pushes_.expect_push(operation);
    thread_.emplace([this] {
      kernel_id_.store(static_cast<pid_t>(::syscall(SYS_gettid)));
      wait_done(engine_, *operation);
    });
  }
  PushWaiter(const PushWaiter&) = delete;
  PushWaiter& operator=(const PushWaiter&) = delete;
  ~PushWaiter() { join(); }
  /// @return whether it sleeps in the poll, as reader, or on its own operation
  [[nodiscard]] bool sleeps() const {
    if (!eventually([&] { return kernel_id_.load() != 0; })) return false;
    return test::falls_asleep(kernel_id_.load(), {SYS_ppoll, SYS_futex});
  }
  [[nodiscard]] std::thread::id id() const { return thread_->get_id(); }
  void join() {
    if (thread_) thread_->join();
    thread_.reset();
  }

  const std::shared_ptr<AwaitedPush> operation = std::make_shared<AwaitedPush>();

 private:
  Engine& engine_;
  EchoSource& pushes_;
  std::atomic<pid_t> kernel_id_{0};
  std::optional<std::thread> thread_;
};

// News of writers that wait is asked for by a reader that has what it came for: what said that one
// does lay unread until a renewal was due.
TEST_F(EngineRoles, WhatItsCallerDoesNotAwaitIsReadAtOnceWhereItSaysSo) {
  const BackgroundThread background(engine_);
  ASSERT_TRUE(background.sleeps());
  const auto news = std::make_shared<Check>();
  replies_.request(news);
  engine_.have_replies_read();
  replies_.answer(1);
  EXPECT_TRUE(eventually([&] { return news->done(); }, 5s));
}

// A release over with the majority's answers left the last one unread until a renewal was due.
TEST_F(EngineRoles, WhatNobodyAwaitsIsReadWhenItIsDue) {
  UnawaitedReplies votes(false);
  UnawaitedReplies care(true);
  engine_.attach(votes);
  engine_.attach(care);
  {
    const BackgroundThread background(engine_);
    ASSERT_TRUE(eventually([&] { return background.rounds() > 0; }));
    leave_votes(votes, care);
    EXPECT_TRUE(eventually([&] { return care.was_ready(); }, 5s));
  }
  engine_.detach(votes);
  engine_.detach(care);
}

// The same where it is a caller that reads the pushes, and sleeps since before the request was
// sent.
TEST_F(EngineRoles, WhatNobodyAwaitsIsReadWhenItIsDueByACallerThatAwaitsAPush) {
  UnawaitedReplies votes(false);
  UnawaitedReplies care(true);
  engine_.attach(votes);
  engine_.attach(care);
  {
    const BackgroundThread background(engine_);
    PushWaiter waiter(engine_, pushes_);
    ASSERT_TRUE(waiter.sleeps());
    leave_votes(votes, care);
    EXPECT_TRUE(eventually([&] { return care.was_ready(); }, 5s));
    pushes_.push();
  }
  engine_.detach(votes);
  engine_.detach(care);
}

// The same where replies were due sooner when that caller came, and were read by others since: it
// is by its own sources that it sleeps, and whoever leaves the replies has to know until when.
TEST_F(EngineRoles, WhoAwaitsAPushIsToldOfWhatIsDueSoonerThanItSleeps) {
  UnawaitedReplies votes(false);
  UnawaitedReplies care(true);
  engine_.attach(votes);
  engine_.attach(care);
  {
    votes.set_due(BootClock::now() + 20ms);
    PushWaiter waiter(engine_, pushes_);
    ASSERT_TRUE(waiter.sleeps());
    leave_votes(votes, care);
    EXPECT_TRUE(eventually([&] { return care.was_ready(); }, 5s));
    pushes_.push();
  }
  engine_.detach(votes);
  engine_.detach(care);
}

/// Awaits a push until it is asked for once more, as a look at a queue does, by another thread.
class AskedAnew final : public Check {
 public:
  [[nodiscard]] bool awaits_push() const noexcept override { return !anew.load(); }
  std::atomic<bool> anew{false};
};

/// Where the reader of pushes has asked for one who waits, and leaves.
class EngineRolesAskedAnew : public EngineRoles, public ::testing::WithParamInterface<bool> {};

TEST_P(EngineRolesAskedAnew, WhoTurnsOutToAwaitAReplyIsNotLeftBehindByTheReaderOfPushes) {
  const bool comes_last = GetParam();
  const BackgroundThread background(engine_);
  PushWaiter reader(engine_, pushes_);
  ASSERT_TRUE(reader.sleeps());
  std::optional<PushWaiter> next;
  if (comes_last) {
    next.emplace(engine_, pushes_);
    ASSERT_TRUE(next->sleeps());
  }
  const auto operation = std::make_shared<AskedAnew>();
  std::atomic<pid_t> kernel_id{0};
  std::jthread other([&] {
    kernel_id.store(static_cast<pid_t>(::syscall(SYS_gettid)));
    wait_done(engine_, *operation);
  });
  ASSERT_TRUE(eventually([&] { return kernel_id.load() != 0; }));
  ASSERT_TRUE(test::falls_asleep(kernel_id.load(), {SYS_futex}));
  if (!comes_last) {
    next.emplace(engine_, pushes_);
    ASSERT_TRUE(next->sleeps());
  }
  ASSERT_TRUE(background.sleeps());
  operation->anew.store(true);
  replies_.request(operation);
  pushes_.push();
  reader.join();
  replies_.answer(1);
  EXPECT_TRUE(eventually([&] { return operation->done(); }, 5s)) << "nobody reads its reply";
  pushes_.push();
  next->join();
}

INSTANTIATE_TEST_SUITE_P(ItComes, EngineRolesAskedAnew, ::testing::Bool(), [](const auto& its) {
  return its.param ? "BehindTheNextReader" : "BeforeTheNextReader";
});

TEST_F(EngineRoles, WhoAwaitsAPushReadsNoReplies) {
  const BackgroundThread background(engine_);
  PushWaiter waiter(engine_, pushes_);
  ASSERT_TRUE(waiter.sleeps());
  cycles(200);
  // The caller has read its replies itself, as if nobody waited: no thread switch.
  EXPECT_EQ(replies_.readers(), std::set{std::this_thread::get_id()});
  pushes_.push();
  waiter.join();
}

TEST_F(EngineRoles, WhoAwaitsAPushReadsItItself) {
  const BackgroundThread background(engine_);
  PushWaiter waiter(engine_, pushes_);
  ASSERT_TRUE(waiter.sleeps());
  // From its next round on the background thread leaves the pushes to the waiter.
  const int round = background.rounds();
  engine_.interrupt();
  ASSERT_TRUE(eventually([&] { return background.rounds() > round + 1; }));
  const std::thread::id id = waiter.id();
  pushes_.push();
  waiter.join();
  EXPECT_TRUE(pushes_.readers().contains(id));
}

// As with ZooKeeper: one connection for both, and an alarm.
TEST(EngineOneRole, WhoAwaitsAPushReadsItItselfWhereOnlyMomentsComeApart) {
  Engine engine(Clock::real());
  EchoSource both(false);
  OnlyMoments alarm;
  engine.attach(both);
  engine.attach(alarm);
  {
    const BackgroundThread background(engine);
    PushWaiter waiter(engine, both);
    ASSERT_TRUE(waiter.sleeps());
    const int round = background.rounds();
    engine.interrupt();
    ASSERT_TRUE(eventually([&] { return background.rounds() > round + 1; }));
    both.push();
    const std::thread::id id = waiter.id();
    waiter.join();
    EXPECT_EQ(both.readers(), std::set{id}) << "a thread switch more";
  }
  engine.detach(alarm);
  engine.detach(both);
}

// Promise: L2
TEST_F(EngineRoles, PushesAreReadHoweverManyRepliesAreAwaited) {
  const BackgroundThread background(engine_);
  // A reply that does not come, and nobody who waits for it.
  replies_.request(std::make_shared<Check>());
  const auto longest = [&] {
    PushWaiter waiter(engine_, pushes_);
    EXPECT_TRUE(waiter.sleeps());
    // It was called for some reason, and waits on.
    for (int i = 0; i < 3; ++i) {
      waiter.operation->poke();
      EXPECT_TRUE(waiter.sleeps());
    }
    return own_duration_of([&] {
      pushes_.push();
      waiter.join();
    });
  };
  EXPECT_LT(best_of(5, 100ms, longest), 100ms);
}

TEST_F(EngineRoles, PushesThatNobodyAwaitsAnyMoreAreReadSoon) {
  const BackgroundThread background(engine_);
  const auto lateness = [&] {
    {
      PushWaiter waiter(engine_, pushes_);
      EXPECT_TRUE(waiter.sleeps());
      pushes_.push();
    }
    // The waiter has taken the pushes from the background thread, and has left.
    const auto pushed = std::make_shared<Check>();
    pushes_.expect_push(pushed);
    return own_duration_of([&] {
      pushes_.push();
      pushed->sleep(pushed->signal(), 5s);
      EXPECT_TRUE(pushed->done());
    });
  };
  EXPECT_LT(best_of(10, 50ms, lateness), 50ms);
}

TEST_F(EngineRoles, ThePushesPassFromWaiterToWaiter) {
  // Without a background thread nobody else reads them.
  std::vector<std::unique_ptr<PushWaiter>> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.push_back(std::make_unique<PushWaiter>(engine_, pushes_));
    ASSERT_TRUE(waiters.back()->sleeps());
  }
  for (const auto& waiter : waiters) {
    pushes_.push();
    ASSERT_TRUE(eventually([&] { return waiter->operation->done(); })) << "nobody reads";
    waiter->join();
  }
}

TEST_F(EngineRoles, AReaderThatTimesOutPassesTheRoleOn) {
  const auto leaves = std::make_shared<Check>();
  replies_.request(leaves);
  std::thread reader([&] { engine_.wait(*leaves, leaves->signal(), 300ms); });
  const auto stays = std::make_shared<Check>();
  replies_.request(stays);
  std::thread follower([&] { wait_done(engine_, *stays); });
  reader.join();
  replies_.answer(2);
  EXPECT_TRUE(eventually([&] { return stays->done(); })) << "nobody reads";
  follower.join();
}

// Promise: L7
TEST_F(EngineRoles, WhatASourceThrowsReachesItsReaderAndCostsNobodyElse) {
  const auto first = std::make_shared<Check>();
  replies_.request(first);
  replies_.throw_once();
  replies_.answer(1);
  EXPECT_THROW(engine_.wait(*first, first->signal(), 10s), std::bad_alloc);
  wait_done(engine_, *first);
  cycles(20);
  // The same with a follower, which is called when the reader has thrown.
  const auto thrown = std::make_shared<Check>();
  replies_.request(thrown);
  const auto other = std::make_shared<Check>();
  std::thread reader([&] {
    try {
      wait_done(engine_, *thrown);
    } catch (const std::bad_alloc&) {
      // Leaves without its answer.
    }
  });
  replies_.request(other);
  std::thread follower([&] {
    while (!other->done()) {
      try {
        wait_done(engine_, *other);
      } catch (const std::bad_alloc&) {
        // It was the reader, and asks again.
      }
    }
  });
  replies_.throw_once();
  replies_.answer(2);
  EXPECT_TRUE(eventually([&] { return other->done(); }));
  reader.join();
  follower.join();
}

}  // namespace
}  // namespace mortise::runtime
