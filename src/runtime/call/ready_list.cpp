// SPDX-License-Identifier: MIT
// A call is listed, or stepped by one thread, or neither: what rings meanwhile has it stepped
// again.
#include "runtime/call/ready_list.hpp"

#include "runtime/client/client_state.hpp"
#include "runtime/engine/engine.hpp"

#include <optional>
#include <utility>

namespace mortise::runtime {
namespace {

thread_local const ReadyList* driven = nullptr;
thread_local const ReadyList* stepped = nullptr;

// A call that may not sleep any more needs two or three steps.
constexpr int most_last_rounds = 16;

}  // namespace

ReadyList::Driving::Driving(const ReadyList& list) noexcept
    : before_(std::exchange(driven, &list)) {}
ReadyList::Driving::~Driving() { driven = before_; }

void ReadyList::driven_by_this_thread() const noexcept { driven = this; }
bool ReadyList::is_driven_here() const noexcept { return driven == this; }
bool ReadyList::is_stepped_here() const noexcept { return stepped == this; }

void ReadyList::add(ReadyPlace& place) {
  const std::lock_guard lock(mutex_);
  heap_.set(place, never);  // from now on its time needs no memory
  place.stepping = true;
  place.again = place.over = false;  // a start before may have failed
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
  end_the_rest();
}

void ReadyList::end() noexcept {
  ended_.store(true);
  end_the_rest();
}

// A thread that is inside of a start looks at the mark after it has left the call, and the thread
// that sets the mark looks at the calls afterwards. So one of them ends the call.
bool ReadyList::end_the_rest() noexcept {
  for (int round = 0; ended_.load() && round < most_last_rounds; ++round) {
    {
      const std::lock_guard lock(mutex_);
      heap_.each([this](core::Timer& timer) {
        auto& place = static_cast<ReadyPlace&>(timer);
        if (place.counts) list_locked(place);
      });
      if (first_ == nullptr) return true;
    }
    if (!step_listed()) return false;
  }
  return true;
}

void ReadyList::ring_all() noexcept {
  {
    const std::lock_guard lock(mutex_);
    heap_.each([this](core::Timer& timer) { list_locked(static_cast<ReadyPlace&>(timer)); });
    if (first_ == nullptr || is_driven_here()) return;
  }
  engine_.interrupt();
}

void ReadyList::step_here(ReadyPlace& place) noexcept {
  if (!step(place, false)) return;
  // Its time may be the next to come, or it is over.
  if (!is_driven_here()) engine_.interrupt();
  end_the_rest();
}

bool ReadyList::step(ReadyPlace& place, bool posts) noexcept {
  PendingCall& call = *place.call;
  const ReadyList* const before = std::exchange(stepped, this);  // of another client
  const std::optional<Instant> again = call.proceed(posts);
  stepped = before;
  if (call.client().forked()) return false;  // by an observer or an executor
  std::shared_ptr<Waker> last;               // destroyed without the mutex
  const std::lock_guard lock(mutex_);
  place.stepping = false;
  if (again) {
    if (place.due != *again) heap_.set(place, *again);
    if (place.again) list_locked(place);
    return true;
  }
  last = std::move(place.kept);
  over_locked(place);
  return true;
}

bool ReadyList::run() noexcept { return step_listed() && end_the_rest(); }

bool ReadyList::step_listed() noexcept {
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
  if (each == nullptr) return true;
  // The requests of several calls leave in one write.
  const bool several = each->after != nullptr;
  if (several) engine_.keep_requests_back();
  while (each != nullptr) {
    if (!step(*std::exchange(each, each->after), true)) return false;
  }
  if (several) engine_.send_kept_back();
  return true;
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
