// SPDX-License-Identifier: MIT
// Many threads of one client that make timed calls, and how late these calls return.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {

/// Each thread has a name of its own, and makes about one call per second.
///
/// Other threads wait as long on a condition that never comes. If such a wait ends late, the
/// machine was busy, and a call that returned at the same time may be this late.
class TimedCrowd {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds wait{300};
  static constexpr std::chrono::milliseconds pause{700};

  /// @param client outlives it
  /// @param first the number of the first name
  TimedCrowd(Client& client, std::size_t threads, const LockOptions& hold, std::size_t first = 0)
      : callers_(threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      Lock lock = client.make_lock("crowd/" + std::to_string(first + i), hold);
      threads_.emplace_back(
          [this, i, lock = std::move(lock)]() mutable { call(callers_[i], lock); });
    }
    for (Returns& each : bare_) {
      threads_.emplace_back([this, &each] {
        while (!ends_.is_set()) wait_bare(each);
      });
    }
  }
  TimedCrowd(const TimedCrowd&) = delete;
  TimedCrowd& operator=(const TimedCrowd&) = delete;
  ~TimedCrowd() { end(); }

  /// From now on, `is_served()` waits for the next calls.
  void expect_service() {
    for (Caller& each : callers_) each.is_served.store(false);
  }
  /// @return true if each thread has got its lock since then.
  [[nodiscard]] bool is_served() const {
    return std::all_of(callers_.begin(), callers_.end(),
                       [](const Caller& each) { return each.is_served.load(); });
  }
  void end() {
    ends_.set();
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
  }

  // After `end()`.

  [[nodiscard]] std::size_t calls() const {
    std::size_t all = 0;
    for (const Caller& each : callers_) all += each.returns.size();
    return all;
  }
  /// @return how late the latest call was, without the time for which the machine was busy.
  [[nodiscard]] std::chrono::nanoseconds latest() const {
    std::chrono::nanoseconds latest{0};
    for (const Caller& each : callers_) {
      for (const Return& one : each.returns) {
        if (one.late > latest) latest = std::max(latest, one.late - lateness_of_machine(one));
      }
    }
    return latest;
  }
  /// @return the same with that time.
  [[nodiscard]] std::chrono::nanoseconds latest_by_clock() const {
    std::chrono::nanoseconds latest{0};
    for (const Caller& each : callers_) {
      for (const Return& one : each.returns) latest = std::max(latest, one.late);
    }
    return latest;
  }

 private:
  struct Return {
    Clock::time_point due;
    std::chrono::nanoseconds late;
  };
  using Returns = std::vector<Return>;
  struct Caller {
    Returns returns{};
    std::atomic<bool> is_served{false};
  };

  void call(Caller& caller, Lock& lock) {
    while (!ends_.wait(pause)) {
      const Clock::time_point due = Clock::now() + wait;
      std::error_code error;
      const bool is_held = lock.try_lock_for(wait, error);
      caller.returns.push_back({due, Clock::now() - due});
      if (!is_held) continue;
      caller.is_served.store(true);
      lock.unlock(error);
    }
  }
  static void wait_bare(Returns& returns) {
    std::mutex mutex;
    std::condition_variable never_comes;
    std::unique_lock lock(mutex);
    const Clock::time_point due = Clock::now() + wait;
    never_comes.wait_until(lock, due, [] { return false; });
    returns.push_back({due, Clock::now() - due});
  }
  /// @return how late the latest of the bare waits was that ended while the call was late.
  [[nodiscard]] std::chrono::nanoseconds lateness_of_machine(const Return& call) const {
    std::chrono::nanoseconds latest{0};
    for (const Returns& each : bare_) {
      for (const Return& bare : each) {
        const bool at_same_time =
            bare.due <= call.due + call.late && bare.due + bare.late >= call.due;
        if (at_same_time) latest = std::max(latest, bare.late);
      }
    }
    return latest;
  }

  test::Signal ends_;
  std::vector<Caller> callers_;
  std::array<Returns, 40> bare_{};
  std::vector<std::thread> threads_;
};

}  // namespace mortise::fault
