// SPDX-License-Identifier: MIT
// The public `Semaphore`: a slot for each owner, since each has a hold of its own at the store.
#include <mortise/semaphore.hpp>

#include "core/terms.hpp"
#include "runtime/call/pending_permit.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

#include <utility>

namespace mortise {
namespace {

AcquireOptions with_owner(const AcquireOptions& options) {
  AcquireOptions mine = options;
  // Not the calling thread: its second permit would be the first one again.
  if (mine.owner == Owner()) mine.owner = Owner::unique();
  return mine;
}

}  // namespace

Semaphore::Semaphore(std::shared_ptr<runtime::Slot> slot,
                     std::shared_ptr<const core::Terms> terms) noexcept
    : slot_(std::move(slot)), terms_(std::move(terms)) {}

Semaphore::Semaphore(Semaphore&&) noexcept = default;

Semaphore& Semaphore::operator=(Semaphore&& other) noexcept {
  if (this != &other) {
    runtime::drop(std::move(slot_));
    slot_ = std::move(other.slot_);
    terms_ = std::move(other.terms_);
  }
  return *this;
}

Semaphore::~Semaphore() { runtime::drop(std::move(slot_)); }

// In a forked child the table's mutex may be locked for ever; and nothing is taken there.
Lock Semaphore::handle_of(Owner owner) const {
  runtime::ClientState& client = slot_->client();
  return {client.forked() ? slot_ : client.slot(slot_->name(), Mode::permit, owner), terms_};
}

Permit Semaphore::acquire(const AcquireOptions& options) {
  const AcquireOptions mine = with_owner(options);
  return Permit(Guard(handle_of(mine.owner), mine));
}

Permit Semaphore::acquire(const AcquireOptions& options, std::error_code& ec) {
  const AcquireOptions mine = with_owner(options);
  return Permit(Guard(handle_of(mine.owner), mine, ec));
}

Pending<Permit> Semaphore::acquire_async() { return acquire_async(AcquireOptions()); }

Pending<Permit> Semaphore::acquire_async(const AcquireOptions& options) {
  const AcquireOptions mine = runtime::without_thread(*slot_, options);
  return Pending<Permit>(
      std::make_shared<runtime::PendingPermit>(handle_of(mine.owner).slot_, terms_, mine));
}

const std::string& Semaphore::name() const noexcept { return slot_->name(); }

std::uint32_t Semaphore::permits() const noexcept { return terms_->permits; }

}  // namespace mortise
