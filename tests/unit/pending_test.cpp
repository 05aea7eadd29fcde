// SPDX-License-Identifier: MIT
// Goal: a call without a thread begins once, is stepped by one thread at a time, and ends once; its
// handler runs on its executor, or is destroyed. Method: calls on the memory backend, executors of
// the test's own, and calls that the test steps itself.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "model/relay.hpp"
#include "model/temporary.hpp"
#include "runtime/call/pending_call.hpp"
#include "runtime/client/client_state.hpp"
#include "support/detached.hpp"
#include "support/eventually.hpp"
#include "support/fork_inside.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;
using test::driven_until;
using test::eventually;

class ReadyListTest : public ::testing::Test {
 protected:
  ReadyListTest() { state->start(); }
  ~ReadyListTest() override { state->close(); }

  memory::Server server;
  const std::shared_ptr<ClientState> state =
      std::make_shared<ClientState>(server.backend(), ClientOptions());
};

/// Calls a function of the test at each step.
class Stepped final : public PendingCall {
 public:
  using Step = std::function<bool(Stepped&)>;
  Stepped(std::shared_ptr<ClientState> client, Step step)
      : PendingCall(std::move(client)), step_(std::move(step)) {}

  std::atomic<int> steps{0};
  std::atomic<int> inside{0};
  std::atomic<int> most_inside{0};
  std::atomic<bool> over{false};
  std::atomic<int> ends_delivered{0};
  std::atomic<Instant> moment{never};
  int refusals = 0;  // of the next starts
  [[nodiscard]] bool ends() const noexcept { return must_end(); }
  [[nodiscard]] bool stops() const noexcept { return is_given_up(); }

 private:
  void begin() override {
    if (refusals-- > 0) throw std::bad_alloc();
  }
  bool step() noexcept override {
    if (++inside > 1) most_inside = 2;
    ++steps;
    const bool ends = step_(*this);
    --inside;
    return ends;
  }
  [[nodiscard]] Instant again() const noexcept override { return moment; }
  void deliver(detail::Handler* /*handler*/) noexcept override {
    ++ends_delivered;
    over = true;
  }

  const Step step_;
};

TEST_F(ReadyListTest, ACallThatIsRungDuringAStepIsSteppedAgain) {
  const auto call = std::make_shared<Stepped>(state, [](Stepped& self) {
    if (self.steps == 3) return true;
    self.wake();
    return false;
  });
  call->start(nullptr, nullptr);
  EXPECT_TRUE(eventually([&] { return call->over.load(); }));
  EXPECT_EQ(call->steps, 3);
  EXPECT_TRUE(eventually([&] { return state->store().ready().idle(); }));
}

TEST_F(ReadyListTest, ACallIsSteppedWhenItsTimeHasCome) {
  const auto call = std::make_shared<Stepped>(state, [](Stepped& self) {
    if (self.steps == 2) return true;
    self.moment = BootClock::now() + 20ms;
    return false;
  });
  const Instant began = BootClock::now();
  call->start(nullptr, nullptr);
  EXPECT_TRUE(eventually([&] { return call->over.load(); }));
  EXPECT_GE(BootClock::now() - began, 20ms);
}

TEST_F(ReadyListTest, OneThreadIsInsideWhoeverRings) {
  std::atomic<bool> ends{false};
  const auto call = std::make_shared<Stepped>(state, [&](Stepped&) { return ends.load(); });
  call->start(nullptr, nullptr);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2'000; ++i) call->wake();
      });
    }
  }
  ends = true;
  call->wake();
  EXPECT_TRUE(eventually([&] { return call->over.load(); }));
  EXPECT_EQ(call->most_inside, 0);
  call->wake();  // it is over
  EXPECT_TRUE(eventually([&] { return call.use_count() == 1; })) << "something keeps it";
}

TEST_F(ReadyListTest, ACallThatCouldNotBeginMayBegin) {
  const auto call = std::make_shared<Stepped>(state, [](Stepped& self) { return self.stops(); });
  std::stop_source stop;
  call->stop_by(stop.get_token());
  call->refusals = 2;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(call->start(nullptr, nullptr), std::bad_alloc);
  EXPECT_TRUE(state->store().ready().idle());
  call->start(nullptr, nullptr);
  EXPECT_TRUE(eventually([&] { return call->steps > 0; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return call->over.load(); }));
}

// A server that stands still must not keep a call beyond the end of its client.
TEST_F(ReadyListTest, ACallThatNothingRingsEndsWithItsClient) {
  const auto call = std::make_shared<Stepped>(state, [](Stepped& self) { return self.ends(); });
  call->start(nullptr, nullptr);
  EXPECT_TRUE(eventually([&] { return call->steps > 0; }));
  state->close();
  EXPECT_TRUE(eventually([&] { return call->over.load(); }));
  EXPECT_TRUE(eventually([&] { return call.use_count() == 1; })) << "something keeps it";
}

/// Throws always.
class Full final : public Executor {
 public:
  void post(Completion /*completion*/) override { throw std::runtime_error("no room"); }
};

// A stop request may ring a call that is over, and waits for its executor.
TEST_F(ReadyListTest, ACallThatIsRungWhileItsExecutorThrowsEndsOnce) {
  Full executor;
  const auto call = std::make_shared<Stepped>(state, [](Stepped&) { return true; });
  call->start(nullptr, &executor);
  EXPECT_TRUE(eventually([&] { return call->steps == 1; }));
  std::atomic<bool> rings{true};
  std::jthread thread([&] {
    while (rings) call->wake();
  });
  state->close();
  rings = false;
  thread.join();
  EXPECT_EQ(call->steps, 1);
  EXPECT_EQ(call->ends_delivered, 1);
  EXPECT_TRUE(eventually([&] { return call.use_count() == 1; })) << "something keeps it";
}

class PendingTest : public ::testing::Test {
 protected:
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(server.backend(), std::move(options));
  }
  memory::Server server;
};

constexpr Drive each_drive[] = {Drive::threads, Drive::program};

/// Throws a few times, then runs completions in threads of its own.
class Unsteady final : public Executor {
 public:
  explicit Unsteady(int throws) : throws_(throws) {}
  void post(Completion completion) override {
    if (throws_-- > 0) throw std::runtime_error("no room");
    threads_.emplace_back([kept = std::move(completion)]() mutable { kept(); });
  }
  /// Its threads cannot wait for themselves, so none may have the last reference to it.
  void join() { threads_.clear(); }

 private:
  std::atomic<int> throws_;
  std::vector<std::jthread> threads_;
};

TEST_F(PendingTest, AnExecutorThatThrowsGetsTheCompletionAgain) {
  for (const Drive drive : each_drive) {
    const auto executor = std::make_shared<Unsteady>(3);
    Client one = client({.drive = drive, .executor = executor});
    std::atomic<int> ran{0};
    one.make_lock("name").acquire_async().start(
        [&](const Guard& guard) { ran += guard ? 1 : 100; });
    EXPECT_TRUE(driven_until(one, [&] { return ran > 0; }));
    EXPECT_EQ(ran, 1);
    one.close();
    executor->join();
  }
}

TEST_F(PendingTest, ACallThatIsNotStartedDoesNothing) {
  Client one = client();
  Lock lock = one.make_lock("name");
  static_cast<void>(lock.acquire_async());
  Pending<Guard> pending = lock.acquire_async();
  pending = lock.acquire_async();
  EXPECT_EQ(server.requests(), 0U);
}

TEST_F(PendingTest, AHandlerMayHoldWhatCannotBeCopied) {
  Client one = client();
  std::atomic<int> value{0};
  one.make_lock("name").acquire_async().start(
      [&value, kept = std::make_unique<int>(7)](Guard) { value = *kept; });
  EXPECT_TRUE(eventually([&] { return value == 7; }));
}

// No mutex of the library is held while a handler runs.
TEST_F(PendingTest, AHandlerMayCallEverything) {
  for (const Drive drive : each_drive) {
    std::optional<Client> one(client({.drive = drive}));
    std::atomic<bool> over{false};
    one->make_lock("name").acquire_async().start([&](Guard guard) {
      EXPECT_TRUE(guard);
      EXPECT_FALSE(one->make_lock("name").try_lock());
      EXPECT_EQ(one->poll(), 0U);
      EXPECT_EQ(guard.unlock(), Released::released);
      EXPECT_TRUE(one->make_lock("name").try_lock());
      one->close();
      over = true;
    });
    EXPECT_TRUE(driven_until(*one, [&] { return over.load(); }));
  }
}

TEST_F(PendingTest, AHandlerMayDestroyTheClientThatRunsIt) {
  for (const Drive drive : each_drive) {
    auto one = std::make_shared<std::optional<Client>>(client({.drive = drive}));
    const auto over = std::make_shared<std::atomic<bool>>(false);
    (*one)->make_lock("name").acquire_async().start([one, over](const Guard&) {
      one->reset();
      *over = true;
    });
    if (drive == Drive::program) {
      for (int i = 0; i < 100 && !*over; ++i) (*one)->poll();
    }
    EXPECT_TRUE(eventually([&] { return over->load(); }));
    EXPECT_TRUE(client().make_lock("name").try_lock());
  }
}

/// Keeps one completion.
class Shelf final : public Executor {
 public:
  void post(Completion completion) override {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(completion);
    full_ = true;
  }
  [[nodiscard]] bool is_full() {
    const std::lock_guard lock(mutex_);
    return full_;
  }
  void run() { kept_(); }

 private:
  std::mutex mutex_;
  bool full_ = false;
  Completion kept_;
};

TEST_F(PendingTest, ACoroutineThatIsDestroyedBeforeItsCompletionRunsIsNotContinued) {
  for (const Drive drive : each_drive) {
    Shelf shelf;
    Client one = client({.drive = drive});
    bool went_on = false;
    const auto close = [&]() -> test::Owned {
      co_await one.close_async().on(shelf);
      went_on = true;
    };
    {
      const test::Owned closing = close();
      ASSERT_TRUE(driven_until(one, [&] { return shelf.is_full(); }));
    }
    shelf.run();
    EXPECT_FALSE(went_on);
  }
}

// A stepped close needs poll(), and the thread that would call it is inside of a callback.
TEST_F(PendingTest, ACallbackOfPollMayDestroyAClientThatIsClosing) {
  std::optional<Client> one(client({.drive = Drive::program}));
  bool destroyed = false;
  std::optional<Guard> held;
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  one->make_lock("name").acquire_async().start([&](Guard guard) {
    held = std::move(guard);
    on_loss.emplace(held->lost(), [&] {
      one.reset();
      destroyed = true;
    });
  });
  ASSERT_TRUE(driven_until(*one, [&] { return held.has_value(); }));
  one->close_async().start();
  for (int i = 0; i < 5'000 && !destroyed; ++i) {
    one->poll();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(destroyed);
}

// Promise: S9
TEST_F(PendingTest, ACallbackOfPollMayForkAndComeBackInTheChild) {
  class Witness final : public Observer {
   public:
    void lost(const Event& /*event*/, const Failure& /*why*/) noexcept override { ++losses; }
    int losses = 0;
  };
  const auto witness = std::make_shared<Witness>();
  const auto clock = std::make_shared<ManualClock>();
  Client one = client({.observer = witness, .clock = clock, .drive = Drive::program});
  const pid_t parent = ::getpid();
  int status = -1;
  int callbacks = 0;
  const auto on_loss = [&] {
    if (++callbacks > 1) return;
    const pid_t child = ::fork();
    if (child == 0) return static_cast<void>(::alarm(10));
    EXPECT_EQ(::waitpid(child, &status, 0), child);
  };
  std::vector<Guard> held;
  for (const char* const name : {"one", "two"}) {
    Lock lock = one.make_lock(name, {.lease = 1s, .renew = false});
    lock.acquire_async().start([&](Guard guard) { held.push_back(std::move(guard)); });
  }
  ASSERT_TRUE(driven_until(one, [&] { return held.size() == 2; }));
  const std::stop_callback first(held[0].lost(), on_loss);
  const std::stop_callback second(held[1].lost(), on_loss);
  clock->advance(1s);
  for (int i = 0; i < 100 && callbacks == 0; ++i) one.poll();
  if (::getpid() != parent) {
    const bool knows = one.capabilities().leases != Support::unknown;
    one.poll();
    one.close();
    ::_exit(callbacks > 1 ? 1 : witness->losses > 0 ? 2 : knows ? 3 : 0);
  }
  EXPECT_EQ(status, 0) << "the child reports its parent's losses, or hangs";
  EXPECT_TRUE(driven_until(one, [&] { return callbacks == 2 && witness->losses == 2; }));
}

/// Forks at its first completion, and comes back in the child.
class Forking final : public Executor {
 public:
  void post(Completion completion) override {
    kept_ = std::move(completion);
    if (const std::optional<int> ended_with = test::fork_inside()) status = *ended_with;
  }
  /// The completion refers to the client, and the client to this object.
  void forget() { kept_ = Completion(); }
  std::atomic<int> status{-1};

 private:
  Completion kept_;
};

// Promise: S9
TEST_F(PendingTest, TheThreadOfAnExecutorThatForksEndsInTheChild) {
  const auto executor = std::make_shared<Forking>();
  Client one = client({.executor = executor});
  one.make_lock("name").acquire_async().start([](const Guard&) {});
  EXPECT_TRUE(eventually([&] { return executor->status != -1; }));
  EXPECT_EQ(executor->status, 0) << "the child goes on as its parent's thread, or hangs";
  executor->forget();
}

// It counts as one of those that the close waits for.
TEST_F(PendingTest, AnObserverOfAWaitMayCloseItsClient) {
  struct Closes final : Observer {
    void waits(const Event& /*event*/) noexcept override { client->close(); }
    Client* client = nullptr;
  };
  Client other = client();
  Lock lock = other.make_lock("name");
  lock.lock();
  for (const Drive drive : each_drive) {
    const auto observer = std::make_shared<Closes>();
    Client one = client({.observer = observer, .drive = drive});
    observer->client = &one;
    EXPECT_LT(test::own_duration_of(
                  [&] { one.make_lock("name").acquire_async().start([](const Guard&) {}); }),
              600ms);
    EXPECT_TRUE(one.is_closed());
  }
  lock.unlock();
}

/// Closes its client while the client waits for it.
class Impatient final : public Executor {
 public:
  void post(Completion completion) override {
    kept_.push_back(std::move(completion));
    client->close();
    ++posts;
  }
  Client* client = nullptr;
  int posts = 0;

 private:
  std::vector<Completion> kept_;
};

TEST_F(PendingTest, AnExecutorMayCloseAClientThatClosesInSteps) {
  Client one = client({.drive = Drive::program});
  Impatient executor;
  executor.client = &one;
  one.make_lock("name").acquire_async().on(executor).start([](const Guard&) {});
  one.close_async().start();
  EXPECT_TRUE(driven_until(one, [&] { return one.is_closed(); }));
  EXPECT_EQ(executor.posts, 1);
}

TEST(LoopTest, NewsOfAnotherThreadWakeTheLoop) {
  memory::Server server;
  const auto state =
      std::make_shared<ClientState>(server.backend(), ClientOptions{.drive = Drive::program});
  state->start();
  const auto is_readable = [&] {
    pollfd readable{.fd = state->loop()->descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, 0) == 1;
  };
  while (is_readable()) state->loop()->poll(1);
  bool told = false;
  state->announcements().tell_observer([&] { told = true; });
  EXPECT_TRUE(is_readable()) << "the loop sleeps";
  state->loop()->poll(1);
  EXPECT_TRUE(told);
  state->close();
}

TEST_F(PendingTest, AnExecutorThatThrowsForeverKeepsNoHandler) {
  for (const Drive drive : each_drive) {
    const auto witness = std::make_shared<int>(0);
    {
      Client one = client({.drive = drive, .executor = std::make_shared<Full>()});
      one.make_lock("name").acquire_async().start([witness](const Guard&) {});
      one.poll();
      EXPECT_EQ(witness.use_count(), 2);
      one.close_async().start([witness](Closed) {});
    }
    EXPECT_TRUE(eventually([&] { return witness.use_count() == 1; }));
  }
}

/// Takes no completion, as a pool that is shut down.
class Shut final : public Executor {
 public:
  void post(Completion /*completion*/) override {}
};

/// Destroys a client.
struct Keeper {
  std::shared_ptr<std::optional<Client>> client;
  std::shared_ptr<std::atomic<bool>> gone;
  explicit Keeper(std::shared_ptr<std::optional<Client>> kept,
                  std::shared_ptr<std::atomic<bool>> done)
      : client(std::move(kept)), gone(std::move(done)) {}
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() {
    client->reset();
    *gone = true;
  }
};

// The thread of the watchdog runs no code of the program.
TEST_F(PendingTest, AHandlerThatItsExecutorRefusesMayDestroyTheClient) {
  Shut shut;
  for (const Drive drive : each_drive) {
    auto one = std::make_shared<std::optional<Client>>(client({.drive = drive}));
    const auto gone = std::make_shared<std::atomic<bool>>(false);
    Lock lock = (*one)->make_lock("name");
    const int descriptor = (*one)->descriptor();
    lock.acquire_async().on(shut).start(
        [keeper = std::make_unique<Keeper>(one, gone)](const Guard&) { FAIL(); });
    for (int i = 0; descriptor >= 0 && i < 100 && !*gone; ++i) (*one)->poll();
    EXPECT_TRUE(eventually([&] { return gone->load(); }));
    EXPECT_TRUE(client().make_lock("name").try_lock_for(5s));
  }
}

TEST_F(PendingTest, ADestroyedCoroutineUsesItsExecutorNoMore) {
  for (const Drive drive : each_drive) {
    Client holder = client();
    Lock held = holder.make_lock("name");
    held.lock();
    Shelf shelf;
    Client one = client({.drive = drive});
    const auto wait = [&]() -> test::Owned {
      const Guard guard = co_await one.make_lock("name").acquire_async().on(shelf);
    };
    {
      const test::Owned waits = wait();
      one.poll();
    }
    held.unlock();
    EXPECT_TRUE(driven_until(one, [&] { return held.try_lock(); }));
    one.close();
    EXPECT_FALSE(shelf.is_full());
    held.unlock();
  }
}

/// Ends when the program has driven the client.
class SlowToStop final : public model::Relay {
 public:
  SlowToStop(std::unique_ptr<Backend> behind, const std::atomic<int>& polls)
      : Relay(std::move(behind)), polls_(polls) {}
  void stop() noexcept override {
    EXPECT_TRUE(eventually([&] { return polls_ > 0; }));
    Relay::stop();
  }

 private:
  const std::atomic<int>& polls_;
};

TEST_F(PendingTest, TheDescriptorWakesALoopThatWaitsForTheEndOfTheClient) {
  std::atomic<int> polls{0};
  Client one(std::make_unique<SlowToStop>(server.backend(), polls), {.drive = Drive::program});
  const auto is_readable = [&](int milliseconds) {
    pollfd readable{.fd = one.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, milliseconds) == 1;
  };
  while (is_readable(0)) one.poll();  // from here on only the close wakes the loop
  const std::jthread closer([&] { one.close(); });
  while (!one.is_closed()) {
    ASSERT_TRUE(is_readable(20'000)) << "the loop sleeps";
    one.poll();
    ++polls;
  }
}

TEST_F(PendingTest, AHandlerThatNoLoopCanRunIsDestroyed) {
  std::optional<Client> one(client({.drive = Drive::program}));
  const auto witness = std::make_shared<int>(0);
  bool ran = false;
  Pending<Closed> late = one->close_async();
  one.reset();
  std::move(late).start([&ran, witness](Closed) { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(witness.use_count(), 1);
}

// Promise: S9
TEST_F(PendingTest, EachCallThatClosesEnds) {
  for (const Drive drive : each_drive) {
    Client one = client({.drive = drive});
    std::atomic<int> over{0};
    for (int i = 0; i < 3; ++i) one.close_async().start([&](Closed) { ++over; });
    EXPECT_TRUE(driven_until(one, [&] { return over == 3; }));
    EXPECT_TRUE(one.is_closed());
    one.close_async().start([&](Closed) { ++over; });
    EXPECT_TRUE(driven_until(one, [&] { return over == 4; }));
  }
}

// Promise: S6
TEST_F(PendingTest, AClosedClientHasLostItsHolds) {
  for (const Drive drive : each_drive) {
    Client one = client({.drive = drive});
    std::optional<Guard> held;
    std::atomic<bool> came{false};
    one.make_lock(drive == Drive::threads ? "a" : "b").acquire_async().start([&](Guard guard) {
      held = std::move(guard);
      came = true;
    });
    ASSERT_TRUE(driven_until(one, [&] { return came.load(); }));
    one.close();
    std::atomic<int> lost{-1};
    held->lost_async().start([&](bool was_lost) { lost = was_lost ? 1 : 0; });
    EXPECT_TRUE(driven_until(one, [&] { return lost >= 0; }));
    EXPECT_EQ(lost, 1);
  }
}

/// Answers no release.
class Deaf final : public model::Relay {
 public:
  using Relay::Relay;
  void release(const std::shared_ptr<Release>& /*operation*/) override {}
};

// Promise: L4, S9
TEST_F(PendingTest, AnUnlockWithoutAnAnswerEndsWithItsClient) {
  for (const Drive drive : each_drive) {
    Client one(std::make_unique<Deaf>(server.backend()), {.drive = drive});
    std::optional<Guard> held;
    std::atomic<bool> came{false};
    one.make_lock(drive == Drive::threads ? "a" : "b").acquire_async().start([&](Guard guard) {
      held = std::move(guard);
      came = true;
    });
    ASSERT_TRUE(driven_until(one, [&] { return came.load(); }));
    std::atomic<int> outcome{-1};
    held->unlock_async().start([&](Released found) { outcome = static_cast<int>(found); });
    one.poll();
    one.close();
    EXPECT_TRUE(driven_until(one, [&] { return outcome >= 0; }));
    EXPECT_EQ(outcome, static_cast<int>(Released::unknown));
  }
}

/// Cannot ask, the first time.
class OutOfMemory final : public model::Relay {
 public:
  using Relay::Relay;
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    if (!std::exchange(threw_, true)) throw std::bad_alloc();
    Relay::acquire(operation);
  }

 private:
  bool threw_ = false;
};

TEST_F(PendingTest, ACallThatFailsForWantOfMemoryLeavesTheQueue) {
  for (const Drive drive : each_drive) {
    Client one(std::make_unique<OutOfMemory>(server.backend()), {.drive = drive});
    std::atomic<int> over{0};
    std::error_code first;
    bool second = false;
    one.make_lock("name").acquire_async().start([&](const Guard& guard) {
      first = guard.error();
      ++over;
    });
    one.make_lock("name").acquire_async().start([&](const Guard& guard) {
      second = static_cast<bool>(guard);
      ++over;
    });
    EXPECT_TRUE(driven_until(one, [&] { return over == 2; }));
    EXPECT_EQ(first, Errc::exhausted);
    EXPECT_TRUE(second);
  }
}

TEST_F(PendingTest, AHandlerThatForksDrivesNothingInTheChild) {
  Client one = client({.drive = Drive::program});
  int ran = 0;
  pid_t child = -1;
  for (int i = 0; i < 2; ++i) {
    one.make_lock(i == 0 ? "a" : "b").acquire_async().start([&](const Guard&) {
      if (++ran == 1) child = ::fork();
    });
  }
  const pid_t self = ::getpid();
  while (ran == 0) one.poll();
  if (::getpid() != self) ::_exit(ran == 1 && one.poll() == 0 ? 0 : 1);
  EXPECT_TRUE(driven_until(one, [&] { return ran == 2; }));
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0);
}

/// Counts waits and holds.
struct Counter final : Observer {
  void waits(const Event&) noexcept override { ++began; }
  void wait_ended(const Event&, const Failure& why) noexcept override { ++(why ? failed : ended); }
  void granted(const Event&) noexcept override { ++grants; }
  void released(const Event&, Released) noexcept override { ++releases; }
  std::atomic<int> began{0};
  std::atomic<int> ended{0};
  std::atomic<int> failed{0};
  std::atomic<int> grants{0};
  std::atomic<int> releases{0};
};

TEST_F(PendingTest, TheObserverLearnsOfEachWaitAndItsEnd) {
  for (const Drive drive : each_drive) {
    const auto counter = std::make_shared<Counter>();
    Client holder = client();
    Client one = client({.observer = counter, .drive = drive});
    Lock held = holder.make_lock("name");
    held.lock();
    std::atomic<int> over{0};
    one.make_lock("name").acquire_async({.wait = 500ms}).start([&](const Guard&) { ++over; });
    one.make_lock("name").acquire_async().start([&](const Guard&) { ++over; });
    EXPECT_EQ(counter->began, 2);
    EXPECT_TRUE(driven_until(one, [&] { return over == 1; }));
    EXPECT_EQ(counter->failed, 1);
    held.unlock();
    EXPECT_TRUE(driven_until(one, [&] { return over == 2; }));
    EXPECT_EQ(counter->ended, 1);
    EXPECT_EQ(counter->grants, 1);
    EXPECT_TRUE(eventually([&] { return counter->releases == 1; }));
  }
}

TEST_F(PendingTest, AThreadIsRefusedAsTheOwner) {
  Client one = client();
  Lock lock = one.make_lock("name");
  try {
    static_cast<void>(lock.acquire_async({.owner = Owner::this_thread()}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::misconfigured);
  }
  Guard empty;
  EXPECT_THROW(static_cast<void>(empty.unlock_async()), Error);
}

TEST_F(PendingTest, AStoreWhoseWaitersNeedThreadsSaysSo) {
  const model::TemporaryDirectory directory;
  const std::string url = "file://" + directory.path();
  Client one(url);
  Lock lock = one.make_lock("name");
  Failure why;
  EXPECT_FALSE(Client::open(url, {.drive = Drive::program}, why).has_value());
  EXPECT_EQ(why.code, Errc::unsupported);
  EXPECT_NE(why.words().find("Drive::threads"), std::string::npos) << why.words();
  try {
    static_cast<void>(lock.acquire_async());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.errc(), Errc::unsupported);
  }
}

// Promise: S9
TEST_F(PendingTest, AForkedChildBeginsNothing) {
  Client one = client({.drive = Drive::program});
  Client other = client();
  Lock lock = one.make_lock("name");
  std::optional<Guard> held;
  lock.acquire_async().start([&](Guard guard) { held = std::move(guard); });
  ASSERT_TRUE(driven_until(one, [&] { return held.has_value(); }));
  std::atomic<bool> ran{false};
  other.make_lock("name").acquire_async().start([&](const Guard&) { ran = true; });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    bool threw = false;
    try {
      lock.acquire_async().start([](const Guard&) {});
    } catch (const Error& error) {
      threw = error.errc() == Errc::closed;
    }
    const bool out = threw && one.poll() == 0 && one.descriptor() == -1 && !ran;
    held.reset();
    ::_exit(out ? 0 : 1);
  }
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0);
  EXPECT_GT(held->valid_for(), 0ns);
  held.reset();
  EXPECT_TRUE(driven_until(one, [&] { return ran.load(); }));
}

}  // namespace
}  // namespace mortise::runtime
