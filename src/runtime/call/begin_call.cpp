// SPDX-License-Identifier: MIT
#include "runtime/call/begin_call.hpp"

#include "core/figures.hpp"
#include "core/terms.hpp"
#include "core/verdict.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/open_run.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace mortise::runtime {
namespace {

std::shared_ptr<const Record> pending(const std::optional<Holder>& holder) {
  const Token token = holder ? holder->token : Token();
  return std::make_shared<const Record>(Record{
      .state = KeyState::pending, .number = token.value() / core::tokens_in_a_grant, .held = true});
}

/// For a caller that may not wait. Perhaps no client held the key at that moment, but another
/// caller of this process was about to ask for it.
std::shared_ptr<const Record> pending(const Record& found) {
  return std::make_shared<const Record>(Record{
      .state = KeyState::pending, .run = found.run, .number = found.number, .held = found.held});
}

bool answers(const Memory& asked, const Record& record) {
  const core::Verdict verdict = core::judge(asked, record);
  return verdict == core::Verdict::replay || verdict == core::Verdict::mismatch;
}

}  // namespace

BeginCall::BeginCall(Beginning what, Grace& grace, Waker* waker)
    : what_(std::move(what)),
      grace_(grace),
      waker_(waker),
      began_(what_.slot->client().now()),
      open_(std::make_shared<OpenRun>(what_.slot, waker == nullptr)),
      asker_(waker == nullptr ? Owner::this_thread() : open_->owner()) {
  run_.key_ = what_.slot->name();
}

BeginCall::~BeginCall() {
  request_.call.reset();
  end_recall();
  run_.give_back();
  open_.reset();
  drop(std::move(what_.slot));
}

void BeginCall::run(Run& run) {
  try {
    while (advance()) {
      report_wait();
      sleep();
    }
    run = end();
  } catch (const std::system_error& error) {
    forsake();
    run_.give_back();
    run_.failure_ = failure_of(error);
    run = std::move(run_);
  } catch (...) {
    forsake();  // out of memory: the key must not wait for a call that is over
    throw;
  }
}

bool BeginCall::advance() {
  while (phase_ != Phase::over) {
    switch (phase_) {
      case Phase::learn: phase_ = learn(); break;
      case Phase::recall:
        if (waits_for_record()) return true;
        phase_ = recalled();
        break;
      case Phase::ask: phase_ = ask(); break;
      case Phase::wait:
        if (request_.call->advance()) return true;
        phase_ = asked();
        break;
      case Phase::over: break;
    }
  }
  return false;
}

void BeginCall::sleep() {
  if (request_.call) return request_.call->sleep(core::Nanos::max());
  recall_.silence = recall_.question->wait(recall_.until - BootClock::now());
  recall_.until = Instant{};  // it has had its time
}

core::Nanos BeginCall::sleeps_for() noexcept {
  return request_.call ? request_.call->sleeps_for() : recall_.until - BootClock::now();
}

void BeginCall::report_wait() noexcept {
  if (request_.call) request_.call->report_wait();
}

core::Nanos BeginCall::left() const noexcept {
  if (what_.wait == forever) return forever;
  return std::max<core::Nanos>(what_.wait - (what_.slot->client().now() - began_),
                               std::chrono::microseconds(1));
}

// If another caller of this process asks for the key just now, the key may have an outcome already.
// So a caller that may not wait asks the store before it gets `pending`. A caller with another
// fingerprint does not wait for the other callers.
BeginCall::Phase BeginCall::learn() {
  Slot& slot = *what_.slot;
  if (!slot.client().alive()) return Phase::ask;
  const KeyGlance seen = glance(slot, *what_.memory, asker_);
  if (seen.runs && seen.differs) {
    told(seen.runs);
    return Phase::over;
  }
  if (seen.runs && seen.own && may_wait()) {
    run_.failure_ = {Errc::unsupported,
                     slot.name() + ": this thread already runs the key, and would wait for itself"};
    return Phase::over;
  }
  if (seen.runs && !may_wait()) {
    run_.failure_ = {Errc::timeout, slot.name()};
    run_.outcome_ = Outcome(seen.runs);
    return Phase::over;
  }
  if (!seen.differs && (may_wait() || !seen.others)) return Phase::ask;
  const core::Nanos at_most = core::command_timeout(what_.terms->lease);
  begin_to_recall(may_wait() ? std::min(left(), at_most) : at_most);
  return Phase::recall;
}

void BeginCall::begin_to_recall(core::Nanos at_most) {
  recall_.asked = std::make_shared<Recollection>(Recollection::Kind::look, what_.slot->name());
  if (waker_ != nullptr) recall_.asked->wake_through(waker_->weak_from_this());
  if (may_wait()) {
    recall_.on_stop.emplace(what_.stop, [this] {
      // In a forked child the waiting thread does not exist, and its mutex may be locked for ever.
      if (what_.slot->client().forked()) return;
      recall_.asked->failed({Errc::cancelled, std::string()});
    });
  }
  recall_.until = BootClock::now() + at_most;
  recall_.question.emplace(what_.slot->client().store(), *recall_.asked, Errc::unavailable);
  recall_.silence = recall_.question->send(
      [this](Backend& backend) { backend.records()->recall(recall_.asked); });
  if (recall_.silence) recall_.until = Instant{};
}

void BeginCall::end_recall() noexcept {
  recall_.on_stop.reset();
  recall_.question.reset();
  recall_.asked.reset();
}

bool BeginCall::waits_for_record() const noexcept {
  return !recall_.asked->done() && BootClock::now() < recall_.until && !grace_.is_given_up() &&
         what_.slot->client().alive();
}

BeginCall::Phase BeginCall::recalled() {
  const Slot& slot = *what_.slot;
  std::shared_ptr<const Record> found;
  Failure why = std::move(recall_.silence);
  if (recall_.asked->done()) {
    why = recall_.asked->failure();
    if (!why) found = recall_.asked->record();
  } else if (!why) {
    why = slot.client().store().why_unanswered(*recall_.asked);
  }
  end_recall();
  if (found && answers(*what_.memory, *found)) {
    told(found);
    return Phase::over;
  }
  // The request itself reports a failure of the store, and it has more time for that.
  if (may_wait() || (!found && !slot.client().alive())) return Phase::ask;
  const Errc contended = grace_.is_given_up() ? Errc::cancelled : Errc::timeout;
  run_.failure_ = why && !grace_.is_given_up() ? std::move(why) : Failure(contended, slot.name());
  if (found) run_.outcome_ = Outcome(pending(*found));
  return Phase::over;
}

BeginCall::Phase BeginCall::ask() {
  request_.key = {.memory = what_.memory, .begun_by = asker_};
  request_.options = {.wait = what_.wait, .stop = what_.stop, .owner = open_->owner()};
  if (may_wait()) request_.options.wait = left();
  request_.call.emplace(*what_.slot, what_.terms, request_.options, &request_.key, Queueing::joins,
                        grace_, waker_);
  return Phase::wait;
}

BeginCall::Phase BeginCall::asked() {
  if (request_.call->holds()) begun();
  if (!request_.key.busy_here) return Phase::over;
  // The caller may not wait. Other callers of this process came in between and may know the
  // outcome. The call has not slept yet, so the observer runs on the thread that began the call.
  take_answer();
  if (!is_contention(run_.failure_.code)) return Phase::over;
  run_.failure_ = Failure();
  run_.outcome_ = Outcome();
  return Phase::learn;
}

// From here on the key is given back, whatever fails.
void BeginCall::begun() noexcept {
  KeyCall& key = request_.key;
  run_.number_ = key.run;
  run_.token_ = Token(key.hold.number * core::tokens_in_a_grant);
  open_->begun(std::move(key));
  run_.open_ = std::move(open_);
}

Run BeginCall::end() {
  if (request_.call) take_answer();
  return std::move(run_);
}

void BeginCall::take_answer() {
  std::optional<Holder> holder;
  run_.failure_ = request_.call->end(&holder);
  request_.call.reset();
  if (run_.failure_) run_.give_back();  // in a child that an observer has forked
  if (!run_.failure_ && request_.key.record) return told(request_.key.record);
  if (run_.open_) {
    run_.lost_ = run_.open_->lost();
  } else if (is_contention(run_.failure_.code)) {
    const std::shared_ptr<const Record> here = glance(*what_.slot, *what_.memory, asker_).runs;
    run_.outcome_ = Outcome(here ? here : pending(holder));
  }
}

void BeginCall::told(const std::shared_ptr<const Record>& record) {
  switch (core::judge(*what_.memory, *record)) {
    case core::Verdict::replay: run_.outcome_ = Outcome(record, true); return;
    case core::Verdict::mismatch: run_.failure_ = {Errc::mismatch, run_.key_}; return;
    case core::Verdict::run:
    case core::Verdict::wait: break;
  }
  run_.failure_ = {Errc::protocol,
                   run_.key_ + ": the store returned neither a grant nor an outcome"};
}

void BeginCall::forsake() {
  if (request_.call && !request_.call->is_over()) request_.call->forsake();
}

}  // namespace mortise::runtime
