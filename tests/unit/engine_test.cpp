// SPDX-License-Identifier: MIT
// Goal: whoever waits does the work: replies reach their callers, one thread polls, roles are
// handed on, and time-outs, pokes and pushes reach a thread that polls for others. Method: a source
// of our own over a socketpair, whose other end a thread answers in order.
#include "base/poll_sources.hpp"
#include "support/eventually.hpp"
#include "unit/engine_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

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

// Those who wait for real time look at it themselves: close() would never end beside a server that
// does not answer.
TEST(EngineTest, WhoeverReadsComesBackThoughTheClockInATestsHandStandsStill) {
  Engine engine(std::make_shared<ManualClock>());
  EchoSource source(false);
  engine.attach(source);
  const auto operation = std::make_shared<Check>();
  source.request(operation);
  std::atomic<bool> back{false};
  std::jthread reader([&] {
    engine.wait(*operation, operation->signal(), 50ms);
    back.store(true);
  });
  EXPECT_TRUE(test::eventually([&] { return back.load(); }, 5s));
  source.answer(1);
  reader.join();
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

/// Due at once; does what it is told to.
class DueSource final : public Source {
 public:
  explicit DueSource(std::function<void()> does) : does_(std::move(does)) {}
  [[nodiscard]] Instant due() const noexcept override { return Instant(); }
  void ready(short /*events*/, Instant /*now*/) override { does_(); }

 private:
  std::function<void()> does_;
};

// A backend at its end polls by itself, and leaves a server with its own mutex in its hands, which
// a reader that is inside of that server may want: close() had no end then.
TEST(EngineTest, WhoPollsWithoutTheEngineDetachesWithoutWaiting) {
  Engine engine(Clock::real());
  std::mutex of_the_backend;
  std::latch inside(1);
  std::latch detaching(1);
  DueSource server([&, first = true]() mutable {
    if (std::exchange(first, false)) {
      inside.count_down();
      detaching.wait();
    }
    const std::lock_guard lock(of_the_backend);
  });
  engine.attach(server);
  std::jthread reader([&] { engine.background(BootClock::now() + 1ms); });
  inside.wait();
  std::atomic<bool> left{false};
  DueSource answer([&] {
    const std::lock_guard lock(of_the_backend);
    detaching.count_down();
    engine.detach(server);
    left.store(true);
  });
  std::thread closer([&] { base::poll_sources({&answer}, *Clock::real(), BootClock::now()); });
  EXPECT_TRUE(test::eventually([&] { return left.load(); }, 5s)) << "each waits for the other";
  if (!left.load()) std::_Exit(1);  // nothing could end them
  closer.join();
  reader.join();
}

}  // namespace
}  // namespace mortise::runtime
