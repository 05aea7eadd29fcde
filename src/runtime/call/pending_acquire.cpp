// SPDX-License-Identifier: MIT
// The machine of a blocking call, stepped whenever it was rung instead of slept for.
#include "runtime/call/pending_acquire.hpp"

#include <mortise/guard.hpp>
#include <mortise/lock.hpp>

#include "base/live_threads.hpp"
#include "runtime/hold/slot.hpp"

#include <utility>

namespace mortise {

Pending<Guard> Lock::acquire_async() { return acquire_async(AcquireOptions()); }

Pending<Guard> Lock::acquire_async(const AcquireOptions& options) {
  return Pending<Guard>(std::make_shared<runtime::PendingAcquire>(
      slot_, terms_, runtime::without_thread(*slot_, options)));
}

namespace runtime {

AcquireOptions without_thread(const Slot& slot, const AcquireOptions& options) {
  if (slot.client().forked()) throw Error(slot.client().closed_failure());
  const Backend& backend = slot.client().store().backend();
  if (backend.needs_waiting_threads()) {
    throw Error({Errc::unsupported, slot.client().store().name() +
                                        ": a waiter of this store needs a thread of its own; make "
                                        "the blocking call in a thread"});
  }
  if (base::is_thread(options.owner)) {
    throw Error({Errc::misconfigured,
                 slot.name() + ": AcquireOptions::owner of an asynchronous call is a thread; "
                               "use Owner::unique(), or leave it empty"});
  }
  AcquireOptions mine = options;
  if (mine.owner == Owner()) mine.owner = Owner::unique();
  return mine;
}

PendingAcquire::PendingAcquire(const std::shared_ptr<Slot>& slot,
                               std::shared_ptr<const core::Terms> terms,
                               const AcquireOptions& options)
    : PendingCall(slot->client().shared_from_this()),
      slot_(slot),
      terms_(std::move(terms)),
      options_(options) {}

PendingAcquire::~PendingAcquire() {
  call_.reset();
  drop(std::move(slot_));
}

void PendingAcquire::begin() {
  call_.emplace(*slot_, terms_, options_, nullptr, Queueing::joins, grace_, this);
}

bool PendingAcquire::step() {
  // If the grant comes first, the guard in the result gives it back.
  if (is_given_up()) grace_.give_up();
  if (must_end()) grace_.end_now();
  if (!call_->advance()) return true;
  call_->report_wait();
  return false;
}

Instant PendingAcquire::again() const noexcept {
  return later(BootClock::now(), call_->sleeps_for());
}

void PendingAcquire::deliver(detail::Handler* handler) noexcept {
  std::optional<Holder> holder;
  if (!failure()) attempt([&] { fails(call_->end(&holder)); });
  call_.reset();
  Guard guard(slot_, options_.owner, terms_->mode, failure(), std::move(holder));
  if (!failure()) attempt([&] { fails(guard.failure_); });
  pass(handler, std::move(guard));
}

}  // namespace runtime
}  // namespace mortise
