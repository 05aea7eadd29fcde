// SPDX-License-Identifier: MIT
// When attempts that wait at a server ask it again: each by itself at a moment, or many of them in
// one request. It sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "core/figures.hpp"
#include "remote/timer.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::remote {

/// A server forgets a waiter that was silent for some seconds. Each waiter asks once per second
/// (core::AskSchedule). The first of them asks for all that have a place and did not ask lately, so
/// most turns are left out.
/// @thread_safety every member may be called concurrently. `Waits` is called under the mutex of
/// this.
class AskTurns {
 public:
  using Waiter = std::shared_ptr<Acquisition>;
  using Waiters = std::vector<Waiter>;
  /// Whether an attempt still waits.
  using Waits = std::function<bool(const Acquisition&)>;

  static constexpr std::size_t most_together = 128;

  explicit AskTurns(Waits waits) : waits_(std::move(waits)) {}

  /// It asks alone at that moment, or earlier.
  void ask_at(const Waiter& waiter, Instant when);
  /// @return those whose moment has come, once.
  [[nodiscard]] Waiters take_due(Instant now);

  /// By a reply, it has a place at the server.
  void placed(const Waiter& waiter, Instant now);
  /// @return false: no attempt has a place, as nearly always.
  [[nodiscard]] bool any_places() const noexcept { return any_places_.load(); }
  struct Turn {
    bool is_left_out = false;  ///< its place was renewed lately
    Waiters together{};        ///< in whose name it asks; none = alone, for itself
  };
  /// It is to ask now.
  [[nodiscard]] Turn take_turn(const Waiter& waiter, Instant now);
  /// @return a waiter whose last turn was left out, and for which no other one has asked since;
  /// null = there is none
  [[nodiscard]] Waiter take_left_out(Instant now);

  /// @return when `take_due()` or `take_left_out()` has one.
  [[nodiscard]] Instant due() const noexcept { return std::min(moments_.next(), left_out_.next()); }

 private:
  struct Place;
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  using Places = std::unordered_map<AttemptId, Place, Hash>;
  using Queue = Timer<Place*>;
  struct Place {
    std::weak_ptr<Acquisition> waiter{};
    AttemptId attempt{};
    Queue::Place in_order{};
    Queue::Place left_out{};
    bool is_left_out = false;
  };

  [[nodiscard]] std::chrono::nanoseconds pause() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds period() const noexcept;
  void renew(Place& place, Instant now) noexcept;
  void end_left_out(Place& place) noexcept;
  void erase(Place& place) noexcept;
  void forget_some(Instant now) noexcept;
  /// @return null = it does not wait any more, and is forgotten
  [[nodiscard]] Waiter still_waiting(Place& place) noexcept;

  const Waits waits_;
  std::mutex mutex_;
  Timer<std::weak_ptr<Acquisition>> moments_;
  Places places_;
  Queue in_order_;  // by the moments at which the places were asked for
  Queue left_out_;  // by the moments at which their turns come again
  std::atomic<bool> any_places_{false};
};

}  // namespace mortise::remote
