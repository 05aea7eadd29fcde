// SPDX-License-Identifier: MIT
// The phases of the call. A phase asks for some of the names, and its end evaluates the answers.
#include "runtime/call/acquire_all_call.hpp"

#include <mortise/observer.hpp>

#include "base/printable.hpp"
#include "core/figures.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <utility>

namespace mortise::runtime {
namespace {

using Fate = core::AcquireAll::Fate;

Fate fate_of(const Failure& failure) noexcept {
  if (!failure) return Fate::held;
  if (failure.code == Errc::timeout) return Fate::busy;
  const bool unanswered = failure.code == Errc::unavailable || failure.code == Errc::in_doubt;
  return unanswered ? Fate::unanswered : Fate::failed;
}

Failure told_by_name(const std::string& bytes, Failure failure) {
  const std::string name = base::printable(bytes);
  const std::string& text = failure.text;
  const bool named = text.compare(0, name.size(), name) == 0 &&
                     (text.size() == name.size() || text[name.size()] == ':');
  if (!named) failure.text.insert(0, name + ": ");
  return failure;
}

/// @return a name that the caller wants in two modes, or null.
WantedPart* in_two_modes(std::vector<WantedPart>& parts) noexcept {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool agrees = parts[i].wanted.terms->mode == parts[i - 1].wanted.terms->mode;
    if (parts[i].again && !agrees) return &parts[i];
  }
  return nullptr;
}

Event event_of(const WantedPart& part, Instant at) noexcept {
  return {.name = part.wanted.slot->name(),
          .label = part.wanted.terms->label,
          .took = at - part.began,
          .mode = part.wanted.terms->mode};
}

void tell_contended(const WantedPart& part) noexcept {
  ClientState& client = part.wanted.slot->client();
  if (client.observer() != nullptr) client.observer()->contended(event_of(part, client.now()));
}

}  // namespace

AcquireAllCall::AcquireAllCall(std::vector<WantedName> wanted, const AcquireOptions& options,
                               Waker* waker)
    : options_(options),
      may_wait_(options.wait > core::Nanos(0)),
      parts_(std::move(wanted), options, waker),
      machine_(may_wait_) {}

Failure AcquireAllCall::run() {
  while (advance()) {
    parts_.report_wait();
    parts_.sleep();
  }
  return take_failure();
}

bool AcquireAllCall::advance() {
  while (phase_ != Phase::over) {
    if (parts_.advance()) return true;
    parts_.take_answers();
    switch (phase_) {
      case Phase::start: start(); break;
      case Phase::flight: carry_out(machine_.step(flown())); break;
      case Phase::wait: carry_out(machine_.step(waited())); break;
      case Phase::reentry: reentered(); break;
      case Phase::over: break;
    }
  }
  return false;
}

void AcquireAllCall::start() {
  WantedPart* const part = in_two_modes(parts_.all());
  if (part == nullptr) return carry_out(Machine::start());
  const std::string& name = part->wanted.slot->name();
  fails(*part, {Errc::misconfigured,
                name + ": this call asks for it both shared and exclusive; use one mode"});
}

void AcquireAllCall::carry_out(Machine::Action action) {
  while (action.what == Machine::Do::give_back) {
    parts_.give_back(action.name);
    action = machine_.given_back();
  }
  switch (action.what) {
    case Machine::Do::fly: fly(); break;
    case Machine::Do::wait: wait(parts_.all()[action.name]); break;
    case Machine::Do::give_back:
    case Machine::Do::end: ends(action); break;
  }
}

void AcquireAllCall::fly() {
  phase_ = Phase::flight;
  std::vector<WantedPart>& parts = parts_.all();
  requests_ = static_cast<std::size_t>(std::count_if(
      parts.begin(), parts.end(), [](const WantedPart& part) { return part.is_missing(); }));
  parts_.begin(true);
  for (WantedPart& part : parts) {
    if (!part.is_missing()) continue;
    const core::Nanos limit = core::flight_timeout(part.wanted.terms->lease, requests_);
    // A moment at least, since a wait of none is a try, which has more.
    const core::Nanos time = std::clamp<core::Nanos>(part.left(), core::Nanos(1), limit);
    part.options = {
        .wait = may_wait_ ? time : core::Nanos(0), .stop = options_.stop, .owner = options_.owner};
    parts_.ask(part, Queueing::tries);
  }
}

void AcquireAllCall::wait(WantedPart& part) {
  phase_ = Phase::wait;
  waits_for_ = &part;
  parts_.begin(false);
  part.options.wait = std::max(part.left(), core::Nanos(1));
  parts_.ask(part, Queueing::joins);
}

void AcquireAllCall::reenter() {
  phase_ = Phase::reentry;
  parts_.begin(false);
  for (WantedPart& part : parts_.all()) {
    if (!part.again) continue;
    part.options = {.wait = core::Nanos(0), .owner = options_.owner};
    parts_.ask(part, Queueing::joins);
  }
}

AcquireAllCall::Machine::Flown AcquireAllCall::flown() {
  told_ = false;
  Machine::Flown event;
  const WantedPart* first = nullptr;
  const std::vector<WantedPart>& parts = parts_.all();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WantedPart& part = parts[i];
    // A name that the call keeps from an earlier flight has not failed.
    if (part.again || !part.failure) continue;
    const Fate fate = fate_of(part.failure);
    if (first != nullptr && (event.worst == Fate::failed || fate != Fate::failed)) continue;
    first = &part;
    event.worst = fate;
    event.name = i;
  }
  if (first == nullptr) return event;
  event.time_is_up = may_wait_ && first->left() <= core::Nanos(0);
  event.cut_short = may_wait_ && cut_short(*first, requests_);
  return event;
}

AcquireAllCall::Machine::Waited AcquireAllCall::waited() {
  const WantedPart& part = *waits_for_;
  told_ = parts_.has_thread() && part.failure.code == Errc::timeout;
  const std::vector<WantedPart>& parts = parts_.all();
  const bool all = std::none_of(parts.begin(), parts.end(),
                                [](const WantedPart& each) { return each.is_missing(); });
  return {.fate = fate_of(part.failure),
          .all_held = all,
          .time_is_up = part.left() <= core::Nanos(0),
          .cut_short = cut_short(part, 1)};
}

bool AcquireAllCall::cut_short(const WantedPart& part, std::size_t together) noexcept {
  return part.options.wait < core::flight_timeout(part.wanted.terms->lease, together);
}

void AcquireAllCall::reentered() {
  phase_ = Phase::over;
  std::vector<WantedPart>& parts = parts_.all();
  const auto missing =
      std::find_if(parts.begin(), parts.end(), [](const WantedPart& part) { return !part.held; });
  if (missing == parts.end()) return;
  // The client has lost the hold in the meantime.
  parts_.give_back(0);
  fails(*missing, std::move(missing->failure));
}

void AcquireAllCall::ends(const Machine::Action& action) {
  if (action.end == Machine::End::held) return reenter();
  WantedPart& part = parts_.all()[action.name];
  const bool by_contention = action.end == Machine::End::contended;
  if (by_contention && !is_contention(part.failure.code)) {
    part.failure = {Errc::timeout, part.wanted.slot->name()};
  }
  const bool is_told = told_ || !parts_.has_thread();
  if (!is_told && part.failure.code == Errc::timeout) tell_contended(part);
  fails(part, std::move(part.failure));
}

void AcquireAllCall::fails(WantedPart& part, Failure why) {
  phase_ = Phase::over;
  failed_ = &part;
  failure_ = told_by_name(part.wanted.slot->name(), std::move(why));
}

bool AcquireAllCall::report_wait() noexcept {
  bool is_reported = false;
  for (WantedPart& part : parts_.all()) {
    const ClientState& client = part.wanted.slot->client();
    // An observer may have forked, and may have returned in the child.
    if (client.forked()) break;
    const bool has_it = part.held || (part.call && part.call->holds());
    if (client.observer() == nullptr || part.again || has_it) continue;
    is_reported = part.observed = true;
    client.observer()->waits(event_of(part, part.began));
  }
  return is_reported;
}

void AcquireAllCall::report_end(const Failure& why) noexcept {
  const auto is_another = [](const WantedPart& part) { return !part.again; };
  for (auto part = parts_.all().begin(); part != parts_.all().end();) {
    Slot& slot = *part->wanted.slot;
    const auto next = std::find_if(part + 1, parts_.all().end(), is_another);
    const auto times = static_cast<std::size_t>(next - part);
    WantedPart& wanted = *std::exchange(part, next);
    if (slot.client().forked()) return;
    Observer* const observer = slot.client().observer();
    if (observer == nullptr) continue;
    Event event = event_of(wanted, slot.client().now());
    if (!why) event.token = token_of(slot, options_.owner, event.mode);
    if (std::exchange(wanted.observed, false)) observer->wait_ended(event, why);
    const bool was_held = hold_count(slot, options_.owner, event.mode) > times;
    if (!why && !was_held) observer->granted(event);
  }
  if (failed_ != nullptr && why.code == Errc::timeout) tell_contended(*failed_);
}

const std::string* AcquireAllCall::failed_name() const noexcept {
  return failed_ != nullptr ? &failed_->wanted.slot->name() : nullptr;
}

std::optional<Holder> AcquireAllCall::take_holder() {
  if (failed_ == nullptr) return std::nullopt;
  // The backend may have answered without naming the holder: another thread of this process.
  return failed_->holder ? failed_->holder : local_holder(*failed_->wanted.slot);
}

}  // namespace mortise::runtime
