// SPDX-License-Identifier: MIT
#include "runtime/call/release_request.hpp"

#include <mortise/backend.hpp>

#include "base/mutant.hpp"
#include "runtime/engine/store_access.hpp"
#include "runtime/hold/kept_hold.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace mortise::runtime {

using Course = core::ReleaseCourse;

ReleaseRequest::ReleaseRequest(StoreAccess& store, Waker* waker) noexcept
    : store_(store), waker_(waker) {}

ReleaseRequest::~ReleaseRequest() {
  // No caller waits for the confirmation any more.
  if (open_) release_->failed({Errc::in_doubt, std::string()});
}

void ReleaseRequest::wait_for(std::shared_ptr<Operation> asked) noexcept {
  asked_ = std::move(asked);
  if (asked_ && waker_ != nullptr) asked_->wake_through(waker_->weak_from_this());
}

void ReleaseRequest::send(std::shared_ptr<Release> release) noexcept {
  release_ = std::move(release);
  wait_for(release_);
  store_.send(release_);
}

void ReleaseRequest::send(std::shared_ptr<KeptHold> kept) noexcept {
  kept_ = std::move(kept);
  repeat();
}

void ReleaseRequest::confirm(std::shared_ptr<Release> release) noexcept {
  release_ = std::move(release);
  try {
    open_ = std::make_unique<OpenRequest>(store_.open_requests(), *release_);
    if (!release_->done()) store_.backend().release(release_);
    wait_for(release_);
  } catch (const std::exception&) {
    // Out of memory: the answer is not learned.
  }
}

bool ReleaseRequest::repeat() noexcept {
  if (kept_ && !kept_->is_answered()) wait_for(kept_->say(store_.backend(), store_.clock()->now()));
  if (!release_ || release_->done()) return false;
  if (release_->conclusion() && base::mutant("core.an_outcome_is_said_once")) {
    release_ = std::make_shared<Release>(release_->hold());
    wait_for(release_);
  }
  store_.send(release_);
  return true;
}

Course::Looked ReleaseRequest::look(std::optional<Instant> sent) noexcept {
  Course::Looked looked{.request = standing()};
  // Real time, even under a clock that is moved by hand: the wait only bounds the caller's.
  if (looked.request != Course::Looked::Request::over) {
    looked.now = looked_ = sent ? *sent : BootClock::now();
  }
  return looked;
}

Course::Looked::Request ReleaseRequest::standing() const noexcept {
  using Request = Course::Looked::Request;
  if (kept_ && !kept_->is_answered()) {
    return !asked_ || asked_->done() ? Request::unanswered : Request::pending;
  }
  return kept_ || !asked_ || asked_->done() ? Request::over : Request::pending;
}

void ReleaseRequest::wait(Instant until, core::Nanos at_most) noexcept {
  try {
    store_.wait_done(*asked_, std::min(until - looked_, at_most), looked_);
  } catch (const std::exception&) {
    asked_.reset();  // out of memory: the answer is not learned
  }
}

Course::Answered ReleaseRequest::answer() const noexcept {
  using By = Course::Answered::By;
  if (!release_ && !kept_) return {.gone = true};
  Released outcome = kept_ ? kept_->outcome() : Released::unknown;
  if (release_ && release_->done()) {
    if (release_->failure()) return {.by = By::failure, .gone = true};
    outcome = release_->outcome();
  }
  const bool gone = kept_ ? kept_->is_over() : outcome != Released::unknown;
  switch (outcome) {
    case Released::released: return {.by = By::released, .gone = gone};
    case Released::was_lost: return {.by = By::was_lost, .gone = gone};
    case Released::unknown: break;
  }
  return {.gone = gone};
}

void ReleaseRequest::entrust(Instant until) noexcept {
  try {
    if (kept_) {
      store_.background().adopt(kept_, kept_->gone_at());
    } else {
      store_.background().adopt(release_, until);
    }
    store_.engine().have_replies_read();
  } catch (const std::exception&) {
    // Out of memory: it is not repeated, and the hold ends with its lease.
  }
}

Failure ReleaseRequest::why() const {
  if (release_ && release_->done() && release_->failure()) return release_->failure();
  return asked_ ? store_.why_unanswered(*asked_) : store_.no_answer();
}

}  // namespace mortise::runtime
