// SPDX-License-Identifier: MIT
#include "core/timer_heap.hpp"

namespace mortise::core {

void TimerHeap::set(Timer& timer, Instant due) {
  timer.due = due;
  if (timer.place == Timer::nowhere) {
    nodes_.push_back(&timer);
    timer.place = nodes_.size() - 1;
    rise(timer.place);
    return;
  }
  rise(timer.place);
  sink(timer.place);
}

void TimerHeap::remove(Timer& timer) noexcept {
  const std::size_t place = timer.place;
  if (place == Timer::nowhere) return;
  timer.place = Timer::nowhere;
  Timer& last = *nodes_.back();
  nodes_.pop_back();
  if (&last == &timer) return;
  put(place, last);
  rise(place);
  sink(last.place);
}

void TimerHeap::put(std::size_t place, Timer& timer) noexcept {
  nodes_[place] = &timer;
  timer.place = place;
}

void TimerHeap::rise(std::size_t place) noexcept {
  Timer& moving = *nodes_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (nodes_[parent]->due <= moving.due) break;
    put(place, *nodes_[parent]);
    place = parent;
  }
  put(place, moving);
}

void TimerHeap::sink(std::size_t place) noexcept {
  Timer& moving = *nodes_[place];
  for (;;) {
    std::size_t child = place * 2 + 1;
    if (child >= nodes_.size()) break;
    if (child + 1 < nodes_.size() && nodes_[child + 1]->due < nodes_[child]->due) ++child;
    if (moving.due <= nodes_[child]->due) break;
    put(place, *nodes_[child]);
    place = child;
  }
  put(place, moving);
}

}  // namespace mortise::core
