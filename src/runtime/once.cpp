// SPDX-License-Identifier: MIT
// The public `Once`: what a caller that comes may know without asking, what it asks, and what it is
// told in the end.
#include <mortise/once.hpp>

#include "core/figures.hpp"
#include "core/terms.hpp"
#include "core/verdict.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/hold_query.hpp"
#include "runtime/open_run.hpp"
#include "runtime/raise.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <utility>

namespace mortise {
namespace {

using runtime::raise_if;

constexpr std::chrono::seconds longest_look{1};

std::shared_ptr<const Record> pending(const std::optional<Holder>& holder) {
  const Token token = holder ? holder->token : Token();
  return std::make_shared<const Record>(Record{
      .state = KeyState::pending, .number = token.value() / core::tokens_in_a_grant, .held = true});
}

/// For a caller that may not wait: nobody may have held the key at that moment, but somebody of
/// this process was about to ask for it.
std::shared_ptr<const Record> pending(const Record& found) {
  return std::make_shared<const Record>(Record{
      .state = KeyState::pending, .run = found.run, .number = found.number, .held = found.held});
}

bool waits(core::Nanos wait) noexcept { return wait > core::Nanos(0); }

/// @return what is left of it; a little, where nothing is: it waits, if not for long.
core::Nanos left_of(core::Nanos wait, core::Nanos passed) noexcept {
  return std::max<core::Nanos>(wait - passed, std::chrono::microseconds(1));
}

bool answers(const Memory& asked, const Record& record) {
  const core::Verdict verdict = core::judge(asked, record);
  return verdict == core::Verdict::replay || verdict == core::Verdict::mismatch;
}

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
  // An observer may destroy this handle, also between two tries.
  const std::shared_ptr<runtime::Slot> slot = slot_;
  const std::shared_ptr<const core::Terms> terms = terms_;
  const std::shared_ptr<const Memory> memory = memory_;
  const std::chrono::nanoseconds wait = wait_;
  const std::stop_token stop = stop_;
  const Instant began = slot->client().now();
  run.key_ = slot->name();
  const bool limited = waits(wait) && wait != forever;
  const auto passed = [&] { return slot->client().now() - began; };
  for (;;) {
    if (learn(*slot, *memory, terms->lease, limited ? left_of(wait, passed()) : wait, stop, run))
      return;
    runtime::KeyCall call{.memory = memory, .begun_by = Owner::this_thread()};
    auto open = std::make_shared<runtime::OpenRun>(slot);
    std::optional<Holder> holder;
    AcquireOptions options{.wait = wait, .stop = stop, .owner = open->owner()};
    if (limited) options.wait = left_of(wait, passed());
    run.failure_ = runtime::acquire(*slot, terms, options, &holder, &call);
    if (!run.failure_ && call.record) return told(call.record, *memory, run);
    if (!run.failure_) return begun(std::move(open), std::move(call), run);
    if (!is_contention(run.failure_.code)) return;
    // Others of this process have come in between: they may know.
    if (call.busy_here && (!limited || passed() < wait)) continue;
    const std::shared_ptr<const Record> here = runtime::glance(*slot, *memory).runs;
    run.outcome_ = Outcome(here ? here : pending(holder));
    return;
  }
}

// Whoever may not wait is not told `pending` only because another caller of this process asks just
// now for what has an outcome; and whoever comes with another fingerprint does not wait for those.
bool Once::learn(runtime::Slot& slot, const Memory& memory, std::chrono::nanoseconds lease,
                 std::chrono::nanoseconds wait, const std::stop_token& stop, Run& run) {
  if (!slot.client().alive()) return false;
  const runtime::KeyGlance seen = runtime::glance(slot, memory);
  if (seen.runs && seen.differs) {
    told(seen.runs, memory, run);
    return true;
  }
  if (seen.runs && seen.own && waits(wait)) {
    run.failure_ = {Errc::unsupported,
                    slot.name() + ": this thread already runs the key, and would wait for itself"};
    return true;
  }
  if (seen.runs && !waits(wait)) {
    run.failure_ = {Errc::timeout, slot.name()};
    run.outcome_ = Outcome(seen.runs);
    return true;
  }
  if (!seen.differs && (waits(wait) || !seen.others)) return false;
  const core::Nanos at_most = core::command_timeout(lease);
  Failure failure;
  const auto found = waits(wait)
                         ? runtime::recall(slot, Recollection::Kind::look,
                                           std::min<core::Nanos>(wait, at_most), failure, stop)
                         : runtime::recall(slot, Recollection::Kind::look, at_most, failure);
  if (found && answers(memory, *found)) {
    told(found, memory, run);
    return true;
  }
  // What is wrong with the store the request itself finds out, for which there is more time.
  if (waits(wait)) return false;
  run.failure_ = failure ? failure : Failure(Errc::timeout, slot.name());
  if (found) run.outcome_ = Outcome(pending(*found));
  return true;
}

void Once::told(const std::shared_ptr<const Record>& record, const Memory& memory, Run& run) {
  switch (core::judge(memory, *record)) {
    case core::Verdict::replay: run.outcome_ = Outcome(record, true); return;
    case core::Verdict::mismatch: run.failure_ = {Errc::mismatch, run.key_}; return;
    case core::Verdict::run:
    case core::Verdict::wait: break;
  }
  run.failure_ = {Errc::protocol, run.key_ + ": the store returned neither a grant nor an outcome"};
}

void Once::begun(std::shared_ptr<runtime::OpenRun> open, runtime::KeyCall&& call, Run& run) {
  run.number_ = call.run;
  run.token_ = Token(call.hold.number * core::tokens_in_a_grant);
  open->begun(std::move(call));
  run.open_ = std::move(open);  // from here on it is given back, whatever fails
  run.lost_ = run.open_->lost();
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
