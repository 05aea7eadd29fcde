// SPDX-License-Identifier: MIT
// A call is listed, or stepped by one thread, or neither: what rings meanwhile has it stepped
// again.
#include "runtime/ready_list.hpp"

#include "runtime/engine.hpp"

#include <optional>
#include <utility>

namespace mortise::runtime {
namespace {

thread_local const ReadyList* driven = nullptr;

}  // namespace

ReadyList::Driving::Driving(const ReadyList& list) noexcept
    : before_(std::exchange(driven, &list)) {}
ReadyList::Driving::~Driving() { driven = before_; }

void ReadyList::driven_by_this_thread() const noexcept { driven = this; }
bool ReadyList::is_driven_here() const noexcept { return driven == this; }

void ReadyList::add(ReadyPlace& place) {
  const std::lock_guard lock(mutex_);
  heap_.set(place, never);  // from now on its time needs no memory
  place.stepping = true;
  if (place.counts) ++calls_;
}

void ReadyList::remove(ReadyPlace& place) noexcept {
  const std::lock_guard lock(mutex_);
  over_locked(place);
}

void ReadyList::over_locked(ReadyPlace& place) noexcept {
  place.over = true;
  heap_.remove(place);
  if (place.counts) --calls_;
}

void ReadyList::list_locked(ReadyPlace& place) noexcept {
  place.again = place.stepping;
  if (place.listed || place.stepping || place.over) return;
  place.listed = true;
  place.after = nullptr;
  (last_ != nullptr ? last_->after : first_) = &place;
  last_ = &place;
}

void ReadyList::ring(ReadyPlace& place) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const bool was_empty = first_ == nullptr;
    list_locked(place);
    if (!was_empty || first_ == nullptr || is_driven_here()) return;
  }
  engine_.interrupt();
}

void ReadyList::begun(ReadyPlace& place) noexcept {
  {
    const std::lock_guard lock(mutex_);
    place.stepping = false;
  }
  ring(place);
  run_if_ended();
}

void ReadyList::run_if_ended() noexcept {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_ || first_ == nullptr) return;
    }
    run();
  }
}

void ReadyList::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  run_if_ended();
  for (;;) {
    ReadyPlace* found = nullptr;
    std::shared_ptr<Waker> last;
    {
      const std::lock_guard lock(mutex_);
      heap_.each([&](core::Timer& timer) {
        auto& place = static_cast<ReadyPlace&>(timer);
        if (!place.stepping && place.call->is_unposted()) found = &place;
      });
      if (found == nullptr) return;
      last = found->call->let_go();
      over_locked(*found);
    }
    found->call->complete(false);
  }
}

void ReadyList::ring_all() noexcept {
  const std::lock_guard lock(mutex_);
  heap_.each([this](core::Timer& timer) { list_locked(static_cast<ReadyPlace&>(timer)); });
}

void ReadyList::step_here(ReadyPlace& place) noexcept {
  if (!step(place)) return;
  // Its time may be the next to come.
  if (!is_driven_here()) engine_.interrupt();
  run_if_ended();
}

bool ReadyList::step(ReadyPlace& place) noexcept {
  PendingCall& call = *place.call;
  const std::optional<Instant> again = call.proceed();
  if (call.is_forked()) return false;  // by an observer or an executor
  std::shared_ptr<Waker> last;         // destroyed without the mutex
  const std::lock_guard lock(mutex_);
  place.stepping = false;
  if (again) {
    if (place.due != *again) heap_.set(place, *again);
    if (place.again) list_locked(place);
    return true;
  }
  last = call.let_go();
  over_locked(place);
  return true;
}

void ReadyList::run() noexcept {
  ReadyPlace* each = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Instant now = heap_.empty() || heap_.top().due == never ? Instant{} : BootClock::now();
    while (!heap_.empty() && heap_.top().due <= now) {
      auto& place = static_cast<ReadyPlace&>(heap_.top());
      heap_.set(place, never);
      list_locked(place);
    }
    each = std::exchange(first_, nullptr);
    last_ = nullptr;
    for (ReadyPlace* place = each; place != nullptr; place = place->after) {
      place->listed = false;
      place->stepping = true;
    }
  }
  if (each == nullptr) return;
  // The requests of several calls leave in one write.
  const bool several = each->after != nullptr;
  if (several) engine_.keep_requests_back();
  while (each != nullptr) {
    if (!step(*std::exchange(each, each->after))) return;
  }
  if (several) engine_.send_kept_back();
}

Instant ReadyList::next() const noexcept {
  const std::lock_guard lock(mutex_);
  if (first_ != nullptr) return Instant{};
  return heap_.empty() ? never : heap_.top().due;
}

bool ReadyList::idle() const noexcept {
  const std::lock_guard lock(mutex_);
  return calls_ == 0;
}

}  // namespace mortise::runtime
