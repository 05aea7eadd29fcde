// SPDX-License-Identifier: MIT
// Goal: a wait that was reported ends, even if its thread forks or runs out of memory, and no sleep
// lasts longer because the machine was suspended. Method: a backend that the test plays by hand,
// and an observer that acts inside of a call.
#include "support/contract_core.hpp"
#include "support/contract_observer.hpp"
#include "support/contract_worker.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <new>
#include <utility>

namespace mortise::contract {
namespace {

using test::Signal;

using CoreWaits = CoreAnswers;

TEST_F(CoreWaits, ACallThatRunsOutOfMemoryEndsItsWait) {
  be_kind();
  script_->on_acquire = [this](const auto&) {
    if (script_->acquires > 1) throw std::bad_alloc();
  };
  const auto record = std::make_shared<Record>();
  Client client = open({.observer = record});
  Lock lock = client.make_lock("name");
  Worker worker;
  auto locked = worker.start([&] { lock.lock(); });
  ASSERT_TRUE(record->told(Record::Kind::waits, 1));
  ASSERT_TRUE(worker.falls_asleep());
  clock_->advance(5s);  // it asks again
  EXPECT_THROW(locked.get(), std::bad_alloc);
  ASSERT_EQ(record->count(Record::Kind::wait_ended), 1U);
  const Record::Entry end = record->all(Record::Kind::wait_ended)[0];
  EXPECT_EQ(end.why.code, Errc::exhausted);
  EXPECT_EQ(end.took, 5s);
  EXPECT_TRUE(client.snapshot().names.empty());
}

/// Real time. A thread that is to be held up stops in its next look at it.
class HoldingUpClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (std::exchange(holds_up, false)) {
      looks.set();
      EXPECT_TRUE(go_on.wait());
    }
    return BootClock::now();
  }
  static thread_local bool holds_up;
  mutable Signal looks;
  Signal go_on;
};
thread_local bool HoldingUpClock::holds_up = false;

/// Forks while another thread has the mutex of the name: nobody gives that back in the child.
class Forks final : public Observer {
 public:
  void waits(const Event& /*event*/) noexcept override {
    looked = inside.start([this] {
      HoldingUpClock::holds_up = true;
      return lock->valid_for(owner);
    });
    EXPECT_TRUE(clock->looks.wait());
    child = ::fork();
    if (child == 0) {
      ::alarm(5);
      return;
    }
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    clock->go_on.set();
  }

  const Owner owner = Owner::unique();
  const std::shared_ptr<HoldingUpClock> clock = std::make_shared<HoldingUpClock>();
  Lock* lock = nullptr;
  pid_t child = -1;
  int status = -1;
  std::future<std::chrono::nanoseconds> looked;
  Worker inside;
};

// Promise: S9
TEST_F(CoreWaits, AnObserverMayForkInsideOfAWait) {
  be_kind();
  script_->on_acquire = [](const auto& operation) {
    operation->granted({.number = 7, .counted_from = BootClock::now(), .lease = 30s});
  };
  const auto forks = std::make_shared<Forks>();
  Client client(std::make_unique<ScriptedBackend>(script_),
                {.observer = forks, .clock = forks->clock});
  Lock lock = client.make_lock("name");
  forks->lock = &lock;
  ASSERT_TRUE(lock.acquire({.owner = forks->owner}));  // answered at once: it does not wait
  ASSERT_EQ(forks->child, -1);
  std::error_code ec;
  EXPECT_FALSE(lock.acquire({.wait = 10ms}, ec));
  if (forks->child == 0) ::_exit(ec == Errc::closed ? 0 : 1);
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_EQ(forks->status, 0) << "the child hangs, or has another answer than closed";
  EXPECT_GT(forks->looked.get(), 0ns);
  lock.unlock(forks->owner);
}

// The kernel does not count a suspend in the sleep of a thread. Of several callers only one polls.
TEST_F(CoreWaits, EachCallerLooksAtTheTimeAfterASuspend) {
  static thread_local std::atomic<int>* looks_of_this_thread = nullptr;
  script_->on_check = [](const auto&) {};  // no answer
  script_->on_wait = [](Operation&) {
    if (looks_of_this_thread != nullptr) ++*looks_of_this_thread;
    return false;
  };
  constexpr std::size_t callers = 3;
  std::array<std::atomic<int>, callers> looks{};
  std::array<std::error_code, callers> errors;
  std::array<std::future<void>, callers> checked;
  Client client = open();
  std::array<Worker, callers> workers;
  for (std::size_t i = 0; i < callers; ++i) {
    checked[i] = workers[i].start([&, i] {
      looks_of_this_thread = &looks[i];
      client.check(1h, errors[i]);
    });
    EXPECT_TRUE(workers[i].falls_asleep());
  }
  const std::array<int, callers> before{looks[0], looks[1], looks[2]};
  clock_->advance(1s);  // it reports a step as the real clock reports a suspend
  for (std::size_t i = 0; i < callers; ++i) {
    EXPECT_TRUE(test::eventually([&] { return looks[i].load() > before[i]; })) << "caller " << i;
  }
  client.close();
  for (std::size_t i = 0; i < callers; ++i) {
    checked[i].get();
    EXPECT_EQ(errors[i], Errc::closed);
  }
}

}  // namespace
}  // namespace mortise::contract
