// SPDX-License-Identifier: MIT
// The public `Guards`, and lock_all() in a throwing and in an error_code form.
#include <mortise/guards.hpp>

#include "runtime/acquire_all_call.hpp"
#include "runtime/raise.hpp"
#include "runtime/release_all.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace mortise {

Guards::Guards() noexcept = default;

void Guards::take(Locks locks, const AcquireOptions& options) {
  owner_ = options.owner.or_this_thread();
  AcquireOptions mine = options;
  mine.owner = owner_;
  std::vector<runtime::AcquireAllCall::Wanted> wanted;
  wanted.reserve(locks.size());
  for (const Lock& lock : locks) wanted.push_back({.slot = lock.slot_, .terms = lock.terms_});
  runtime::AcquireAllCall call(std::move(wanted), mine);
  try {
    failure_ = call.run();
    if (failure_) failed_name_ = *call.failed_name();
    if (is_contention(failure_.code)) holder_ = call.take_holder();
  } catch (const std::system_error& error) {
    call.forsake();
    failure_ = runtime::failure_of(error);
  } catch (...) {
    call.forsake();  // out of memory
    throw;
  }
  holds_ = !failure_;
  if (holds_) slots_ = call.take_slots();
  for (const auto& held : slots_) held.slot->guarded(owner_, held.mode);
}

Guards::Guards(Guards&& other) noexcept
    : holds_(std::exchange(other.holds_, false)),
      slots_(std::exchange(other.slots_, {})),
      owner_(other.owner_),
      failure_(std::exchange(other.failure_, Failure())),
      failed_name_(std::exchange(other.failed_name_, {})),
      holder_(std::exchange(other.holder_, std::nullopt)) {}

Guards& Guards::operator=(Guards&& other) noexcept {
  if (this != &other) {
    unlock();
    holds_ = std::exchange(other.holds_, false);
    slots_ = std::exchange(other.slots_, {});
    owner_ = other.owner_;
    failure_ = std::exchange(other.failure_, Failure());
    failed_name_ = std::exchange(other.failed_name_, {});
    holder_ = std::exchange(other.holder_, std::nullopt);
  }
  return *this;
}

Guards::~Guards() { unlock(); }

Released Guards::unlock() noexcept {
  if (!std::exchange(holds_, false)) return Released::was_lost;
  const Released outcome = runtime::release_all(slots_, owner_, runtime::Unlocking::guard);
  for (runtime::HeldSlot& held : slots_) runtime::drop(std::move(held.slot));
  slots_.clear();
  return outcome;
}

std::chrono::nanoseconds Guards::valid_for() const noexcept {
  if (!holds_) return std::chrono::nanoseconds(0);
  std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
  for (const auto& held : slots_) {
    shortest = std::min(shortest, held.slot->valid_for(owner_, held.mode));
  }
  return shortest;
}

Guards lock_all(std::span<const std::reference_wrapper<Lock>> locks,
                const AcquireOptions& options) {
  Guards guards;
  guards.take(locks, options);
  if (guards.failure_ && !is_contention(guards.failure_.code)) throw Error(guards.failure_);
  return guards;
}

Guards lock_all(std::span<const std::reference_wrapper<Lock>> locks, const AcquireOptions& options,
                std::error_code& ec) {
  Guards guards;
  guards.take(locks, options);
  ec = guards.failure_.code;
  return guards;
}

}  // namespace mortise
