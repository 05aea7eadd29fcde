// SPDX-License-Identifier: MIT
// How threads and processes stand still: where the scheduler stops them, and for how long.
#include "simulation/world/world.hpp"

#include <algorithm>
#include <utility>

namespace simulation {
namespace {

constexpr Nanos system_call_time{40};
constexpr Nanos a_long_stop{1'000'000};
/// Sleeps that a suspend has lengthened know of that before their threads run again.
constexpr Nanos before_they_run{1};

}  // namespace

void World::pause(Process& process, Nanos until) {
  process.paused_until_ = std::max(process.paused_until_, until);
}

void World::suspend(Process& process, Nanos until) {
  pause(process, until + before_they_run);
  take_time(process, process.paused_until_ - now_);
  if (process.asleep_since_ != never) return;
  process.asleep_since_ = now_;
  at(process.paused_until_ - before_they_run, [this, &process] { resume(process); });
}

void World::resume(Process& process) {
  if (process.dead_) return;
  if (process.paused_until_ > now_ + before_they_run) {
    at(process.paused_until_ - before_they_run, [this, &process] { resume(process); });
    return;
  }
  const Nanos since = std::exchange(process.asleep_since_, never);
  process.asleep_ += now_ - since;
  process.asleep_own_ += process.clock.at(now_) - process.clock.at(since);
  process.resumed_at_ = now_;
  for (Thread* const thread : process.threads_) {
    if (thread->ended() || !thread->blocked_ || thread->deadline_ == never) continue;
    thread->deadline_ += now_ - since;
    arm(*thread);
  }
  if (on_resume) on_resume(process);
}

void World::stop_at_place(Process& process, std::uint64_t nth, Nanos time,
                          std::function<void()> then) {
  process.places_left_ = static_cast<std::int64_t>(nth);
  process.stop_there_ = time;
  process.stops_ = std::move(then);
}

void World::steal(Thread& thread, Nanos time) {
  Process& process = thread.process_;
  thread.stopped_until_ = std::max(thread.stopped_until_, now_ + time);
  take_time(process, time);
  if (thread.mutexes_.empty()) return;
  process.held_up_until_ = std::max(process.held_up_until_, now_ + time);
  if (!mutexes_are_shared) return;
  for (const auto& other : processes_) {
    other->held_up_until_ = std::max(other->held_up_until_, now_ + time);
    if (other.get() != &process) take_time(*other, time);
  }
}

void World::take_time(Process& process, Nanos time) {
  const Nanos end = now_ + time;
  const Nanos begin = std::max(now_, process.stolen_until_);
  process.stolen_ += std::max(end - begin, Nanos(0));
  if (end - begin >= a_long_stop) process.long_stops_.push_back({begin, end});
  process.stolen_until_ = std::max(process.stolen_until_, end);
}

Nanos World::stolen_since(const Process& process, Nanos then) const noexcept {
  Nanos sum{0};
  const auto& stops = process.long_stops_;
  for (auto stop = stops.rbegin(); stop != stops.rend() && stop->end > then; ++stop) {
    sum += std::max(std::min(stop->end, now_) - std::max(stop->begin, then), Nanos(0));
  }
  return sum;
}

Nanos World::stolen(const Process& process) const noexcept {
  return process.stolen_ - std::max(process.stolen_until_ - now_, Nanos(0));
}

void World::point() {
  pass(system_call_time);
  Thread& thread = *running_;
  Process& process = thread.process_;
  if (process.places_left_ > 0 && --process.places_left_ == 0) {
    if (const auto then = std::exchange(process.stops_, nullptr)) after(Nanos(0), then);
    return stop_here(thread, process.stop_there_);
  }
  if (process.schedule.preempted <= 0) return;
  if (process.until_preempted_ == 0) {
    // Until the next time, evenly spread around the mean: one draw for many points.
    process.until_preempted_ =
        1 + static_cast<std::int64_t>(
                process.luck_.below(static_cast<std::uint64_t>(2.0 / process.schedule.preempted)));
  }
  if (--process.until_preempted_ > 0) return;
  stop_here(thread, process.luck_.spread(Nanos(1'000), process.schedule.longest));
}

void World::point_before_sleep() {
  Process& process = running_->process_;
  if (process.schedule.stale <= 0 || !process.luck_.chance(process.schedule.stale)) return;
  stop_here(*running_, process.luck_.spread(Nanos(1'000), process.schedule.longest));
}

void World::stop_here(Thread& thread, Nanos time) {
  steal(thread, time);
  plan(thread, time);
  thread.fiber_.give_way();
}

}  // namespace simulation
