// SPDX-License-Identifier: MIT
// Advances several calls of lock() in turns, each until it must sleep. Then the thread sleeps for
// one of them, or returns.
#include "runtime/call/acquire_all_parts.hpp"

#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "runtime/call/gathered.hpp"
#include "runtime/call/release_all.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

namespace mortise::runtime {
namespace {

/// All clients use the same names for locks and stores, so this order is the same in all processes.
/// Two clients of one store have an order in this process only.
bool comes_before(const WantedName& one, const WantedName& other) {
  if (const int order = one.slot->name().compare(other.slot->name()); order != 0) return order < 0;
  ClientState* const first = &one.slot->client();
  ClientState* const second = &other.slot->client();
  if (first == second) return false;
  const int order = first->store_id().words.compare(second->store_id().words);
  return order != 0 ? order < 0 : std::less<>()(first, second);
}

}  // namespace

core::Nanos WantedPart::left() const noexcept {
  if (until == never) return forever;
  return until - wanted.slot->client().now();
}

AcquireAllParts::AcquireAllParts(std::vector<WantedName> wanted, const AcquireOptions& options,
                                 Waker* waker)
    : options_(options), waker_(waker), parts_(wanted.size()) {
  freed_.reserve(wanted.size());
  std::sort(wanted.begin(), wanted.end(), comes_before);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    WantedPart& part = parts_[i];
    part.wanted = std::move(wanted[i]);
    part.again = i > 0 && part.wanted.slot == parts_[i - 1].wanted.slot;
    const Instant now = part.began = part.wanted.slot->client().now();
    // A try has the time of one request. In this time it also gives its holds back.
    const core::Nanos time = options.wait > core::Nanos(0)
                                 ? core::Nanos(options.wait)
                                 : core::command_timeout(part.wanted.terms->lease);
    part.until = time >= never - now ? never : now + time;
  }
}

AcquireAllParts::~AcquireAllParts() {
  for (WantedPart& part : parts_) {
    part.call.reset();
    drop(std::move(part.wanted.slot));
  }
}

void AcquireAllParts::begin(bool together) noexcept {
  const bool is_given_up = grace_.is_given_up();
  grace_ = Grace();
  if (is_given_up) grace_.give_up();
  gathers_ = together;
}

void AcquireAllParts::ask(WantedPart& part, Queueing queueing) {
  part.call.emplace(*part.wanted.slot, part.wanted.terms, part.options, nullptr, queueing, grace_,
                    waker_);
}

bool AcquireAllParts::advance() {
  if (!std::exchange(gathers_, false)) return advance_all();
  const Gathered together(parts_,
                          [](const WantedPart& part) -> Slot& { return *part.wanted.slot; });
  return advance_all();
}

bool AcquireAllParts::advance_all() {
  bool sleeps = false;
  for (WantedPart& part : parts_) sleeps = (part.call && advance(part)) || sleeps;
  return sleeps;
}

bool AcquireAllParts::advance(WantedPart& part) {
  try {
    return part.call->advance();
  } catch (const std::system_error& error) {
    Failure why = failure_of(error);
    part.call->forsake();
    part.call.reset();
    part.failure = std::move(why);
    return false;
  }
}

void AcquireAllParts::sleep() {
  turns_.begin();
  for (WantedPart& part : parts_) {
    if (part.is_under_way()) turns_.add(*part.call, part.wanted.slot->client());
  }
  if (!turns_.empty()) turns_.sleep(core::Nanos::max());
}

core::Nanos AcquireAllParts::sleeps_for() noexcept {
  core::Nanos least = core::Nanos::max();
  for (WantedPart& part : parts_) {
    if (part.is_under_way()) least = std::min(least, part.call->sleeps_for());
  }
  return least;
}

void AcquireAllParts::report_wait() noexcept {
  for (WantedPart& part : parts_) {
    if (part.is_under_way()) part.call->report_wait();
  }
}

void AcquireAllParts::take_answers() {
  // First, because the next loop needs memory for the failures.
  for (WantedPart& part : parts_) {
    if (!part.call || !part.call->holds()) continue;
    part.held = true;
  }
  for (WantedPart& part : parts_) {
    if (!part.call) continue;
    std::optional<Holder> holder;
    part.failure = part.call->end(&holder, has_thread());
    if (!part.failure || holder) part.holder = std::move(holder);
    part.call.reset();
  }
}

// A caller without a thread waits for no answer: the client repeats a request without an answer.
// The observer of such a caller does not know of these holds, so it gets no report of their end.
void AcquireAllParts::give_back(std::size_t from) {
  freed_.clear();
  for (std::size_t i = from; i < parts_.size(); ++i) {
    const WantedName& wanted = parts_[i].wanted;
    if (std::exchange(parts_[i].held, false)) freed_.push_back({wanted.slot, wanted.terms->mode});
  }
  release_all(freed_,
              {.owner = options_.owner, .by = Unlocking::backs_out, .is_reported = has_thread()},
              [this] { return may_wait_for_answers(); });
  freed_.clear();
}

core::Nanos AcquireAllParts::may_wait_for_answers() noexcept {
  if (!has_thread()) return no_wait();
  core::Nanos least = forever;
  for (const WantedPart& part : parts_) least = std::min(least, part.left());
  const bool is_over = options_.stop.stop_requested() || least <= core::Nanos(0);
  return is_over ? grace_.end() - BootClock::now() : least;
}

void AcquireAllParts::forsake() noexcept {
  base::OneByOne each;
  for (WantedPart& part : parts_) {
    if (part.call && part.call->is_over()) {
      part.held = part.held || part.call->holds();
    } else if (part.call) {
      each([&] { part.call->forsake(); });
    }
    part.call.reset();
  }
  give_back(0);
}

std::vector<HeldSlot> AcquireAllParts::take_slots() noexcept {
  for (WantedPart& part : parts_) {
    freed_.push_back({std::move(part.wanted.slot), part.wanted.terms->mode});
  }
  return std::move(freed_);
}

}  // namespace mortise::runtime
