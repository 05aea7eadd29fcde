// SPDX-License-Identifier: MIT
// Goal: a caller that is alone reads without the engine's mutex, and whoever comes meanwhile is
// neither forgotten nor reads beside it. Method: a source whose sleep in the read the test holds
// up, over a socketpair.
#include "runtime/engine/shortcut.hpp"
#include "support/eventually.hpp"
#include "unit/engine_fixture.hpp"

#include <latch>
#include <thread>
#include <vector>

namespace mortise::runtime {
namespace {

/// Sleeps in the read where the test lets it; reads one reply each time.
class HeldUpSource final : public base::TunedSource {
 public:
  void request(const std::shared_ptr<Check>& operation) { wire_.request(operation); }
  void answer(int count) const { wire_.answer(count); }
  /// Has the next caller that sleeps in the read stay there until `let_go()`.
  void hold_up() { held_up_.store(true); }
  void let_go() { held_up_.store(false); }
  void throw_in_the_read() { throws_.store(true); }
  /// Completes an operation when somebody looks the next time whether a reply is outstanding, as a
  /// push does that another thread reads at that moment.
  void push_at_the_next_look(Check& operation) { pushed_.store(&operation); }
  /// Keeps requests back until this thread is to send them, and has no memory for that.
  void keep_back_for_this_thread() {
    sender_ = std::this_thread::get_id();
    gathering_.store(true);
  }
  [[nodiscard]] bool is_read_alone() const noexcept { return inside_.load() > 0; }

  [[nodiscard]] int descriptor() const noexcept override { return wire_.descriptor(); }
  [[nodiscard]] short interest() const noexcept override { return wire_.interest(); }
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override {
    if (Check* const pushed = pushed_.exchange(nullptr)) pushed->answered();
    return wire_.outstanding();
  }
  [[nodiscard]] bool gathering() const noexcept override { return gathering_.load(); }
  void send_gathered() override {
    if (std::this_thread::get_id() != sender_) return;
    gathering_.store(false);
    throw std::bad_alloc();
  }
  [[nodiscard]] bool linger() override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two callers sleep in one read";
    const bool came = !reading_.exchange(true) && read();
    inside_.fetch_sub(1);
    return came;
  }
  void ready(short events, Instant now) override {
    // As the contract says: whoever sleeps in the read sees what there is.
    if (reading_.exchange(true)) return;
    wire_.ready(events, now);
    reading_.store(false);
  }

 private:
  /// By whoever has taken the reader's role of this source.
  bool read() {
    while (held_up_.load()) std::this_thread::sleep_for(100us);
    pollfd polled{.fd = wire_.descriptor(), .events = POLLIN, .revents = 0};
    const bool came = ::poll(&polled, 1, 4) == 1;
    const bool throws = throws_.exchange(false);
    if (came && !throws) wire_.ready(POLLIN, BootClock::now());
    reading_.store(false);
    if (throws) {
      inside_.fetch_sub(1);
      throw std::bad_alloc();
    }
    return came;
  }

  EchoSource wire_{false};
  std::atomic<int> inside_{0};
  std::atomic<bool> reading_{false};
  std::atomic<bool> held_up_{false};
  std::atomic<bool> throws_{false};
  mutable std::atomic<Check*> pushed_{nullptr};
  std::thread::id sender_;
  std::atomic<bool> gathering_{false};
};

class EngineShortcut : public ::testing::Test {
 protected:
  void SetUp() override {
    engine_.attach(source_);
    ask_and_wait();  // whoever came first was not alone yet
  }
  void TearDown() override { engine_.detach(source_); }

  void ask_and_wait() {
    const auto operation = std::make_shared<Check>();
    source_.request(operation);
    source_.answer(1);
    wait_done(engine_, *operation);
  }
  /// A caller that has asked, sleeps in the read, and stays there.
  [[nodiscard]] std::jthread held_up(const std::shared_ptr<Check>& operation) {
    source_.hold_up();
    source_.request(operation);
    std::jthread caller([this, operation] { wait_done(engine_, *operation); });
    EXPECT_TRUE(test::eventually([&] { return source_.is_read_alone(); }));
    return caller;
  }
  /// While a caller is alone, in `source_`.
  void expect_detach_waits(Source& source) {
    const auto operation = std::make_shared<Check>();
    std::jthread lone = held_up(operation);
    std::atomic<bool> detached{false};
    std::jthread detacher([&] {
      engine_.detach(source);
      EXPECT_FALSE(source_.is_read_alone());
      detached.store(true);
    });
    std::this_thread::sleep_for(5ms);  // it need not be there by now, but mostly is
    EXPECT_FALSE(detached.load());
    operation->answered();
    source_.let_go();
    lone.join();
    detacher.join();
  }

  Engine engine_{Clock::real()};
  HeldUpSource source_;
};

TEST(ShortcutTest, OneCallerIsOnItAndFindsWhetherItWasClosed) {
  HeldUpSource source;
  const std::vector<base::TunedSource*> sources{&source};
  Shortcut shortcut;
  EXPECT_FALSE(shortcut.take());
  EXPECT_FALSE(shortcut.close());
  shortcut.open(sources);
  EXPECT_TRUE(shortcut.take());
  EXPECT_FALSE(shortcut.take());
  shortcut.open(sources);  // changes nothing
  EXPECT_FALSE(shortcut.take());
  EXPECT_TRUE(shortcut.leave());
  EXPECT_TRUE(shortcut.take());
  EXPECT_TRUE(shortcut.close());
  EXPECT_FALSE(shortcut.close());  // it is known
  EXPECT_FALSE(shortcut.take());
  EXPECT_FALSE(shortcut.leave());
  shortcut.open(sources);
  EXPECT_FALSE(shortcut.close());
}

TEST(ShortcutTest, OfSeveralSourcesItTellsTheOneThatOwesAReply) {
  HeldUpSource first;
  HeldUpSource second;
  const std::vector<base::TunedSource*> sources{&first, &second};
  Shortcut shortcut;
  shortcut.open(sources);
  ASSERT_TRUE(shortcut.take());
  EXPECT_EQ(shortcut.outstanding_alone(), nullptr);
  EXPECT_FALSE(shortcut.outstanding());
  second.request(std::make_shared<Check>());
  EXPECT_EQ(shortcut.outstanding_alone(), &second);
  EXPECT_TRUE(shortcut.outstanding());
  first.request(std::make_shared<Check>());
  EXPECT_EQ(shortcut.outstanding_alone(), nullptr) << "it would not see what the other gives";
  EXPECT_TRUE(shortcut.outstanding());
}

TEST_F(EngineShortcut, WhoComesBehindIsCalledWhenTheOtherLeaves) {
  const auto first = std::make_shared<Check>();
  const auto second = std::make_shared<Check>();
  std::jthread lone = held_up(first);
  source_.request(second);
  std::jthread behind([&] {
    const std::uint32_t seen = second->signal();
    const Instant before = BootClock::now();
    engine_.wait(*second, seen, 10s);
    EXPECT_TRUE(second->done());
    EXPECT_LT(BootClock::now() - before, 9s) << "nobody called it";
  });
  std::this_thread::sleep_for(5ms);  // it need not follow by now, but mostly does
  source_.answer(1);
  source_.let_go();
  lone.join();
  source_.answer(1);
}

TEST_F(EngineShortcut, WhatItLeavesBehindIsReadByTheBackground) {
  const BackgroundThread background(engine_);
  ASSERT_TRUE(background.sleeps());  // or it comes by itself
  const auto first = std::make_shared<Check>();
  const auto left = std::make_shared<Check>();
  std::jthread lone = held_up(first);
  source_.request(left);  // nobody waits for it
  source_.answer(1);
  source_.let_go();
  lone.join();
  source_.answer(1);
  EXPECT_TRUE(test::eventually([&] { return left->done(); }));
}

// It was to read on as one of many, and had no reason to any more.
TEST_F(EngineShortcut, WhatItLeavesBehindIsReadAlsoWhereAPushAnswersItAsItLeaves) {
  const BackgroundThread background(engine_);
  ASSERT_TRUE(background.sleeps());
  const auto operation = std::make_shared<Check>();
  const auto left = std::make_shared<Check>();
  std::jthread lone = held_up(operation);
  source_.request(left);  // for one who sleeps, by what this reader has read
  source_.push_at_the_next_look(*operation);
  source_.let_go();
  lone.join();
  source_.answer(2);
  EXPECT_TRUE(test::eventually([&] { return left->done(); }));
}

TEST_F(EngineShortcut, WhatItLeavesBehindIsReadAlsoWhereItCannotSendWhatIsKeptBack) {
  const BackgroundThread background(engine_);
  ASSERT_TRUE(background.sleeps());
  const auto left = std::make_shared<Check>();
  source_.request(left);
  source_.keep_back_for_this_thread();
  EXPECT_THROW(wait_done(engine_, *left), std::bad_alloc);
  source_.answer(1);
  EXPECT_TRUE(test::eventually([&] { return left->done(); }));
}

TEST_F(EngineShortcut, WhoAwaitsAPushHasItsReplyReadBehindALoneReader) {
  const BackgroundThread background(engine_);
  EchoSource pushes(true);
  engine_.attach(pushes);
  ask_and_wait();
  const auto first = std::make_shared<Check>();
  const auto reply = std::make_shared<Check>();
  const auto push = std::make_shared<AwaitedPush>();
  std::jthread lone = held_up(first);
  source_.request(reply);
  pushes.expect_push(push);
  std::jthread waiter([&] { wait_done(engine_, *push); });
  source_.answer(1);
  source_.let_go();
  lone.join();
  source_.answer(1);
  EXPECT_TRUE(test::eventually([&] { return reply->done(); }));
  pushes.push();
  waiter.join();
  engine_.detach(pushes);
}

TEST_F(EngineShortcut, DetachWaitsForALoneReader) { expect_detach_waits(source_); }

TEST_F(EngineShortcut, OfSeveralServersItSleepsForTheOneThatItHasAsked) {
  HeldUpSource other;
  engine_.attach(other);
  ask_and_wait();  // opens the way again
  const auto operation = std::make_shared<Check>();
  std::jthread lone = held_up(operation);
  EXPECT_FALSE(other.is_read_alone());
  // Who asks the other one comes behind, and is called.
  const auto behind = std::make_shared<Check>();
  other.request(behind);
  other.answer(1);
  std::jthread follower([&] { wait_done(engine_, *behind); });
  source_.answer(1);
  source_.let_go();
  lone.join();
  follower.join();
  engine_.detach(other);
}

TEST_F(EngineShortcut, WhatItLeavesBehindAtAnotherServerIsReadByTheBackground) {
  HeldUpSource other;
  engine_.attach(other);
  const BackgroundThread background(engine_);
  ask_and_wait();  // opens the way again
  ASSERT_TRUE(background.sleeps());
  const auto operation = std::make_shared<Check>();
  const auto left = std::make_shared<Check>();
  std::jthread lone = held_up(operation);
  other.request(left);  // nobody waits for it
  source_.answer(1);
  source_.let_go();
  lone.join();
  other.answer(1);
  EXPECT_TRUE(test::eventually([&] { return left->done(); }));
  engine_.detach(other);
}

TEST_F(EngineShortcut, WhereTwoOweRepliesBothAreRead) {
  HeldUpSource other;
  engine_.attach(other);
  ask_and_wait();
  const auto left = std::make_shared<Check>();
  const auto operation = std::make_shared<Check>();
  source_.request(left);
  source_.hold_up();  // who sleeps here is not let go
  other.request(operation);
  other.answer(1);
  std::jthread caller([&] { wait_done(engine_, *operation); });
  EXPECT_TRUE(test::eventually([&] { return operation->done(); }));
  EXPECT_FALSE(source_.is_read_alone());
  source_.let_go();
  caller.join();
  source_.answer(1);
  wait_done(engine_, *left);
  engine_.detach(other);
}

// The reader looks at each of them once more when it leaves.
TEST_F(EngineShortcut, DetachOfAnyOfThemWaitsForALoneReader) {
  HeldUpSource other;
  engine_.attach(other);
  ask_and_wait();
  expect_detach_waits(other);
}

TEST_F(EngineShortcut, WhatTheReadThrowsReachesItsCallerAndTheWayStaysOpen) {
  source_.throw_in_the_read();
  const auto operation = std::make_shared<Check>();
  source_.request(operation);
  source_.answer(1);
  EXPECT_THROW(wait_done(engine_, *operation), std::bad_alloc);
  wait_done(engine_, *operation);
  ask_and_wait();
}

TEST_F(EngineShortcut, NobodyIsForgottenWhoeverMeetsWhom) {
  const BackgroundThread background(engine_);
  constexpr int threads = 3;
  constexpr int rounds = 1'000;
  std::jthread server([&] { source_.answer(threads * rounds); });
  std::vector<std::jthread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const auto operation = std::make_shared<Check>();
        source_.request(operation);
        while (!operation->done()) {
          const std::uint32_t seen = operation->signal();
          if (operation->done()) break;
          const Instant before = BootClock::now();
          engine_.wait(*operation, seen, 10s);
          ASSERT_LT(BootClock::now() - before, 9s) << "a caller was forgotten";
        }
        // So that each is alone now and then.
        if (i % 16 == t) std::this_thread::sleep_for(200us);
      }
    });
  }
}

}  // namespace
}  // namespace mortise::runtime
