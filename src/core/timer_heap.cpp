// SPDX-License-Identifier: MIT
// A textbook binary heap whose nodes know their place.
#include "core/timer_heap.hpp"

namespace mortise::core {

void TimerHeap::set(Timer& timer, Instant due) {
  timer.due = due;
  if (timer.place == Timer::nowhere) {
    nodes_.push_back({due, &timer});
    timer.place = nodes_.size() - 1;
    rise(timer.place);
    return;
  }
  nodes_[timer.place].due = due;
  rise(timer.place);
  sink(timer.place);
}

void TimerHeap::remove(Timer& timer) noexcept {
  const std::size_t place = timer.place;
  if (place == Timer::nowhere) return;
  timer.place = Timer::nowhere;
  const Node last = nodes_.back();
  nodes_.pop_back();
  if (last.timer == &timer) return;
  // The last node fills the gap, and may belong above it or below.
  put(place, last);
  rise(place);
  sink(last.timer->place);
}

void TimerHeap::put(std::size_t place, const Node& node) noexcept {
  nodes_[place] = node;
  node.timer->place = place;
}

void TimerHeap::rise(std::size_t place) noexcept {
  const Node moving = nodes_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (nodes_[parent].due <= moving.due) break;
    put(place, nodes_[parent]);
    place = parent;
  }
  put(place, moving);
}

void TimerHeap::sink(std::size_t place) noexcept {
  const Node moving = nodes_[place];
  for (;;) {
    std::size_t child = place * 2 + 1;
    if (child >= nodes_.size()) break;
    if (child + 1 < nodes_.size() && nodes_[child + 1].due < nodes_[child].due) ++child;
    if (moving.due <= nodes_[child].due) break;
    put(place, nodes_[child]);
    place = child;
  }
  put(place, moving);
}

}  // namespace mortise::core
