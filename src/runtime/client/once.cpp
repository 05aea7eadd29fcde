// SPDX-License-Identifier: MIT
// The public `Once`.
#include <mortise/once.hpp>

#include "runtime/call/begin_call.hpp"
#include "runtime/call/pending_acquire.hpp"
#include "runtime/call/pending_begin.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace mortise {
namespace {

using runtime::raise_if;

constexpr std::chrono::seconds longest_look{1};

}  // namespace

Once::Once(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms,
           std::shared_ptr<const Memory> memory, const OnceOptions& options) noexcept
    : slot_(std::move(slot)),
      terms_(std::move(terms)),
      memory_(std::move(memory)),
      wait_(options.wait),
      stop_(options.stop) {}

Once::Once(Once&&) noexcept = default;

Once& Once::operator=(Once&& other) noexcept {
  if (this != &other) {
    runtime::drop(std::move(slot_));
    slot_ = std::move(other.slot_);
    terms_ = std::move(other.terms_);
    memory_ = std::move(other.memory_);
    wait_ = other.wait_;
    stop_ = std::move(other.stop_);
  }
  return *this;
}

Once::~Once() { runtime::drop(std::move(slot_)); }

Run Once::begin() {
  Run run;
  begin(run);
  raise_after(run);
  return run;
}

Run Once::begin(std::error_code& ec) {
  Run run;
  begin(run);
  ec = is_contention(run.failure_.code) ? std::error_code() : run.failure_.code;
  return run;
}

void Once::begin(Run& run) {
  runtime::Grace grace;
  // An observer may destroy this handle, also between two tries.
  runtime::BeginCall({slot_, terms_, memory_, wait_, stop_}, grace, nullptr).run(run);
}

Pending<Run> Once::begin_async() {
  static_cast<void>(runtime::without_thread(*slot_, {}));  // throws if the store needs threads
  return Pending<Run>(std::make_shared<runtime::PendingBegin>(
      runtime::Beginning{slot_, terms_, memory_, wait_, stop_}));
}

void Once::finish(Run& run, std::string_view result) noexcept {
  if (!run) return;  // the body has said it by itself
  try {
    run.conclude(KeyState::succeeded, result);
    if (!run) return;
    const Failure wrong = run.failure_;  // the result is too long
    run.conclude(KeyState::failed, wrong.text);
    if (!run.failure_) run.failure_ = wrong;
  } catch (const std::exception&) {
    run.failure_.code = Errc::exhausted;  // and no memory for words; the key is given back
  }
}

void Once::threw(Run& run, std::string_view words) noexcept {
  if (!run) return;
  try {
    run.conclude(KeyState::failed, words.substr(0, longest_outcome));
  } catch (const std::exception&) {
    // Out of memory: the key is given back without a reason.
  }
}

void Once::raise_after(const Run& run) {
  if (!is_contention(run.failure_.code)) raise_if(run.failure_);
}

std::shared_ptr<const Record> Once::recall(bool forget, Failure& failure) const {
  const std::shared_ptr<runtime::Slot> slot = slot_;
  const auto kind = forget ? Recollection::Kind::forget : Recollection::Kind::look;
  std::shared_ptr<const Record> record = runtime::recall(*slot, kind, longest_look, failure);
  if (!record && !failure)
    failure = {Errc::protocol, slot->name() + ": the store returned no record"};
  return record;
}

Outcome Once::look() const {
  Failure failure;
  auto record = recall(false, failure);
  raise_if(failure);
  return Outcome(std::move(record));
}

Outcome Once::look(std::error_code& ec) const {
  Failure failure;
  auto record = recall(false, failure);
  ec = failure.code;
  return Outcome(std::move(record));
}

bool Once::forget() {
  Failure failure;
  const auto record = recall(true, failure);
  raise_if(failure);
  return !record->held;
}

bool Once::forget(std::error_code& ec) {
  Failure failure;
  const auto record = recall(true, failure);
  ec = failure.code;
  return record && !record->held;
}

const std::string& Once::key() const noexcept { return slot_->name(); }

}  // namespace mortise
