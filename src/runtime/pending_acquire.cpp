// SPDX-License-Identifier: MIT
// The machine of a blocking call, stepped whenever it was rung instead of slept for.
#include "runtime/pending_acquire.hpp"

#include <mortise/guard.hpp>
#include <mortise/lock.hpp>

#include "base/live_threads.hpp"
#include "runtime/raise.hpp"
#include "runtime/slot.hpp"

#include <exception>
#include <system_error>
#include <utility>

namespace mortise {

Pending<Guard> Lock::acquire_async() { return acquire_async(AcquireOptions()); }

Pending<Guard> Lock::acquire_async(const AcquireOptions& options) {
  runtime::ClientState& client = slot_->client();
  if (client.store().backend().needs_waiting_threads()) {
    throw Error({Errc::unsupported, client.store().backend().describe() +
                                        ": acquire_async(): a waiter of this store needs a thread "
                                        "of its own; call lock() or Guard in a thread"});
  }
  if (base::is_thread(options.owner)) {
    throw Error({Errc::misconfigured, slot_->name() +
                                          ": AcquireOptions::owner of acquire_async() is a thread; "
                                          "use Owner::unique(), or leave it empty"});
  }
  AcquireOptions mine = options;
  if (mine.owner == Owner()) mine.owner = Owner::unique();
  return Pending<Guard>(std::make_shared<runtime::PendingAcquire>(slot_, terms_, mine));
}

namespace runtime {

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

bool PendingAcquire::step() noexcept {
  // If the grant comes first, the guard in the result gives it back.
  if (is_given_up()) grace_.give_up();
  try {
    if (call_->advance()) {
      call_->report_wait();
      return false;
    }
  } catch (const std::exception& error) {
    Failure why;
    why.code = Errc::exhausted;  // without memory for words
    const auto* const known = dynamic_cast<const std::system_error*>(&error);
    try {
      if (known != nullptr) why = failure_of(*known);
      call_->forsake();
    } catch (const std::exception&) {
      // Out of memory for the request that takes it back: it ends by itself.
    }
    fails(std::move(why));
  }
  return true;
}

Instant PendingAcquire::again() const noexcept {
  return later(BootClock::now(), call_->sleeps_for());
}

void PendingAcquire::deliver(PendingHandler* handler) noexcept {
  std::optional<Holder> holder;
  try {
    if (!failure()) fails(call_->end(&holder));
  } catch (const std::exception&) {
    Failure why;
    why.code = Errc::exhausted;
    fails(std::move(why));
  }
  call_.reset();
  Guard guard(slot_, options_.owner, terms_->mode, failure(), std::move(holder));
  if (!failure()) fails(guard.failure_);
  hand_over(handler, &guard);
}

}  // namespace runtime
}  // namespace mortise
