// SPDX-License-Identifier: MIT
// The calls of a client that are not under way: those that wait for a connection or for room in it,
// those that are sent again at a moment, those that wait for something other than a connection, and
// those for whose answer close() waits. It sends nothing and decides nothing.
#pragma once

#include <mortise/operation.hpp>

#include "remote/outbox.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace mortise::remote {

/// @tparam Call see `key_of()`
/// @tparam Line identifies a connection by its address
/// @thread_safety every member may be called concurrently
template <class Call, class Line>
class WaitingCalls {
 public:
  using Calls = typename Outbox<Call>::Calls;

  /// Calls can wait for that connection from now on.
  void add_line(const Line& line) {
    const std::lock_guard lock(mutex_);
    lines_.try_emplace(&line);
  }
  /// @param alone one call, which waits for that connection
  void keep(const Line& line, Calls alone) noexcept {
    const std::lock_guard lock(mutex_);
    const auto its = lines_.find(&line);
    if (its == lines_.end()) return;
    Outbox<Call>& outbox = its->second.outbox;
    const bool is_first = outbox.empty();
    outbox.add(std::move(alone));
    if (is_first) lines_with_calls_.fetch_add(1);
  }
  /// @return true if a call waits for that connection.
  [[nodiscard]] bool any(const Line& line) const noexcept {
    if (lines_with_calls_.load() == 0) return false;  // as nearly always
    const std::lock_guard lock(mutex_);
    const auto its = lines_.find(&line);
    return its != lines_.end() && !its->second.outbox.empty();
  }
  /// @return the calls that wait for that connection, or the first of them.
  [[nodiscard]] Calls take(const Line& line, std::size_t most = SIZE_MAX) noexcept {
    if (lines_with_calls_.load() == 0) return {};
    const std::lock_guard lock(mutex_);
    const auto its = lines_.find(&line);
    return its == lines_.end() ? Calls() : take_locked(its->second.outbox, most);
  }
  /// @return all calls that wait for a connection.
  [[nodiscard]] Calls take_all() noexcept {
    Calls calls;
    const std::lock_guard lock(mutex_);
    for (auto& [line, its] : lines_) {
      calls.splice(calls.end(), take_locked(its.outbox, SIZE_MAX));
    }
    return calls;
  }

  /// It is sent again at that moment, or at an earlier one of a call with the same key.
  void repeat_at(const Call& call, Instant when) {
    Calls alone{call};
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    const auto its = places_of_repeats_.find(key_of(call));
    if (its == places_of_repeats_.end()) {
      // Without memory for its place a later duplicate is kept as well, which does no harm.
      places_of_repeats_.emplace(key_of(call), repeats_.add(when, std::move(alone)));
      return;
    }
    its->second->second.swap(alone);
    if (when < its->second->first) its->second = repeats_.move(its->second, when);
  }
  /// @return the moment of the first of those; `never` = there is none.
  [[nodiscard]] Instant due() const noexcept { return repeats_.next(); }
  [[nodiscard]] Calls take_due(Instant now) {
    Calls due;
    if (repeats_.next() > now) return due;
    const std::lock_guard lock(mutex_);
    for (Calls& alone : repeats_.take(now)) due.splice(due.end(), alone);
    for (const Call& call : due) places_of_repeats_.erase(key_of(call));
    return due;
  }

  /// It was answered by that connection, but something else has to be known before it is complete.
  /// @return false: the client is closed
  [[nodiscard]] bool hold_up(const Line& line, Call call) {
    const std::lock_guard lock(mutex_);
    const auto its = lines_.find(&line);
    if (is_closed_ || its == lines_.end()) return false;
    its->second.held_up.push_back(std::move(call));
    return true;
  }
  /// @return those of that connection.
  [[nodiscard]] Calls take_held_up(const Line& line) noexcept {
    const std::lock_guard lock(mutex_);
    const auto its = lines_.find(&line);
    return its == lines_.end() ? Calls() : std::exchange(its->second.held_up, {});
  }

  /// close() waits for the answer to that: no caller does.
  void await(const std::shared_ptr<Operation>& operation) {
    const std::lock_guard lock(mutex_);
    awaited_.push_back(operation);
    // Two of them in turn, so that there are never many more than are wanted.
    for (int i = 0; i < 2; ++i) {
      if (awaited_.front().expired()) {
        awaited_.pop_front();
      } else {
        awaited_.splice(awaited_.end(), awaited_, awaited_.begin());
      }
    }
  }
  [[nodiscard]] bool is_any_awaited() const {
    const std::lock_guard lock(mutex_);
    return std::any_of(awaited_.begin(), awaited_.end(), [](const auto& each) {
      const std::shared_ptr<Operation> operation = each.lock();
      return operation && !operation->done();
    });
  }

  /// The client is closed. @return all that waits for a connection, a moment or something else
  [[nodiscard]] Calls close() noexcept {
    Calls calls = take_all();
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (auto& [line, its] : lines_) calls.splice(calls.end(), its.held_up);
    base::without_memory([&] {
      for (Calls& alone : repeats_.take(never)) calls.splice(calls.end(), alone);
      places_of_repeats_.clear();
    });
    return calls;
  }

 private:
  struct OfLine {
    Outbox<Call> outbox{};
    Calls held_up{};
  };

  [[nodiscard]] Calls take_locked(Outbox<Call>& outbox, std::size_t most) noexcept {
    if (outbox.empty()) return {};
    Calls calls = outbox.take(most);
    if (outbox.empty()) lines_with_calls_.fetch_sub(1);
    return calls;
  }

  mutable std::mutex mutex_;
  std::map<const Line*, OfLine> lines_;
  std::atomic<std::size_t> lines_with_calls_{0};
  using Repeats = Timer<Calls>;
  Repeats repeats_;  // each alone, so that it is taken without memory
  std::unordered_map<std::pair<const void*, int>, typename Repeats::Place, HashOfKey>
      places_of_repeats_;
  std::list<std::weak_ptr<Operation>> awaited_;
  bool is_closed_ = false;
};

}  // namespace mortise::remote
