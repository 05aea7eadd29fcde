// SPDX-License-Identifier: MIT
// The background thread: ticks holds that are due, sends errands, and polls what no
// caller does.
#include "runtime/engine/background.hpp"

#include "base/quiet_thread.hpp"
#include "core/figures.hpp"
#include "runtime/hold/hold_keeper.hpp"
#include "runtime/hold/renewal_batch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::runtime {
namespace {

// How soon what could not be done is tried again, where this machine is out of memory.
constexpr std::chrono::milliseconds pause_after_failure{10};

// Whoever finds none goes on with those that it has.
bool has_room_for_one(std::vector<std::shared_ptr<HoldKeeper>>& keepers) {
  try {
    keepers.emplace_back();
  } catch (const std::exception&) {
    if (keepers.empty()) throw;
    return false;
  }
  return true;
}

}  // namespace

Background::Background(Engine& engine, Backend& backend, Clock& clock, Duties duties,
                       bool has_thread)
    : engine_(engine),
      backend_(backend),
      clock_(clock),
      duties_(std::move(duties)),
      has_thread_(has_thread),
      errands_(backend) {}

Background::~Background() { stop(); }

void Background::set(HoldTimer& timer, Instant due, std::chrono::nanoseconds early) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  // The thread first: where there is none, the timer is not left behind in the heap.
  wake_before_locked(due);
  timer.early = early;
  heap_.set(timer, due);
}

void Background::remove(HoldTimer& timer) noexcept {
  // The thread is not told: looking once in vain costs less than a wake-up an unlock.
  const std::lock_guard lock(mutex_);
  heap_.remove(timer);
}

void Background::send_before(Instant due) {
  const std::lock_guard lock(mutex_);
  at_.sends = std::min(at_.sends, due);
  if (!stopping_) wake_before_locked(due);
}

void Background::serve_later() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    at_.serves = std::min(at_.serves, clock_.now() + pause_after_failure);
    wake_before_locked(at_.serves);
  } catch (const std::exception&) {
    // No thread for this one either: the next loss, or close(), looks for one again.
  }
}

void Background::start() {
  if (started_.load()) return;
  const std::lock_guard lock(mutex_);
  if (!stopping_) start_locked();
}

void Background::start_locked() {
  if (has_thread_ && !thread_.joinable()) thread_ = base::quiet_thread([this] { run(); });
  started_.store(true);
}

void Background::wake_before_locked(Instant due) {
  if (due >= at_.looks) return;
  start_locked();
  at_.looks = due;
  engine_.interrupt();
}

void Background::stop() noexcept {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
  }
  engine_.interrupt();
  if (thread.joinable()) thread.join();
}

void Background::run() {
  for (;;) {
    try {
      if (!run_once()) return;
    } catch (const std::exception&) {
      // Out of memory, or a backend that throws.
      if (!still_due()) return;
      std::this_thread::sleep_for(pause_after_failure);
    }
  }
}

// Timers stay armed when their holds are over: this may be so until there is memory.
bool Background::still_due() {
  const std::lock_guard lock(mutex_);
  at_.sends = std::min(at_.sends, clock_.now());
  return !stopping_;
}

bool Background::run_once() {
  const std::optional<Instant> until = work();
  if (!until) return false;
  if (engine_.background(*until)) duties_.clock_was_set();
  return true;
}

std::optional<Instant> Background::look() {
  try {
    if (engine_.background(Instant{})) duties_.clock_was_set();  // the past: it does not sleep
    return work();
  } catch (...) {
    static_cast<void>(still_due());
    throw;
  }
}

std::optional<Instant> Background::work() {
  const Instant now = clock_.now();
  tick(due_keepers(now), now);
  bool send = false;
  bool serve = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return std::nullopt;
    send = at_.sends <= now;
    if (send) at_.sends = never;
    serve = at_.serves <= now;
    if (serve) at_.serves = never;
  }
  if (serve && !duties_.serve()) serve_later();
  const Instant send_again = send ? errands_.run(now) : never;
  const std::optional<Instant> step_again = duties_.step();
  if (!step_again) return std::nullopt;
  Instant until = never;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return std::nullopt;
    at_.sends = std::min(at_.sends, send_again);
    // An unlock has emptied the heap, perhaps, and the next lock would have to wake this thread
    // anew each time: the moment that was planned is kept once.
    const Instant idle = at_.looks > now ? at_.looks : never;
    until = std::min({heap_.empty() ? idle : heap_.top().due, at_.sends, at_.serves, *step_again});
    at_.looks = until;
  }
  return until;
}

std::vector<std::shared_ptr<HoldKeeper>> Background::due_keepers(Instant now) {
  std::vector<std::shared_ptr<HoldKeeper>> keepers;
  const std::lock_guard lock(mutex_);
  // Once one is due, those that are due soon come along: a batch for one request and one wake-up.
  const bool any = !heap_.empty() && heap_.top().due <= now;
  while (any && !heap_.empty() && heap_.top().due - heap_.top().early <= now) {
    auto& timer = static_cast<HoldTimer&>(heap_.top());
    // Room first: no reference must be given up under the mutex, which the slot's end takes.
    if (!has_room_for_one(keepers)) break;
    keepers.back() = timer.keeper->kept();
    if (!keepers.back()) {
      // Its destructor waits for this mutex.
      keepers.pop_back();
      heap_.remove(timer);
      continue;
    }
    // Behind all that may come along, or it would hide them.
    timer.early = std::chrono::nanoseconds(0);
    heap_.set(timer, never);
  }
  // The slot says when it is due next, or that it is not; where it cannot, out of memory, it must
  // not be forgotten, or nobody would renew the hold.
  for (const auto& keeper : keepers) heap_.set(keeper->timer(), now + pause_after_failure);
  return keepers;
}

void Background::tick(const std::vector<std::shared_ptr<HoldKeeper>>& keepers, Instant now) {
  std::shared_ptr<RenewalBatch> batch;
  for (const std::shared_ptr<HoldKeeper>& keeper : keepers) {
    keeper->tick(now, batch);
    if (batch && batch->items().size() >= core::renewal_batch) {
      backend_.renew(std::exchange(batch, nullptr));
    }
  }
  if (batch) backend_.renew(batch);
}

}  // namespace mortise::runtime
