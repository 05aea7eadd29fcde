// SPDX-License-Identifier: MIT
// Goal: what a source offers for speed is used where it may be, and costs no request: requests that
// it keeps back are sent by whoever was answered last, and a caller sleeps in the read itself only
// if it has the time. Method: sources that count, over a socketpair.
#include "support/eventually.hpp"
#include "unit/engine_fixture.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace mortise::runtime {
namespace {

/// After several replies at once it keeps requests back until it is told to send them.
class GatheringSource final : public base::TunedSource {
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

/// Sleeps in the read itself, where it may.
class LingeringSource final : public base::TunedSource {
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
  // Who has not cannot be called back from there.
  const auto short_of_time = std::make_shared<Check>();
  wire.request(short_of_time);
  while (!short_of_time->done()) engine.wait(*short_of_time, short_of_time->signal(), 9ms);
  EXPECT_EQ(source.lingered(), 1);
  server.join();
  engine.detach(source);
}

/// Sleeps in the read in vain.
class IdleSource final : public base::TunedSource {
 public:
  static constexpr auto idle = 8ms;
  explicit IdleSource(EchoSource& wire) : wire_(wire) {}
  [[nodiscard]] int descriptor() const noexcept override { return wire_.descriptor(); }
  [[nodiscard]] short interest() const noexcept override { return wire_.interest(); }
  [[nodiscard]] bool pushes() const noexcept override { return false; }
  [[nodiscard]] bool linger() override {
    pollfd polled{.fd = wire_.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&polled, 1, static_cast<int>(idle.count()));
    return false;
  }
  void ready(short events, Instant now) override { wire_.ready(events, now); }

 private:
  EchoSource& wire_;
};

// Promise: L3
TEST(EngineTest, TheTimeSpentInTheReadIsAPartOfTheCallersTime) {
  Engine engine(Clock::real());
  EchoSource wire(false);
  IdleSource source(wire);
  engine.attach(source);
  const auto operation = std::make_shared<Check>();
  wire.request(operation);
  constexpr auto wait = 40ms;
  const auto over_run = test::best_of(20, IdleSource::idle / 4, [&] {
    return test::duration_of([&] { engine.wait(*operation, operation->signal(), wait); }) - wait;
  });
  EXPECT_LT(over_run, IdleSource::idle / 2);
  engine.detach(source);
}

}  // namespace
}  // namespace mortise::runtime
