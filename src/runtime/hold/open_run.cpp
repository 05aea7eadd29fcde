// SPDX-License-Identifier: MIT
// The client's side of a run, and the public `Run` over it.
#include "runtime/hold/open_run.hpp"

#include <mortise/run.hpp>

#include "core/terms.hpp"
#include "runtime/call/conclude_call.hpp"
#include "runtime/call/pending_conclusion.hpp"
#include "runtime/call/release_call.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

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

void OpenRun::give_back() {
  // An observer may destroy whatever else keeps the slot.
  const std::shared_ptr<Slot> keep = slot_;
  ReleaseCall call(*keep, {.owner = owner_});
  if (!waits_) call.hurry();
  Failure failure;
  call.run(failure);
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
    open->give_back();
  } catch (const std::exception&) {
    // Out of memory for the request: the hold ends with its lease.
  }
}

Failure Run::check(KeyState state, std::string_view bytes) const {
  const bool confirms = open_ && open_->confirms(state);
  Failure wrong = confirms ? Failure() : core::check_outcome(bytes);
  if (!open_ && !wrong) wrong = {Errc::not_owner, key_ + ": the run is not open"};
  return wrong;
}

Outcome Run::conclude(KeyState state, std::string_view bytes) {
  failure_ = check(state, bytes);
  if (failure_) return {};
  runtime::ConcludeCall call(open_, state, bytes);
  call.begin(nullptr);
  open_.reset();
  outcome_ = call.run(failure_);
  return outcome_;
}

Pending<Outcome> Run::conclude_async(KeyState state, std::string_view bytes) {
  failure_ = check(state, bytes);
  runtime::raise_if(failure_);
  Pending<Outcome> pending(std::make_shared<runtime::PendingConclusion>(open_, state, bytes));
  open_.reset();  // the call has it
  return pending;
}

Pending<Outcome> Run::succeed_async(std::string_view result) {
  return conclude_async(KeyState::succeeded, result);
}

Pending<Outcome> Run::fail_async(std::string_view reason) {
  return conclude_async(KeyState::failed, reason);
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
