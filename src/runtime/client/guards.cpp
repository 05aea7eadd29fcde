// SPDX-License-Identifier: MIT
// The public `Guards`, and lock_all() in a throwing and in an error_code form.
#include <mortise/backend.hpp>
#include <mortise/client.hpp>
#include <mortise/guards.hpp>

#include "base/farewell.hpp"
#include "base/printable.hpp"
#include "runtime/call/acquire_all_call.hpp"
#include "runtime/call/release_all.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace mortise {
namespace {

Error wrong_name(const char* words, std::string_view name) {
  return Error({Errc::misconfigured, words + std::string(base::beginning_of(name, 64))});
}

}  // namespace

Guards::Guards() noexcept = default;

void Guards::take(const LockList& locks, const AcquireOptions& options) {
  owner_ = options.owner.or_this_thread();
  AcquireOptions mine = options;
  mine.owner = owner_;
  std::vector<runtime::WantedName> wanted;
  wanted.reserve(locks.locks_.size());
  for (const Lock* lock : locks.locks_)
    wanted.push_back({.slot = lock->slot_, .terms = lock->terms_});
  runtime::AcquireAllCall call(std::move(wanted), mine);
  try {
    failure_ = call.run();
    learn_from(call);
  } catch (const std::system_error& error) {
    call.forsake();
    failure_ = runtime::failure_of(error);
  } catch (...) {
    call.forsake();  // out of memory
    throw;
  }
  receive(call);
}

Guards::Guards(runtime::AcquireAllCall& call, Owner owner, const Failure& failure) noexcept
    : waits_(false), owner_(owner) {
  failure_.code = failure.code;
  base::without_memory([&] {
    failure_ = failure;
    learn_from(call);
  });
  receive(call);
}

void Guards::learn_from(runtime::AcquireAllCall& call) {
  const std::string* const name = call.failed_name();
  if (failure_ && name != nullptr) failed_name_ = *name;
  if (is_contention(failure_.code)) holder_ = call.take_holder();
}

void Guards::receive(runtime::AcquireAllCall& call) noexcept {
  holds_ = !failure_;
  if (holds_) slots_ = call.take_slots();
  for (const auto& held : slots_) runtime::guarded(*held.slot, owner_, held.mode);
}

void Guards::take(Client& client, const NameList& names, const AcquireOptions& options,
                  const LockOptions& lock) {
  std::vector<Lock> made;
  made.reserve(names.names_.size());
  for (const std::string_view name : names.names_) made.push_back(client.make_lock(name, lock));
  take(made, options);
}

Guards::Guards(Guards&& other) noexcept
    : holds_(std::exchange(other.holds_, false)),
      waits_(other.waits_),
      slots_(std::exchange(other.slots_, {})),
      owner_(other.owner_),
      failure_(std::exchange(other.failure_, Failure())),
      failed_name_(std::exchange(other.failed_name_, {})),
      holder_(std::exchange(other.holder_, std::nullopt)) {}

Guards& Guards::operator=(Guards&& other) noexcept {
  if (this != &other) {
    leave(waits_);
    holds_ = std::exchange(other.holds_, false);
    waits_ = other.waits_;
    slots_ = std::exchange(other.slots_, {});
    owner_ = other.owner_;
    failure_ = std::exchange(other.failure_, Failure());
    failed_name_ = std::exchange(other.failed_name_, {});
    holder_ = std::exchange(other.holder_, std::nullopt);
  }
  return *this;
}

Guards::~Guards() { leave(waits_); }

Released Guards::unlock() noexcept { return leave(true); }

Released Guards::leave(bool waits) noexcept {
  if (!std::exchange(holds_, false)) return Released::was_lost;
  const runtime::Unlock how{.owner = owner_, .by = runtime::Unlocking::guard};
  const Released outcome = waits ? runtime::release_all(slots_, how)
                                 : runtime::release_all(slots_, how, runtime::no_wait);
  for (runtime::HeldSlot& held : slots_) runtime::drop(std::move(held.slot));
  slots_.clear();
  return outcome;
}

std::chrono::nanoseconds Guards::valid_for() const noexcept {
  if (!holds_) return std::chrono::nanoseconds(0);
  std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
  for (const auto& held : slots_) {
    shortest = std::min(shortest, runtime::valid_for(*held.slot, owner_, held.mode));
  }
  return shortest;
}

Token Guards::token(std::string_view name) const {
  if (!holds_) return {};
  std::optional<GuardedHold> found;
  for (GuardedHold& hold : holds()) {
    if (hold.name != name) continue;
    if (found) throw wrong_name("lock_all() took locks of several stores with the name ", name);
    found = std::move(hold);
  }
  if (!found) throw wrong_name("lock_all() took no lock with the name ", name);
  return found->token;
}

std::vector<GuardedHold> Guards::holds() const {
  std::vector<GuardedHold> holds;
  const runtime::Slot* last = nullptr;
  for (const auto& held : slots_) {
    // A lock that was named twice is there twice, one behind the other.
    if (std::exchange(last, held.slot.get()) == held.slot.get()) continue;
    holds.push_back({.name = held.slot->name(),
                     .token = runtime::token_of(*held.slot, owner_, held.mode),
                     .store = held.slot->client().store_id()});
  }
  return holds;
}

Guards lock_all(const LockList& locks, const AcquireOptions& options) {
  Guards guards;
  guards.take(locks, options);
  if (guards.failure_ && !is_contention(guards.failure_.code)) throw Error(guards.failure_);
  return guards;
}

Guards lock_all(const LockList& locks, const AcquireOptions& options, std::error_code& ec) {
  Guards guards;
  guards.take(locks, options);
  ec = guards.failure_.code;
  return guards;
}

Guards lock_all(Client& client, const NameList& names, const AcquireOptions& options,
                const LockOptions& lock) {
  Guards guards;
  guards.take(client, names, options, lock);
  if (guards.failure_ && !is_contention(guards.failure_.code)) throw Error(guards.failure_);
  return guards;
}

Guards lock_all(Client& client, const NameList& names, const AcquireOptions& options,
                const LockOptions& lock, std::error_code& ec) {
  Guards guards;
  try {
    guards.take(client, names, options, lock);
  } catch (const std::system_error& error) {
    guards.failure_ = runtime::failure_of(error);
  }
  ec = guards.failure_.code;
  return guards;
}

}  // namespace mortise
