// SPDX-License-Identifier: MIT
// The public `Guard`: a hold that ends with a scope, whatever throws in between.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "core/terms.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/call/release_call.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

#include <system_error>
#include <utility>

namespace mortise {

Guard::Guard() noexcept = default;

// They delegate, so that the destructor runs, and frees what was taken, where the rest of the work
// throws: there may be no memory for the stop state.
Guard::Guard(Lock& lock, const AcquireOptions& options) : Guard() {
  take(lock, options);
  if (failure_ && !is_contention(failure_.code)) throw Error(failure_);
}

Guard::Guard(Lock& lock, const AcquireOptions& options, std::error_code& ec) : Guard() {
  take(lock, options);
  ec = failure_.code;
}

Guard::Guard(Client& client, std::string_view name, const AcquireOptions& options,
             const LockOptions& lock)
    : Guard(client.make_lock(name, lock), options) {}

Guard::Guard(Client& client, std::string_view name, const AcquireOptions& options,
             const LockOptions& lock, std::error_code& ec)
    : Guard() {
  try {
    Lock made = client.make_lock(name, lock);
    take(made, options);
  } catch (const std::system_error& error) {
    failure_ = runtime::failure_of(error);
  }
  ec = failure_.code;
}

void Guard::take(Lock& lock, const AcquireOptions& options) {
  owner_ = options.owner.or_this_thread();
  mode_ = lock.terms_->mode;
  AcquireOptions mine = options;
  mine.owner = owner_;
  // An observer may destroy the lock, which need not outlive the guard.
  std::shared_ptr<runtime::Slot> slot = lock.slot_;
  failure_ = runtime::acquire(*slot, lock.terms_, mine, &holder_);
  receive(std::move(slot));
}

Guard::Guard(std::shared_ptr<runtime::Slot> slot, Owner owner, Mode mode, const Failure& failure,
             std::optional<Holder> holder) noexcept
    : mode_(mode), waits_(false), owner_(owner), holder_(std::move(holder)) {
  try {
    failure_ = failure;
    receive(std::move(slot));
  } catch (const std::exception&) {
    // No memory for the stop state, or for words: an owner that cannot learn of a loss holds
    // nothing.
    leave(false);
    if (!failure_) failure_.code = failure ? failure.code : make_error_code(Errc::exhausted);
  }
}

void Guard::receive(std::shared_ptr<runtime::Slot> slot) {
  if (failure_) {
    // The backend may have answered without naming the holder: another thread of this process.
    if (is_contention(failure_.code) && !holder_) holder_ = runtime::local_holder(*slot);
    return;
  }
  slot_ = std::move(slot);
  runtime::Guarded mine_now = runtime::guard(*slot_, owner_, mode_);
  token_ = mine_now.token;
  lost_ = std::move(mine_now.lost);
}

Guard::Guard(Guard&& other) noexcept
    : slot_(std::move(other.slot_)),
      mode_(other.mode_),
      waits_(other.waits_),
      owner_(other.owner_),
      token_(std::exchange(other.token_, Token())),
      lost_(std::exchange(other.lost_, std::stop_token())),
      failure_(std::exchange(other.failure_, Failure())),
      holder_(std::exchange(other.holder_, std::nullopt)) {}

Guard& Guard::operator=(Guard&& other) noexcept {
  if (this != &other) {
    leave(waits_);
    slot_ = std::move(other.slot_);
    mode_ = other.mode_;
    waits_ = other.waits_;
    owner_ = other.owner_;
    token_ = std::exchange(other.token_, Token());
    lost_ = std::exchange(other.lost_, std::stop_token());
    failure_ = std::exchange(other.failure_, Failure());
    holder_ = std::exchange(other.holder_, std::nullopt);
  }
  return *this;
}

Guard::~Guard() { leave(waits_); }

Released Guard::unlock() noexcept { return leave(true); }

Released Guard::leave(bool waits) noexcept {
  if (!slot_) return Released::was_lost;
  Released outcome = Released::unknown;
  try {
    Failure misuse;  // somebody unlocked with the guard's owner before: nothing is left to free
    runtime::ReleaseCall release(*slot_, {owner_, mode_, runtime::Unlocking::guard});
    if (!waits) release.hurry();
    outcome = release.run(misuse);
    if (misuse) outcome = Released::was_lost;
  } catch (const std::exception&) {
    // Out of memory for the request: the hold ends at its deadline.
  }
  runtime::drop(std::move(slot_));
  slot_.reset();
  token_ = Token();
  return outcome;
}

std::string Guard::name() const { return slot_ ? slot_->name() : std::string(); }

StoreId Guard::store() const { return slot_ ? slot_->client().store_id() : StoreId(); }

std::chrono::nanoseconds Guard::valid_for() const noexcept {
  return slot_ ? runtime::valid_for(*slot_, owner_, mode_) : std::chrono::nanoseconds(0);
}

}  // namespace mortise
