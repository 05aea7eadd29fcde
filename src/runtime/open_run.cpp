// SPDX-License-Identifier: MIT
// The client's side of a run, and the public `Run` over it.
#include "runtime/open_run.hpp"

#include <mortise/run.hpp>

#include "core/terms.hpp"
#include "runtime/hold_query.hpp"
#include "runtime/raise.hpp"
#include "runtime/release_call.hpp"
#include "runtime/slot.hpp"

#include <exception>
#include <utility>

namespace mortise::runtime {

OpenRun::~OpenRun() { drop(std::move(slot_)); }

std::chrono::nanoseconds OpenRun::valid_for() const { return runtime::valid_for(*slot_, owner_); }

std::stop_token OpenRun::lost() const { return runtime::lost(*slot_, owner_); }

KeyEnding OpenRun::ending(KeyState state, std::string_view bytes) const {
  const bool confirmed = confirms(state);
  return {.hold = call_.hold,
          .lease = call_.lease,
          .conclusion = std::make_shared<const Conclusion>(
              Conclusion{.state = state,
                         .bytes = std::string(confirmed ? std::string_view() : bytes),
                         .run = call_.run,
                         .memory = call_.memory,
                         .written = written_}),
          .record = confirmed ? written_
                              : std::make_shared<const Record>(
                                    Record{.state = state,
                                           .bytes = std::string(bytes),
                                           .run = call_.run,
                                           .number = call_.hold.number,
                                           .fingerprint = call_.memory->fingerprint})};
}

Released OpenRun::end(KeyEnding* ending, Failure& failure) {
  // An observer may destroy whatever else keeps the slot.
  const std::shared_ptr<Slot> keep = slot_;
  const Released outcome = ReleaseCall(*keep, {.owner = owner_, .ending = ending}).run(failure);
  if (outcome == Released::unknown && !failure) failure = keep->client().closed_failure();
  return outcome;
}

}  // namespace mortise::runtime

namespace mortise {

Run::Run() noexcept = default;

Run::Run(Run&& other) noexcept
    : open_(std::move(other.open_)),
      key_(std::move(other.key_)),
      number_(std::exchange(other.number_, 0)),
      token_(std::exchange(other.token_, Token())),
      lost_(std::exchange(other.lost_, std::stop_token())),
      outcome_(std::exchange(other.outcome_, Outcome())),
      failure_(std::exchange(other.failure_, Failure())) {}

Run& Run::operator=(Run&& other) noexcept {
  if (this != &other) {
    give_back();
    open_ = std::move(other.open_);
    key_ = std::move(other.key_);
    number_ = std::exchange(other.number_, 0);
    token_ = std::exchange(other.token_, Token());
    lost_ = std::exchange(other.lost_, std::stop_token());
    outcome_ = std::exchange(other.outcome_, Outcome());
    failure_ = std::exchange(other.failure_, Failure());
  }
  return *this;
}

Run::~Run() { give_back(); }

void Run::give_back() noexcept {
  const std::shared_ptr<runtime::OpenRun> open = std::exchange(open_, nullptr);
  if (!open) return;
  try {
    Failure failure;
    static_cast<void>(open->end(nullptr, failure));
  } catch (const std::exception&) {
    // Out of memory for the request: the hold ends with its lease.
  }
}

Outcome Run::conclude(KeyState state, std::string_view bytes) {
  const bool confirms = open_ && open_->confirms(state);
  failure_ = confirms ? Failure() : core::check_outcome(bytes);
  if (!open_ && !failure_) failure_ = {Errc::not_owner, key_ + ": the run is not open"};
  if (failure_) return {};
  // What needs memory comes first: where there is none the run stays open.
  runtime::KeyEnding ending = open_->ending(state, bytes);
  const auto unsaid = std::make_shared<const Record>(
      Record{.state = KeyState::pending, .run = number_, .number = ending.record->number});
  const std::shared_ptr<runtime::OpenRun> open = std::exchange(open_, nullptr);
  Failure failure;
  const Released told = open->end(&ending, failure);
  if (told == Released::released) {
    outcome_ = Outcome(ending.record);
  } else {
    outcome_ = Outcome(unsaid, false, told == Released::was_lost);
    if (told == Released::unknown) failure_ = std::move(failure);
  }
  return outcome_;
}

Outcome Run::succeed(std::string_view result) {
  Outcome outcome = conclude(KeyState::succeeded, result);
  runtime::raise_if(failure_);
  return outcome;
}

Outcome Run::succeed(std::string_view result, std::error_code& ec) {
  Outcome outcome = conclude(KeyState::succeeded, result);
  ec = failure_.code;
  return outcome;
}

Outcome Run::fail(std::string_view reason) {
  Outcome outcome = conclude(KeyState::failed, reason);
  runtime::raise_if(failure_);
  return outcome;
}

Outcome Run::fail(std::string_view reason, std::error_code& ec) {
  Outcome outcome = conclude(KeyState::failed, reason);
  ec = failure_.code;
  return outcome;
}

const std::string& Run::key() const noexcept { return key_; }

std::chrono::nanoseconds Run::valid_for() const noexcept {
  return open_ ? open_->valid_for() : std::chrono::nanoseconds(0);
}

HoldId Run::hold() const { return open_ ? open_->hold() : HoldId{}; }

StoreId Run::store() const { return open_ ? open_->slot().client().store_id() : StoreId(); }

std::shared_ptr<const Memory> Run::memory() const noexcept {
  return open_ ? open_->memory() : nullptr;
}

void Run::note(std::shared_ptr<const Record> written) noexcept {
  if (open_) open_->note(std::move(written));
}

void Run::stands(std::shared_ptr<const Record> written) noexcept {
  try {
    conclude(written->state, {});
  } catch (const std::exception&) {
    give_back();  // out of memory for words about it
  }
  outcome_ = Outcome(std::move(written));
  failure_ = Failure();
}

}  // namespace mortise
