// SPDX-License-Identifier: MIT
// Timers ordered by what ends first. Nodes are part of their owners and know their place, so that
// taking back a timer costs no search and a lock that comes and goes leaves nothing behind.
#pragma once

#include <mortise/clock.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace mortise::core {

/// A timer; member of whatever it wakes. Must outlive its stay in a heap.
struct Timer {
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  Instant due = never;
  /// How much sooner it may be served, together with others that are due.
  std::chrono::nanoseconds early{0};
  std::size_t place = nowhere;  ///< index in the heap
};

/// A binary heap. Appending a timer that is due last, and removing it again, the life of an
/// uncontended lock, moves no other node.
class TimerHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  /// @return the timer that is due first; the heap must not be empty.
  [[nodiscard]] Timer& top() const noexcept { return *nodes_.front().timer; }
  /// Visits all timers, in any order.
  template <class Visit>
  void each(Visit visit) const {
    for (const Node& node : nodes_) visit(*node.timer);
  }
  /// Adds a timer, or moves it to another time.
  void set(Timer& timer, Instant due);
  /// Takes a timer out; nothing happens where it is in no heap.
  void remove(Timer& timer) noexcept;

 private:
  /// The time beside the pointer: sorting 100,000 timers by a look at each is slow.
  struct Node {
    Instant due{};
    Timer* timer = nullptr;
  };
  void put(std::size_t place, const Node& node) noexcept;
  void rise(std::size_t place) noexcept;
  void sink(std::size_t place) noexcept;

  std::vector<Node> nodes_;
};

}  // namespace mortise::core
