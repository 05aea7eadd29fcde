// SPDX-License-Identifier: MIT
#include "simulation/world/world.hpp"

#include "simulation/world/real.hpp"

#include <sys/single_threaded.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace simulation {
namespace {

enum Stream : std::uint64_t { process_stream = 1, schedule_stream = 2 };

constexpr Nanos longest_spurious{20'000'000};
constexpr std::uint64_t first_thread = 1'000;  // ids of threads

}  // namespace

namespace {

/// A mutex of the program itself, of which each process has one in truth: a process that stands
/// still with it is in nobody else's way.
struct Copy {
  const Thread* by = nullptr;
  const void* mutex = nullptr;
};
std::vector<Copy> copies;

bool is_copied(const Process& process, const void* mutex) {
  return std::any_of(copies.begin(), copies.end(), [&](const Copy& each) {
    return &each.by->process() == &process && each.mutex == mutex;
  });
}

/// Clients that share their memory share a clock.
bool have_each_their_own(const Process& a, const Process& b) {
  return &a != &b && (a.clock.offset != b.clock.offset || a.clock.ppm != b.clock.ppm);
}

}  // namespace

World* World::current_ = nullptr;
Thread* World::running_ = nullptr;

Process::Process(World& world, std::uint64_t number, std::string name)
    : world_(world),
      number_(number),
      name_(std::move(name)),
      random_(Random::of({world.seed(), process_stream, number})),
      luck_(Random::of({world.seed(), schedule_stream, number})) {}

Nanos Process::boot_time() const noexcept { return clock.at(world_.now()); }

World::World(std::uint64_t seed) : seed_(seed) {
  current_ = this;
  __libc_single_threaded = 0;  // or the standard library leaves out what only threads need
}

World::~World() {
  // What outlives the run, because all runs of this process share it, must not stay locked.
  for (const auto& thread : threads_) {
    for (void* const mutex : thread->mutexes_) real::unlock(mutex);
  }
  current_ = nullptr;
}

void World::at(Nanos when, std::function<void()> act) {
  std::size_t place = acts_.size();
  if (spare_acts_.empty()) {
    acts_.push_back(std::move(act));
  } else {
    place = spare_acts_.back();
    spare_acts_.pop_back();
    acts_[place] = std::move(act);
  }
  events_.push_back({std::max(when, now_), events_planned_++, place});
  std::push_heap(events_.begin(), events_.end(), Later());
}

void World::run(Nanos until) {
  stopped_ = false;
  while (!stopped_ && !events_.empty() && events_.front().when <= until) {
    std::pop_heap(events_.begin(), events_.end(), Later());
    const Event event = events_.back();
    events_.pop_back();
    now_ = std::max(now_, event.when);
    ++events_done_;
    const std::function<void()> act = std::move(acts_[event.act]);
    spare_acts_.push_back(event.act);
    act();
  }
  if (!stopped_) now_ = std::max(now_, until);
}

Process& World::process(std::string name) {
  processes_.push_back(std::make_unique<Process>(*this, processes_.size(), std::move(name)));
  return *processes_.back();
}

Thread& World::spawn(Process& process, std::function<void()> body) {
  threads_.push_back(
      std::make_unique<Thread>(process, first_thread + threads_.size(), std::move(body)));
  Thread& thread = *threads_.back();
  process.threads_.push_back(&thread);
  plan(thread, process.luck_.between(Nanos(1'000), process.schedule.latency));
  return thread;
}

Thread* World::find(std::uint64_t id) noexcept {
  return id >= first_thread && id - first_thread < threads_.size()
             ? threads_[id - first_thread].get()
             : nullptr;
}

void World::kill(Process& process) {
  if (std::exchange(process.dead_, true)) return;
  // What all simulated processes share in this one (the table of descriptors) must not stay locked.
  for (Thread* const thread : process.threads_) {
    for (void* const mutex : std::exchange(thread->mutexes_, {})) {
      real::unlock(mutex);
      wake_at(mutex, 1);
    }
  }
  if (on_death) on_death(process);
  // A thread that kills its own process does not come back from here.
  if (running_ != nullptr && &running_->process_ == &process) running_->fiber_.give_way();
}

void World::plan(Thread& thread, Nanos delay) {
  at(now_ + delay, [this, &thread] { run(thread); });
}

void World::run(Thread& thread) {
  Process& process = thread.process_;
  if (process.dead_ || thread.ended()) return;
  if (process.paused_until_ > now_) {
    const Nanos before = thread.stopped_until_;
    steal(thread, process.paused_until_ - now_);
    if (thread.wakes_) thread.stopped_until_ = before;
    at(process.paused_until_, [this, &thread] { run(thread); });
    return;
  }
  thread.wakes_ = false;
  running_ = &thread;
  thread.fiber_.resume();
  running_ = nullptr;
  if (thread.ended()) finish(thread);
}

void World::finish(Thread& thread) {
  for (Thread* const joiner : std::exchange(thread.joiners_, {})) wake(*joiner);
}

bool World::sleep(Nanos at_most) {
  Thread& thread = *running_;
  thread.blocked_ = true;
  thread.timed_out_ = false;
  thread.deadline_ = at_most >= never - now_ ? never : now_ + at_most;
  arm(thread);
  thread.fiber_.give_way();
  return !thread.timed_out_;
}

void World::arm(Thread& thread) {
  // One event for many sleeps: most are over long before their time.
  if (thread.deadline_ == never || thread.armed_ <= thread.deadline_) return;
  thread.armed_ = thread.deadline_;
  at(thread.deadline_, [this, &thread] { alarm(thread); });
}

void World::alarm(Thread& thread) {
  if (now_ >= thread.armed_) thread.armed_ = never;
  if (!thread.blocked_ || thread.process_.asleep_since_ != never) return;
  if (now_ < thread.deadline_) {
    arm(thread);
    return;
  }
  thread.timed_out_ = true;
  wake(thread);
}

void World::wake(Thread& thread) {
  if (!std::exchange(thread.blocked_, false)) return;
  thread.deadline_ = never;
  Process& process = thread.process_;
  const Schedule& schedule = process.schedule;
  // Who wakes late, but from a mutex, has yet to look at what it has waited for.
  thread.wakes_ = !thread.locking_;
  Nanos delay = process.luck_.between(Nanos(500), schedule.latency);
  if (schedule.late > 0 && process.luck_.chance(schedule.late)) {
    delay = process.luck_.spread(schedule.latency, schedule.latest);
    const Nanos before = thread.stopped_until_;
    steal(thread, delay);
    if (thread.wakes_) thread.stopped_until_ = before;
  }
  plan(thread, delay);
}

bool World::wait_on(const void* address, Nanos at_most) {
  Thread* const self = running_;
  Random& luck = self->process_.luck_;
  // Both a condition variable and a futex may wake for no reason.
  const bool early = spurious > 0 && luck.chance(spurious);
  if (early) at_most = std::min(at_most, luck.spread(Nanos(500), longest_spurious));
  sleepers_[address].push_back(self);
  if (sleep(at_most)) return true;
  const auto found = sleepers_.find(address);
  if (found != sleepers_.end()) {
    std::erase(found->second, self);
    if (found->second.empty()) sleepers_.erase(found);
  }
  return early;
}

int World::wake_at(const void* address, int count) {
  if (sleepers_.empty()) return 0;
  const auto found = sleepers_.find(address);
  if (found == sleepers_.end()) return 0;
  std::vector<Thread*>& there = found->second;
  int woken = 0;
  std::size_t taken = 0;
  while (taken < there.size() && woken < count) {
    Thread& thread = *there[taken++];
    // Timed out, and not yet run: it counts as woken by neither side.
    if (thread.process_.dead_ || !thread.blocked_) continue;
    wake(thread);
    ++woken;
  }
  there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(taken));
  if (there.empty()) sleepers_.erase(found);
  return woken;
}

void World::join(Thread& thread) {
  while (!thread.ended()) {
    thread.joiners_.push_back(running_);
    sleep(never);
  }
}

void World::lock(void* mutex) {
  point();
  running_->locking_ = true;
  while (!real::try_lock(mutex)) {
    const bool elsewhere = std::any_of(threads_.begin(), threads_.end(), [&](const auto& each) {
      return have_each_their_own(each->process_, running_->process_) &&
             (std::find(each->mutexes_.begin(), each->mutexes_.end(), mutex) !=
              each->mutexes_.end());
    });
    if (elsewhere && !is_copied(running_->process_, mutex)) {
      copies.push_back({.by = running_, .mutex = mutex});
      break;
    }
    wait_on(mutex, never);
  }
  running_->locking_ = false;
  running_->mutexes_.push_back(mutex);
}

bool World::try_lock(void* mutex) {
  if (!real::try_lock(mutex)) return false;
  running_->mutexes_.push_back(mutex);
  return true;
}

void World::unlock(void* mutex) {
  let_go(mutex);
  point();
}

void World::let_go(void* mutex) {
  const auto by_this = [&](const Copy& each) { return each.by == running_ && each.mutex == mutex; };
  if (std::erase_if(copies, by_this) == 0) real::unlock(mutex);
  std::vector<void*>& held = running_->mutexes_;
  const auto found = std::find(held.rbegin(), held.rend(), mutex);
  if (found != held.rend()) held.erase(std::prev(found.base()));
  wake_at(mutex, 1);
}

std::vector<std::string> World::threads_in_words() const {
  std::vector<std::string> lines;
  for (const auto& thread : threads_) {
    if (thread->ended() || thread->process_.dead_) continue;
    std::string line = "thread " + std::to_string(thread->id_) + " of " + thread->process_.name_;
    if (!thread->blocked_) {
      line += " is about to run";
    } else if (thread->deadline_ == never) {
      line += " sleeps for ever";
    } else {
      line += " sleeps for " + std::to_string((thread->deadline_ - now_).count()) + " ns";
    }
    for (const auto& [address, there] : sleepers_) {
      if (std::find(there.begin(), there.end(), thread.get()) != there.end())
        line += " on an address";
    }
    if (!thread->mutexes_.empty()) line += ", and holds a mutex";
    lines.push_back(std::move(line));
  }
  return lines;
}

void World::note(std::string_view who, std::string_view words) {
  if (!tells) return;
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%12.6f s  ", static_cast<double>(now_.count()) / 1e9);
  std::string line = time.data();
  line.append(who).append(": ").append(words);
  story.push_back(std::move(line));
}

}  // namespace simulation
