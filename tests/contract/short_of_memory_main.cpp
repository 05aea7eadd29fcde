// SPDX-License-Identifier: MIT
// A program that takes and frees a lock again and again, and each time the next allocation of its
// thread fails. Whichever fails, the call says so, and nothing stays behind: no hold that nobody
// owns, no name that nobody can take. Exit status: the first round that left something behind, 255
// for a later one; 0 = none did; 77 = allocations cannot be made to fail here.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>
#include <mortise/operation.hpp>

#include "contract/async_without_memory.hpp"
#include "contract/given_up_without_memory.hpp"
#include "contract/join_without_memory.hpp"
#include "contract/lock_all_without_memory.hpp"
#include "contract/permit_without_memory.hpp"
#include "support/failing_allocations.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using mortise::test::until_failure;

// Nobody listens there; whoever connects is refused at once, again and again.
constexpr const char* unreachable[] = {"redis://127.0.0.1:1",
                                       "redlock://127.0.0.1:1,127.0.0.2:1,127.0.0.3:1",
                                       "postgresql://127.0.0.1:1/none", "zookeeper://127.0.0.1:1"};

/// What a program does with a lock.
enum class Use { guard, lock, release };

struct Outcome {
  bool reached = false;  ///< so many allocations there were
  bool taken = true;     ///< the call that takes the lock did not throw
};

Outcome use(mortise::Lock& lock, Use how, long fails_at) {
  Outcome outcome;
  const auto arm = [fails_at] { until_failure = fails_at; };
  const auto disarm = [&] {
    outcome.reached = until_failure == 0;
    until_failure = 0;
  };
  try {
    if (how != Use::release) arm();
    if (how == Use::guard) {
      const mortise::Guard guard(lock);
    } else {
      lock.lock();
      if (how == Use::lock) disarm();
      if (how == Use::release) arm();
      static_cast<void>(lock.release());
    }
    if (how != Use::lock) disarm();
  } catch (const std::bad_alloc&) {
    disarm();
    outcome.taken = false;
  }
  return outcome;
}

// Closes a client that holds names and has a waiter. @return whether so many allocations there were
bool close(int round, long fails_at) {
  mortise::memory::Server server;
  mortise::Client client(server.backend());
  std::vector<mortise::Lock> held;
  for (const char* const name : {"one", "two", "three"}) {
    held.push_back(client.make_lock(name, {.lease = 30s}));
    held.back().lock();
  }
  const std::stop_token lost = held.front().lost();
  std::thread waiter([lock = client.make_lock("one")]() mutable {
    std::error_code ec;
    lock.lock(ec);
  });
  // It waits; where it does not yet, it is refused.
  std::this_thread::sleep_for(2ms);
  until_failure = fails_at;
  client.close();
  const bool reached = until_failure == 0;
  until_failure = 0;
  waiter.join();
  for (const mortise::Lock& lock : held) {
    if (lock.valid_for() == 0ns) continue;
    std::printf("close, allocation %ld: %s is believed in\n", fails_at, lock.name().c_str());
    std::exit(std::min(round, 255));
  }
  return reached;
}

/// Closes a client that has a waiter, and whose servers do not answer.
bool close_unreached(const char* url, long fails_at) {
  mortise::Client client(url);
  std::thread waiter([lock = client.make_lock("name")]() mutable {
    std::error_code ec;
    lock.lock(ec);
  });
  std::thread requester([&client] {
    std::error_code ec;
    client.check(1h, ec);
  });
  std::this_thread::sleep_for(2ms);
  until_failure = fails_at;
  client.close();
  const bool reached = until_failure == 0;
  until_failure = 0;
  waiter.join();
  requester.join();
  return reached;
}

/// The first call of a client has no memory, and the next call is answered as usual.
bool begin_unreached(const char* url, long fails_at) {
  mortise::Client client(url);
  std::error_code ec;
  until_failure = fails_at;
  try {
    client.check(1ms, ec);
  } catch (const std::bad_alloc&) {
    ec = std::make_error_code(std::errc::not_enough_memory);
  }
  const bool reached = until_failure == 0;
  until_failure = 0;
  client.check(1ms, ec);
  return reached;
}

/// Real time, that may be ahead; and what happens just before a thread looks at it.
class SteeredClock final : public mortise::Clock {
 public:
  [[nodiscard]] mortise::Instant now() const noexcept override {
    if (const auto hook = std::exchange(before_look, nullptr)) hook();
    return mortise::BootClock::now() + ahead.load() + std::exchange(late, 0ns);
  }
  std::atomic<std::chrono::nanoseconds> ahead{0ns};
  static thread_local std::function<void()> before_look;
  static thread_local std::chrono::nanoseconds late;  ///< for this thread's next look
};
thread_local std::function<void()> SteeredClock::before_look;
thread_local std::chrono::nanoseconds SteeredClock::late = 0ns;

// Longer than what a string keeps without memory.
constexpr const char* long_name = "a name of which each copy needs memory";

void fail(const char* what, long fails_at) {
  std::printf("%s, allocation %ld\n", what, fails_at);
  std::exit(1);
}

/// A request fails with words that need memory to be shown. @return whether so many allocations
/// there were
bool refuse_with_a_servers_bytes(long fails_at) {
  mortise::Failure why(mortise::Errc::unavailable, long_name);
  why.text += "\n";
  mortise::Check check;
  until_failure = fails_at;
  check.failed(std::move(why));
  const bool reached = until_failure == 0;
  until_failure = 0;
  if (!check.done() || !check.failure()) fail("a failed request is not over", fails_at);
  return reached;
}

/// A waiter whose time is up has no memory just when the name is passed to it.
void pass_to_who_fails() {
  const auto clock = std::make_shared<SteeredClock>();
  mortise::memory::Server server;
  mortise::Client client(server.backend(), {.turn = 1h, .clock = clock});
  mortise::Lock lock = client.make_lock(long_name);
  const mortise::Owner holder = mortise::Owner::unique();
  if (!lock.acquire({.owner = holder})) fail("not taken", 0);
  std::thread waiter([&] {
    // It looks when it comes, and then in the queue.
    SteeredClock::before_look = [&] {
      SteeredClock::before_look = [&] {
        lock.unlock(holder);
        SteeredClock::late = 2h;
        until_failure = 1;
      };
    };
    try {
      const bool taken = lock.acquire({.wait = 1h});
      // Where that needs no memory, as today, it has the name, at the last moment.
      if (std::exchange(until_failure, 0) != 0) return taken ? lock.unlock() : void();
      fail("it did not fail", 1);
    } catch (const std::bad_alloc&) {
      until_failure = 0;
    }
  });
  waiter.join();
  mortise::Client other(server.backend());
  if (!other.make_lock(long_name).try_lock_for(5s)) fail("passed to who had failed", 1);
}

/// The next in the queue has gone when its attempt has left. @return whether so many allocations
/// there were
bool unlock_without_successor(long fails_at) {
  class Hooked final : public mortise::Backend {
   public:
    explicit Hooked(std::unique_ptr<mortise::Backend> real) : real_(std::move(real)) {}
    [[nodiscard]] mortise::StoreDescription describe() const override { return real_->describe(); }
    void start(mortise::Host& host) override { real_->start(host); }
    void stop() noexcept override { real_->stop(); }
    void acquire(const std::shared_ptr<mortise::Acquisition>& o) override { real_->acquire(o); }
    // Lost: the client repeats a request without an answer.
    void cancel(const std::shared_ptr<mortise::Acquisition>& /*o*/) override {}
    void renew(const std::shared_ptr<mortise::Renewal>& o) override { real_->renew(o); }
    void release(const std::shared_ptr<mortise::Release>& o) override {
      if (const auto hook = std::exchange(before_release, nullptr)) hook();
      real_->release(o);
    }
    std::function<void()> before_release;

   private:
    const std::unique_ptr<mortise::Backend> real_;
  };
  mortise::memory::Server server;
  mortise::Client stranger(server.backend());
  auto made = std::make_unique<Hooked>(server.backend());
  Hooked& hooked = *made;
  mortise::Client client(std::move(made),
                         {.turn_handoffs = 0, .clock = std::make_shared<SteeredClock>()});
  mortise::Lock lock = client.make_lock(long_name);
  lock.lock();
  // Somebody else waits there, so that the attempt is still to be taken back.
  std::thread elsewhere([there = stranger.make_lock(long_name)]() mutable {
    there.lock();
    std::this_thread::sleep_for(1ms);
    there.unlock();
  });
  while (server.waiters() == 0) std::this_thread::yield();
  std::stop_source stop;
  std::atomic<bool> queued{false};
  std::thread waiter([&] {
    SteeredClock::before_look = [&] { SteeredClock::before_look = [&] { queued = true; }; };
    static_cast<void>(lock.acquire({.stop = stop.get_token()}));
  });
  while (!queued) std::this_thread::yield();
  hooked.before_release = [&] {
    stop.request_stop();
    waiter.join();
    until_failure = fails_at;
  };
  try {
    lock.unlock();
  } catch (const std::bad_alloc&) {
    fail("unlock() threw", fails_at);
  }
  const bool reached = until_failure == 0;
  until_failure = 0;
  elsewhere.join();
  return reached;
}

/// A hold is found to be over. @return whether so many allocations there were
bool lose(long fails_at) {
  const auto clock = std::make_shared<SteeredClock>();
  mortise::memory::Server server;
  mortise::Client client(server.backend(), {.clock = clock});
  // No longer: where the background thread sleeps already, no clock of ours wakes it before.
  mortise::Lock lock = client.make_lock(long_name, {.lease = 400ms, .renew = false});
  lock.lock();
  const std::stop_token lost = lock.lost();
  clock->ahead = 2s;
  until_failure = fails_at;
  const mortise::Released outcome = lock.release();
  const bool reached = until_failure == 0;
  until_failure = 0;
  if (outcome != mortise::Released::was_lost) fail("the loss was not seen", fails_at);
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!lost.stop_requested()) {
    if (std::chrono::steady_clock::now() > until) fail("the loss was never told", fails_at);
    std::this_thread::sleep_for(1ms);
  }
  return reached;
}

/// Threads that did not say otherwise have no memory right after they have looked at it.
class StarvingClock final : public mortise::Clock {
 public:
  [[nodiscard]] mortise::Instant now() const noexcept override {
    if (starves.load() && !fed) {
      until_failure = 1;
      ++looks;
    }
    return mortise::BootClock::now();
  }
  static thread_local bool fed;
  std::atomic<bool> starves{false};
  mutable std::atomic<int> looks{0};
};
thread_local bool StarvingClock::fed = false;

/// The background thread has no memory any more, and something to do.
void close_while_the_background_starves() {
  StarvingClock::fed = true;
  const auto clock = std::make_shared<StarvingClock>();
  mortise::memory::Server server;
  mortise::Client client(server.backend(), {.clock = clock});
  mortise::Lock lock = client.make_lock("name", {.lease = 100ms});
  lock.lock();
  clock->starves = true;
  while (clock->looks < 20) std::this_thread::sleep_for(1ms);
  std::atomic<bool> closed{false};
  std::thread closer([&] {
    StarvingClock::fed = true;
    client.close();
    closed = true;
  });
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!closed && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  if (!closed) fail("close() waits for a thread that has no memory", 1);
  closer.join();
}

/// The first client of a process, each time in a process of its own: what the library keeps of its
/// descriptors, for a child to close, has to grow.
void open_the_first_client() {
  for (long fails_at = 1;; ++fails_at) {
    const pid_t child = ::fork();
    if (child == 0) {
      mortise::memory::Server server;
      try {
        until_failure = fails_at;
        const mortise::Client client(server.backend());
      } catch (const std::exception&) {
        ::_exit(0);
      }
      ::_exit(until_failure == 0 ? 0 : 1);
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
      fail("a client that has no memory ends the process", fails_at);
    }
    if (WEXITSTATUS(status) == 1) return;
  }
}

/// @return whether ours is the operator new of this program: clang's sanitizers have their own.
bool fails_when_told() {
  until_failure = 1;
  try {
    const std::string copy(long_name);
  } catch (const std::bad_alloc&) {
    return true;
  }
  until_failure = 0;
  return false;
}

}  // namespace

int main() {
  if (!fails_when_told()) return 77;
  open_the_first_client();
  pass_to_who_fails();
  for (long fails_at = 1; lose(fails_at); ++fails_at) {
  }
  for (long fails_at = 1; unlock_without_successor(fails_at); ++fails_at) {
  }
  for (long fails_at = 1;; ++fails_at) {
    const mortise::test::GivenUp round =
        mortise::test::grant_what_was_given_up(long_name, fails_at);
    if (!round.given_back) fail("what was granted to nobody is not given back", fails_at);
    if (!round.reached) break;
  }
  for (const bool freeing : {false, true}) {
    for (long fails_at = 1;; ++fails_at) {
      const mortise::test::AllWanted all =
          mortise::test::want_all_without_memory(freeing, fails_at);
      if (!all.free_here) fail("one of several is believed in", fails_at);
      if (!all.free_there) fail("one of several is held by nobody", fails_at);
      if (!all.reached) break;
    }
  }
  for (long fails_at = 1; refuse_with_a_servers_bytes(fails_at); ++fails_at) {
  }
  close_while_the_background_starves();
  int round = 0;
  for (const char* const url : unreachable) {
    for (long fails_at = 1; close_unreached(url, fails_at); ++fails_at) ++round;
    for (long fails_at = 1; begin_unreached(url, fails_at); ++fails_at) ++round;
  }
  for (long fails_at = 1; close(++round, fails_at); ++fails_at) {
  }
  for (long fails_at = 1;; ++fails_at) {
    ++round;
    const mortise::test::Joined join = mortise::test::join_without_memory(long_name, fails_at);
    if (!join.as_told) fail("it is not what it was told to be", fails_at);
    if (!join.free) fail("a reader stays that failed", fails_at);
    if (!join.reached) break;
  }
  for (long fails_at = 1;; ++fails_at) {
    const mortise::test::Awaited call = mortise::test::await_without_memory(long_name, fails_at);
    if (!call.ends_once) fail("a call without a thread does not end once", fails_at);
    if (!call.free) fail("a call without a thread leaves its hold", fails_at);
    if (!call.reached) break;
  }
  for (long fails_at = 1;; ++fails_at) {
    const mortise::test::RefusedPermit permit =
        mortise::test::grant_a_permit_without_memory(fails_at);
    if (!permit.free) fail("a permit stays locked that was not granted", fails_at);
    if (!permit.reached) break;
  }
  for (const int use_of_mode : {0, 1, 2, 3, 4, 5}) {
    const auto how = static_cast<Use>(use_of_mode % 3);
    const auto mode = use_of_mode < 3 ? mortise::Mode::exclusive : mortise::Mode::shared;
    for (long fails_at = 1;; ++fails_at) {
      ++round;
      mortise::memory::Server server;
      mortise::Client client(server.backend());
      mortise::Client other(server.backend());
      mortise::Lock lock = client.make_lock("name", {.lease = 30s, .mode = mode});
      const Outcome outcome = use(lock, how, fails_at);
      // A release that could not be sent leaves the server with a lease that nobody renews; a call
      // that failed to take the lock leaves nothing.
      const bool unsent = outcome.taken && how != Use::lock;
      const bool free_here = lock.hold_count() == 0;
      const bool free_there = unsent || other.make_lock("name").try_lock_for(1s);
      if (!free_here || !free_there) {
        std::printf("use %d, allocation %ld: here %d, there %d\n", static_cast<int>(how), fails_at,
                    free_here, free_there);
        return std::min(round, 255);
      }
      if (!outcome.reached) break;
    }
  }
  return 0;
}
