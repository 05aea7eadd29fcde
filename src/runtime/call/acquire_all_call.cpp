// SPDX-License-Identifier: MIT
// Several calls of lock() are advanced in turns, each until it would sleep; then the thread sleeps
// for one of them.
#include "runtime/call/acquire_all_call.hpp"

#include "base/one_by_one.hpp"
#include "base/printable.hpp"
#include "core/figures.hpp"
#include "runtime/call/gathered.hpp"
#include "runtime/call/release_all.hpp"
#include "runtime/call/sleep_turns.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <utility>

namespace mortise::runtime {
namespace {

using Fate = core::AcquireAll::Fate;
using Wanted = AcquireAllCall::Wanted;

/// By the names, which everybody calls alike, and so are the stores; what then is left is alike
/// only in this process, of two clients of one store.
bool comes_before(const Wanted& one, const Wanted& other) {
  if (const int order = one.slot->name().compare(other.slot->name()); order != 0) return order < 0;
  ClientState* const first = &one.slot->client();
  ClientState* const second = &other.slot->client();
  if (first == second) return false;
  const int order = first->store_id().words.compare(second->store_id().words);
  return order != 0 ? order < 0 : std::less<>()(first, second);
}

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

}  // namespace

AcquireAllCall::AcquireAllCall(std::vector<Wanted> wanted, const AcquireOptions& options)
    : options_(options), may_wait_(options.wait > core::Nanos(0)), parts_(wanted.size()) {
  freed_.reserve(wanted.size());
  std::sort(wanted.begin(), wanted.end(), comes_before);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Part& part = parts_[i];
    part.wanted = std::move(wanted[i]);
    part.again = i > 0 && part.wanted.slot == parts_[i - 1].wanted.slot;
    const Instant now = part.began = part.wanted.slot->client().now();
    // A try has the time of one request, which includes what it gives back.
    const core::Nanos time =
        may_wait_ ? core::Nanos(options.wait) : core::command_timeout(part.wanted.terms->lease);
    part.until = time >= never - now ? never : now + time;
  }
}

AcquireAllCall::~AcquireAllCall() {
  for (Part& part : parts_) drop(std::move(part.wanted.slot));
}

core::Nanos AcquireAllCall::left(const Part& part) const noexcept {
  if (part.until == never) return forever;
  return part.until - part.wanted.slot->client().now();
}

bool AcquireAllCall::cut_short(const Part& part, std::size_t together) const noexcept {
  return part.options.wait < core::flight_timeout(part.wanted.terms->lease, together);
}

core::Nanos AcquireAllCall::may_wait_for_answers() noexcept {
  core::Nanos least = forever;
  for (const Part& part : parts_) least = std::min(least, left(part));
  const bool is_over = options_.stop.stop_requested() || least <= core::Nanos(0);
  return is_over ? grace_.end() - BootClock::now() : least;
}

Failure AcquireAllCall::check() {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const Wanted& wanted = parts_[i].wanted;
    if (!parts_[i].again || wanted.terms->mode == parts_[i - 1].wanted.terms->mode) continue;
    failed_ = &parts_[i];
    return {
        Errc::misconfigured,
        wanted.slot->name() + ": this call asks for it both shared and exclusive; use one mode"};
  }
  return {};
}

Failure AcquireAllCall::run() {
  if (Failure nonsense = check()) return nonsense;
  Machine machine(may_wait_);
  Machine::Action action = Machine::start();
  bool told = false;
  while (action.what != Machine::Do::end) {
    switch (action.what) {
      case Machine::Do::fly:
        told = false;
        action = machine.step(fly());
        break;
      case Machine::Do::wait: {
        Part& part = parts_[action.name];
        action = machine.step(wait(part));
        told = part.failure.code == Errc::timeout;
        break;
      }
      case Machine::Do::give_back:
        give_back(action.name);
        action = machine.given_back();
        break;
      case Machine::Do::end: break;
    }
  }
  if (action.end == Machine::End::held) return reenter();
  Part& part = parts_[action.name];
  failed_ = &part;
  const std::string& name = part.wanted.slot->name();
  const bool by_contention = action.end == Machine::End::contended;
  if (by_contention && !is_contention(part.failure.code)) part.failure = {Errc::timeout, name};
  if (!told && part.failure.code == Errc::timeout) tell_contended(part);
  return told_by_name(name, std::move(part.failure));
}

void AcquireAllCall::tell_contended(const Part& part) const {
  const Slot& slot = *part.wanted.slot;
  Observer* const observer = slot.client().observer();
  if (observer == nullptr) return;
  observer->contended({.name = slot.name(),
                       .label = part.wanted.terms->label,
                       .took = slot.client().now() - part.began,
                       .mode = part.wanted.terms->mode});
}

AcquireAllCall::Machine::Flown AcquireAllCall::fly() {
  const auto requests = static_cast<std::size_t>(std::count_if(
      parts_.begin(), parts_.end(), [this](const Part& part) { return takes_part(part); }));
  for (Part& part : parts_) {
    if (!takes_part(part)) continue;
    const core::Nanos limit = core::flight_timeout(part.wanted.terms->lease, requests);
    // A moment at least, since a wait of none is a try, which has more.
    const core::Nanos time = std::clamp<core::Nanos>(left(part), core::Nanos(1), limit);
    part.options = {
        .wait = may_wait_ ? time : core::Nanos(0), .stop = options_.stop, .owner = options_.owner};
  }
  ask_for_all();
  Machine::Flown event;
  const Part* first = nullptr;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!takes_part(part)) continue;
    const Fate fate = fate_of(part.failure);
    if (first != nullptr && (event.worst == Fate::failed || fate != Fate::failed)) continue;
    first = &part;
    event.worst = fate;
    event.name = i;
  }
  if (first == nullptr) return event;
  event.time_is_up = may_wait_ && left(*first) <= core::Nanos(0);
  event.cut_short = may_wait_ && cut_short(*first, requests);
  return event;
}

void AcquireAllCall::ask_for_all() {
  grace_ = Grace();
  const auto advance = [this] {
    bool all_over = true;
    for (Part& part : parts_) all_over = !(part.call && part.call->advance()) && all_over;
    return all_over;
  };
  for (Part& part : parts_) {
    if (!takes_part(part)) continue;
    part.call.emplace(*part.wanted.slot, part.wanted.terms, part.options, nullptr, Queueing::tries,
                      grace_);
  }
  bool all_over = false;
  {
    const Gathered together(parts_, [](const Part& part) -> Slot& { return *part.wanted.slot; });
    all_over = advance();
  }
  for (SleepTurns<AcquireCall> turns; !all_over; all_over = advance()) {
    for (Part& part : parts_) {
      if (part.call && !part.call->is_over()) part.call->report_wait();
    }
    turns.begin();
    for (Part& part : parts_) {
      const bool sleeps = part.call && !part.call->is_over();
      if (sleeps) turns.add(*part.call, part.wanted.slot->client());
    }
    turns.sleep(core::Nanos::max());
  }
  for (Part& part : parts_) part.held = part.held || (part.call && part.call->holds());
  for (Part& part : parts_) {
    if (!part.call) continue;
    std::optional<Holder> holder;
    part.failure = part.call->end(&holder);
    if (part.failure) part.holder = std::move(holder);
    part.call.reset();
  }
}

AcquireAllCall::Machine::Waited AcquireAllCall::wait(Part& part) {
  part.options.wait = std::max(left(part), core::Nanos(1));
  grace_ = Grace();
  std::optional<Holder> holder;
  Slot& slot = *part.wanted.slot;
  part.failure = acquire(slot, part.wanted.terms, part.options, &holder, nullptr, &grace_);
  part.held = !part.failure;
  if (holder) part.holder = std::move(holder);
  const bool all = std::none_of(parts_.begin(), parts_.end(),
                                [this](const Part& each) { return takes_part(each); });
  return {.fate = fate_of(part.failure),
          .all_held = all,
          .time_is_up = left(part) <= core::Nanos(0),
          .cut_short = cut_short(part, 1)};
}

void AcquireAllCall::give_back(std::size_t from) {
  freed_.clear();
  for (std::size_t i = from; i < parts_.size(); ++i) {
    const Wanted& wanted = parts_[i].wanted;
    if (std::exchange(parts_[i].held, false)) freed_.push_back({wanted.slot, wanted.terms->mode});
  }
  release_all(freed_, options_.owner, Unlocking::backs_out,
              [this] { return may_wait_for_answers(); });
  freed_.clear();
}

Failure AcquireAllCall::reenter() {
  for (Part& part : parts_) {
    if (!part.again) continue;
    part.options = {.wait = core::Nanos(0), .owner = options_.owner};
    part.failure = acquire(*part.wanted.slot, part.wanted.terms, part.options, &part.holder);
    part.held = !part.failure;
    if (part.held) continue;
    // It was lost since.
    give_back(0);
    failed_ = &part;
    return told_by_name(part.wanted.slot->name(), std::move(part.failure));
  }
  return {};
}

void AcquireAllCall::forsake() noexcept {
  base::OneByOne each;
  for (Part& part : parts_) {
    if (part.call && part.call->is_over()) {
      part.held = part.held || part.call->holds();
    } else if (part.call) {
      each([&] { part.call->forsake(); });
    }
    part.call.reset();
  }
  give_back(0);
}

const std::string* AcquireAllCall::failed_name() const noexcept {
  return failed_ != nullptr ? &failed_->wanted.slot->name() : nullptr;
}

std::optional<Holder> AcquireAllCall::take_holder() {
  if (failed_ == nullptr) return std::nullopt;
  // The backend may have answered without naming the holder: another thread of this process.
  return failed_->holder ? failed_->holder : local_holder(*failed_->wanted.slot);
}

std::vector<HeldSlot> AcquireAllCall::take_slots() noexcept {
  for (Part& part : parts_) {
    freed_.push_back({std::move(part.wanted.slot), part.wanted.terms->mode});
  }
  return std::move(freed_);
}

}  // namespace mortise::runtime
