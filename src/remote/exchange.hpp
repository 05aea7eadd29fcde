// SPDX-License-Identifier: MIT
// The calls of a client that no connection has, and that only the client itself completes: those
// that are sent again at a moment, those that wait for something other than a connection, and those
// for whose answer close() waits. It sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "remote/timer.hpp"

#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::remote {

/// @tparam Call has an `operation`
/// @thread_safety every member may be called concurrently
template <class Call>
class Exchange {
 public:
  using Calls = std::list<Call>;

  /// The server refused it, and no caller repeats it: it is sent again at that moment.
  void repeat_at(const Call& call, Instant when) {
    Calls alone{call};
    const std::lock_guard lock(mutex_);
    repeats_.add(when, std::move(alone));
  }
  /// @return when the first of those is due; `never` = there is none.
  [[nodiscard]] Instant due() const noexcept { return repeats_.next(); }
  [[nodiscard]] Calls take_due(Instant now) {
    Calls due;
    if (repeats_.next() > now) return due;
    const std::lock_guard lock(mutex_);
    for (Calls& alone : repeats_.take(now)) due.splice(due.end(), alone);
    return due;
  }

  /// It was answered, but something else has to be known before it is complete.
  /// @return false: the client is closed
  [[nodiscard]] bool hold_up(Call call) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    held_up_.push_back(std::move(call));
    return true;
  }
  /// @return those of which that is true.
  template <class Which>
  [[nodiscard]] Calls take_held_up(Which which) noexcept {
    Calls taken;
    const std::lock_guard lock(mutex_);
    for (auto call = held_up_.begin(); call != held_up_.end();) {
      const auto next = std::next(call);
      if (which(*call)) taken.splice(taken.end(), held_up_, call);
      call = next;
    }
    return taken;
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
  /// The client is closed. @return what waits for something other than a connection
  [[nodiscard]] Calls close() noexcept {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    return std::exchange(held_up_, {});
  }

 private:
  mutable std::mutex mutex_;
  Timer<Calls> repeats_;  // each alone, so that it is taken without memory
  Calls held_up_;
  std::list<std::weak_ptr<Operation>> awaited_;
  bool is_closed_ = false;
};

}  // namespace mortise::remote
