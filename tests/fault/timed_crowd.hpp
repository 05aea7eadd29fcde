// SPDX-License-Identifier: MIT
// Many threads of one client that make timed calls, and how late these calls return.
#pragma once

#include <mortise/mortise.hpp>

#include "support/eventually.hpp"
#include "support/own_time.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {

/// Each thread has a name of its own. One more thread notes how long the threads have waited for a
/// processor: a call may be this late, as for `own_duration_of()`.
class TimedCrowd {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds wait{1'000};
  static constexpr std::chrono::milliseconds pause{1'000};

  /// @param client outlives it
  /// @param first the number of the first name
  TimedCrowd(Client& client, std::size_t threads, const LockOptions& hold, std::size_t first = 0)
      : callers_(threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      Lock lock = client.make_lock("crowd/" + std::to_string(first + i), hold);
      threads_.emplace_back(
          [this, i, lock = std::move(lock)]() mutable { call(callers_[i], lock); });
    }
    threads_.emplace_back([this] {
      constexpr std::chrono::milliseconds often{200};
      while (!ends_.wait(often)) look_at_machine();
    });
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
    if (ends_.is_set()) return;
    ends_.set();
    for (std::thread& each : threads_) {
      if (each.joinable()) each.join();
    }
    look_at_machine();
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
        if (one.late > latest) latest = std::max(latest, one.late - machine_waited(one));
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
  struct Look {
    Clock::time_point at;
    test::Waits waits;
  };
  struct Caller {
    std::vector<Return> returns{};
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
  void look_at_machine() {
    const Clock::time_point now = Clock::now();
    looks_.push_back({now, test::waits_for_processors()});
  }
  /// @return how long the machine has made the process and its servers wait, while the call was
  /// late.
  [[nodiscard]] std::chrono::nanoseconds machine_waited(const Return& call) const {
    const auto behind = [](Clock::time_point at, const Look& look) { return at < look.at; };
    const auto first = std::upper_bound(looks_.begin(), looks_.end(), call.due, behind);
    const auto last = std::upper_bound(first, looks_.end(), call.due + call.late, behind);
    if (first == looks_.begin() || last == looks_.end()) return {};
    return test::waited_between(std::prev(first)->waits, last->waits);
  }

  test::Signal ends_;
  std::vector<Caller> callers_;
  std::vector<Look> looks_;
  std::vector<std::thread> threads_;
};

}  // namespace mortise::fault
