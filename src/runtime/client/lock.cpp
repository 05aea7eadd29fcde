// SPDX-License-Identifier: MIT
// The public lock: each call in a throwing and in an error_code form.
#include <mortise/lock.hpp>

#include "core/terms.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/call/release_call.hpp"
#include "runtime/client/raise.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"

namespace mortise {
namespace {

using runtime::raise_if;

AcquireOptions one_try() { return {.wait = std::chrono::nanoseconds(0)}; }

/// What the boolean calls tell: contention is no error.
bool acquired(const Failure& failure) {
  if (!is_contention(failure.code)) raise_if(failure);
  return !failure;
}

}  // namespace

Lock::Lock(std::shared_ptr<runtime::Slot> slot, std::shared_ptr<const core::Terms> terms) noexcept
    : slot_(std::move(slot)), terms_(std::move(terms)) {}

Lock::Lock(Lock&&) noexcept = default;

Lock& Lock::operator=(Lock&& other) noexcept {
  if (this != &other) {
    runtime::drop(std::move(slot_));
    slot_ = std::move(other.slot_);
    terms_ = std::move(other.terms_);
  }
  return *this;
}

Lock::~Lock() { runtime::drop(std::move(slot_)); }

void Lock::lock() { raise_if(runtime::acquire(*slot_, terms_, {}, nullptr)); }

void Lock::lock(std::error_code& ec) { ec = runtime::acquire(*slot_, terms_, {}, nullptr).code; }

bool Lock::try_lock() { return acquired(runtime::acquire(*slot_, terms_, one_try(), nullptr)); }

bool Lock::try_lock(std::error_code& ec) { return try_for(std::chrono::nanoseconds(0), ec); }

bool Lock::try_for(std::chrono::nanoseconds wait, std::error_code& ec) {
  const Failure failure = runtime::acquire(*slot_, terms_, {.wait = wait}, nullptr);
  ec = is_contention(failure.code) ? std::error_code() : failure.code;
  return !failure;
}

bool Lock::acquire(const AcquireOptions& options) {
  return acquired(runtime::acquire(*slot_, terms_, options, nullptr));
}

bool Lock::acquire(const AcquireOptions& options, std::error_code& ec) {
  ec = runtime::acquire(*slot_, terms_, options, nullptr).code;
  return !ec;
}

void Lock::unlock(Owner owner) { release(owner); }

void Lock::unlock(std::error_code& ec, Owner owner) { release(ec, owner); }

Released Lock::release(Owner owner) {
  Failure failure;
  const Released outcome = runtime::ReleaseCall(*slot_, {owner, terms_->mode}).run(failure);
  raise_if(failure);
  return outcome;
}

Released Lock::release(std::error_code& ec, Owner owner) {
  Failure failure;
  const Released outcome = runtime::ReleaseCall(*slot_, {owner, terms_->mode}).run(failure);
  ec = failure.code;
  return outcome;
}

std::size_t Lock::hold_count(Owner owner) const {
  return runtime::hold_count(*slot_, owner, terms_->mode);
}
Token Lock::token(Owner owner) const { return runtime::token_of(*slot_, owner, terms_->mode); }
std::chrono::nanoseconds Lock::valid_for(Owner owner) const {
  return runtime::valid_for(*slot_, owner, terms_->mode);
}
std::stop_token Lock::lost(Owner owner) const { return runtime::lost(*slot_, owner, terms_->mode); }

std::optional<Holder> Lock::holder() const {
  Failure failure;
  std::optional<Holder> holder = runtime::ask_holder(*slot_, failure);
  raise_if(failure);
  return holder;
}

std::optional<Holder> Lock::holder(std::error_code& ec) const {
  Failure failure;
  std::optional<Holder> holder = runtime::ask_holder(*slot_, failure);
  ec = failure.code;
  return holder;
}

const std::string& Lock::name() const noexcept { return slot_->name(); }

}  // namespace mortise
