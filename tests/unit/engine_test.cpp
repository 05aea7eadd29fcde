// SPDX-License-Identifier: MIT
// Goal: whoever waits does the work: replies reach their callers, one thread polls, roles are
// handed on, and time-outs, pokes and pushes reach a thread that polls for others. Method: a source
// of our own over a socketpair, whose other end a thread answers in order.
#include "runtime/engine.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <latch>
#include <string>
#include <thread>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

/// Requests are bytes; each reply byte completes the oldest request.
class EchoSource final : public Source {
 public:
  explicit EchoSource(bool pushes) : pushes_(pushes) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    ours_ = pair[0];
    theirs_ = pair[1];
  }
  ~EchoSource() override {
    ::close(ours_);
    ::close(theirs_);
  }
  EchoSource(const EchoSource&) = delete;
  EchoSource& operator=(const EchoSource&) = delete;

  void request(const std::shared_ptr<Check>& operation) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(operation);
    EXPECT_EQ(::write(ours_, "?", 1), 1);
  }
  /// The other end: answers `count` requests.
  void answer(int count) const {
    char byte = 0;
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(::read(theirs_, &byte, 1), 1);
      ASSERT_EQ(::write(theirs_, "!", 1), 1);
    }
  }
  void push() const { EXPECT_EQ(::write(theirs_, "!", 1), 1); }
  void expect_push(const std::shared_ptr<Check>& operation) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(operation);
  }

  [[nodiscard]] int descriptor() const noexcept override { return ours_; }
  [[nodiscard]] short interest() const noexcept override { return POLLIN; }
  [[nodiscard]] bool pushes() const noexcept override { return pushes_; }
  [[nodiscard]] bool outstanding() const noexcept override {
    const std::lock_guard lock(mutex_);
    return !asked_.empty();
  }
  void ready(short events, Instant /*now*/) override {
    EXPECT_EQ(inside_.fetch_add(1), 0) << "two threads inside one source";
    if ((events & POLLIN) != 0) {
      char replies[64];
      const ssize_t got = ::recv(ours_, replies, sizeof replies, MSG_DONTWAIT);
      for (ssize_t i = 0; i < got; ++i) complete_oldest();
    }
    inside_.fetch_sub(1);
  }

 private:
  void complete_oldest() {
    std::shared_ptr<Check> oldest;
    {
      const std::lock_guard lock(mutex_);
      oldest = asked_.front();
      asked_.pop_front();
    }
    oldest->answered();
  }

  const bool pushes_;
  int ours_ = -1;
  int theirs_ = -1;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Check>> asked_;
  std::atomic<int> inside_{0};
};

void wait_done(Engine& engine, Operation& operation) {
  while (!operation.done()) {
    const std::uint32_t seen = operation.signal();
    if (!operation.done()) engine.wait(operation, seen, 10s);
  }
}

TEST(EngineTest, ALoneCallerReadsItsOwnReply) {
  Engine engine(Clock::real());
  EchoSource source(false);
  engine.attach(source);
  std::thread server([&] { source.answer(100); });
  for (int i = 0; i < 100; ++i) {
    const auto operation = std::make_shared<Check>();
    source.request(operation);
    wait_done(engine, *operation);
  }
  server.join();
  engine.detach(source);
}

TEST(EngineTest, ManyCallersShareOneReaderAndNoneIsForgotten) {
  Engine engine(Clock::real());
  EchoSource source(false);
  engine.attach(source);
  constexpr int threads = 16;
  constexpr int rounds = 300;
  std::thread server([&] { source.answer(threads * rounds); });
  std::vector<std::jthread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const auto operation = std::make_shared<Check>();
        source.request(operation);
        wait_done(engine, *operation);
      }
    });
  }
  callers.clear();
  server.join();
  engine.detach(source);
}

/// After several replies at once it keeps requests back until it is told to send them.
class GatheringSource final : public Source {
 public:
  explicit GatheringSource(EchoSource& wire) : wire_(wire) {}

  void request(const std::shared_ptr<Check>& operation) {
    const std::lock_guard lock(mutex_);
    if (!gathering_.load()) {
      wire_.request(operation);
    } else {
      kept_.push_back(operation);
      most_kept_ = std::max(most_kept_, kept_.size());
    }
  }
  [[nodiscard]] std::size_t most_kept() const noexcept { return most_kept_; }

  [[nodiscard]] int descriptor() const noexcept override { return wire_.descriptor(); }
  [[nodiscard]] short interest() const noexcept override { return wire_.interest(); }
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override { return wire_.outstanding(); }
  void ready(short events, Instant now) override {
    {
      const std::lock_guard lock(mutex_);
      gathering_.store(true);
    }
    wire_.ready(events, now);
  }
  [[nodiscard]] bool gathering() const noexcept override { return gathering_.load(); }
  void send_gathered() override {
    const std::lock_guard lock(mutex_);
    gathering_.store(false);
    for (const std::shared_ptr<Check>& operation : kept_) wire_.request(operation);
    kept_.clear();
  }

 private:
  EchoSource& wire_;
  std::mutex mutex_;
  std::atomic<bool> gathering_{false};
  std::deque<std::shared_ptr<Check>> kept_;
  std::size_t most_kept_ = 0;
};

TEST(EngineTest, WhatIsKeptBackIsSentByTheLastWhoWasAnswered) {
  Engine engine(Clock::real());
  EchoSource wire(false);
  GatheringSource source(wire);
  engine.attach(source);
  constexpr int threads = 8;
  constexpr int rounds = 300;
  std::atomic<int> answered{0};
  std::thread server([&] { wire.answer(threads * rounds); });
  std::vector<std::jthread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const auto operation = std::make_shared<Check>();
        source.request(operation);
        while (!operation->done()) {
          const std::uint32_t seen = operation->signal();
          if (operation->done()) break;
          const Instant before = BootClock::now();
          engine.wait(*operation, seen, 10s);
          // Nobody else sends it, so that it would be answered never, and not late.
          ASSERT_LT(BootClock::now() - before, 9s) << "a request was kept back for ever";
        }
        answered.fetch_add(1);
      }
    });
  }
  callers.clear();
  EXPECT_EQ(answered.load(), threads * rounds);
  EXPECT_GT(source.most_kept(), 1U);
  source.send_gathered();  // where the test has failed, so that the server ends
  server.join();
  engine.detach(source);
}

TEST(EngineTest, WithNobodyElseAnsweredTheLeaderSendsAtOnce) {
  Engine engine(Clock::real());
  EchoSource wire(false);
  GatheringSource source(wire);
  engine.attach(source);
  std::thread server([&] { wire.answer(1); });
  const auto operation = std::make_shared<Check>();
  source.request(operation);
  wait_done(engine, *operation);
  EXPECT_FALSE(source.gathering());
  server.join();
  engine.detach(source);
}

TEST(EngineTest, ATimeOutReachesTheLeader) {
  Engine engine(Clock::real());
  EchoSource source(false);
  engine.attach(source);
  const auto operation = std::make_shared<Check>();
  source.request(operation);
  const auto began = std::chrono::steady_clock::now();
  engine.wait(*operation, operation->signal(), 20ms);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  EXPECT_FALSE(operation->done());
  engine.detach(source);
}

TEST(EngineTest, APokeReachesTheLeaderWhileItPolls) {
  Engine engine(Clock::real());
  EchoSource source(false);
  engine.attach(source);
  const auto operation = std::make_shared<Check>();
  source.request(operation);
  std::latch waiting(1);
  std::thread caller([&] {
    const std::uint32_t seen = operation->signal();
    waiting.count_down();
    engine.wait(*operation, seen, 60s);  // ends early or the test hangs into its time limit
  });
  waiting.wait();
  operation->poke();
  caller.join();
  engine.detach(source);
}

TEST(EngineTest, TheBackgroundReadsWhatNoCallerWaitsFor) {
  Engine engine(Clock::real());
  EchoSource source(false);
  engine.attach(source);
  std::atomic<bool> stop{false};
  std::thread background([&] {
    while (!stop.load()) engine.background(never);
  });
  const auto operation = std::make_shared<Check>();
  source.request(operation);
  engine.wait(*operation, operation->signal(), 0ns);  // a caller that gives up at once
  source.answer(1);
  for (std::uint32_t seen = operation->signal(); !operation->done(); seen = operation->signal()) {
    operation->sleep(seen, 10s);
  }
  stop.store(true);
  engine.interrupt();
  background.join();
  engine.detach(source);
}

TEST(EngineTest, PushesAreReadByTheBackgroundWhileCallersWaitForReplies) {
  Engine engine(Clock::real());
  EchoSource replies(false);
  EchoSource pushes(true);
  engine.attach(replies);
  engine.attach(pushes);
  std::atomic<bool> stop{false};
  std::thread background([&] {
    while (!stop.load()) engine.background(never);
  });
  const auto pushed = std::make_shared<Check>();
  pushes.expect_push(pushed);
  pushes.push();
  wait_done(engine, *pushed);  // leads on the replies; the push completes it from outside
  stop.store(true);
  engine.interrupt();
  background.join();
  engine.detach(replies);
  engine.detach(pushes);
}

TEST(EngineTest, PushesThatACallerHasLeftAreReadSoon) {
  Engine engine(Clock::real());
  EchoSource replies(false);
  EchoSource pushes(true);
  engine.attach(replies);
  engine.attach(pushes);
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread background([&] {
    for (; !stop.load(); rounds.fetch_add(1)) engine.background(never);
  });
  // A caller looks for pushes itself, and the background thread leaves them to it.
  const auto left = std::make_shared<Check>();
  std::thread caller([&] { engine.wait(*left, left->signal(), 10s); });
  const Instant until = BootClock::now() + 10s;
  while (rounds.load() == 0 && BootClock::now() < until) std::this_thread::yield();
  EXPECT_GT(rounds.load(), 0);
  left->poke();
  caller.join();
  const auto pushed = std::make_shared<Check>();
  pushes.expect_push(pushed);
  pushes.push();
  pushed->sleep(pushed->signal(), 5s);
  EXPECT_TRUE(pushed->done());
  stop.store(true);
  engine.interrupt();
  background.join();
  engine.detach(replies);
  engine.detach(pushes);
}

/// Sleeps in the read itself, where it may.
class LingeringSource final : public Source {
 public:
  explicit LingeringSource(EchoSource& wire) : wire_(wire) {}
  [[nodiscard]] int lingered() const noexcept { return lingered_.load(); }
  [[nodiscard]] int descriptor() const noexcept override { return wire_.descriptor(); }
  [[nodiscard]] short interest() const noexcept override { return wire_.interest(); }
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool outstanding() const noexcept override { return wire_.outstanding(); }
  [[nodiscard]] bool linger() override {
    lingered_.fetch_add(1);
    pollfd polled{.fd = wire_.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, 5000) != 1) return false;
    wire_.ready(POLLIN, BootClock::now());
    return true;
  }
  void ready(short events, Instant now) override { wire_.ready(events, now); }

 private:
  EchoSource& wire_;
  std::atomic<int> lingered_{0};
};

TEST(EngineTest, WhoHasTimeSleepsInTheReadItself) {
  Engine engine(Clock::real());
  EchoSource wire(false);
  LingeringSource source(wire);
  engine.attach(source);
  std::thread server([&] { wire.answer(2); });
  const auto operation = std::make_shared<Check>();
  wire.request(operation);
  wait_done(engine, *operation);
  EXPECT_EQ(source.lingered(), 1);
  // Who has not can not be called back from there.
  const auto short_of_time = std::make_shared<Check>();
  wire.request(short_of_time);
  while (!short_of_time->done()) engine.wait(*short_of_time, short_of_time->signal(), 9ms);
  EXPECT_EQ(source.lingered(), 1);
  server.join();
  engine.detach(source);
}

TEST(EngineTest, InterruptIsRememberedWhenItComesFirst) {
  Engine engine(Clock::real());
  engine.interrupt();
  engine.background(never);
  engine.background(BootClock::now() + 1ms);
}

TEST(EngineTest, DetachWaitsForThreadsInsideTheSource) {
  Engine engine(Clock::real());
  auto source = std::make_unique<EchoSource>(true);
  engine.attach(*source);
  std::atomic<bool> stop{false};
  std::thread background([&] {
    while (!stop.load()) engine.background(never);
  });
  for (int i = 0; i < 200; ++i) {
    const auto operation = std::make_shared<Check>();
    source->expect_push(operation);
    source->push();
    while (!operation->done()) std::this_thread::yield();
    engine.detach(*source);
    source = std::make_unique<EchoSource>(true);  // a use after this would be seen by a sanitizer
    engine.attach(*source);
  }
  engine.detach(*source);
  stop.store(true);
  engine.interrupt();
  background.join();
}

}  // namespace
}  // namespace mortise::runtime
