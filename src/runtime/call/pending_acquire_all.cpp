// SPDX-License-Identifier: MIT
// Steps the machine of `lock_all()` at each ring. No thread sleeps for it.
#include "runtime/call/pending_acquire_all.hpp"

#include <mortise/client.hpp>
#include <mortise/guards.hpp>

#include "runtime/call/pending_acquire.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <utility>

namespace mortise {

Pending<Guards> Guards::pending(const LockList& locks, const AcquireOptions& options,
                                Client* client) {
  if (client == nullptr && locks.locks_.empty()) {
    throw Error({Errc::misconfigured,
                 "lock_all_async(): an empty list has no client that can run the handler; pass a "
                 "client and a list of names"});
  }
  AcquireOptions mine = options;
  std::vector<runtime::WantedName> wanted;
  wanted.reserve(locks.locks_.size());
  for (const Lock* lock : locks.locks_) {
    mine = runtime::without_thread(*lock->slot_, mine);
    wanted.push_back({.slot = lock->slot_, .terms = lock->terms_});
  }
  auto carries = client != nullptr ? client->state_ : wanted[0].slot->client().shared_from_this();
  return Pending<Guards>(
      std::make_shared<runtime::PendingAcquireAll>(std::move(carries), std::move(wanted), mine));
}

Pending<Guards> Guards::pending(Client& client, const NameList& names,
                                const AcquireOptions& options, const LockOptions& lock) {
  std::vector<Lock> made;
  made.reserve(names.names_.size());
  for (const std::string_view name : names.names_) made.push_back(client.make_lock(name, lock));
  return pending(made, options, &client);
}

Pending<Guards> lock_all_async(const LockList& locks, const AcquireOptions& options) {
  return Guards::pending(locks, options, nullptr);
}

Pending<Guards> lock_all_async(Client& client, const NameList& names, const AcquireOptions& options,
                               const LockOptions& lock) {
  return Guards::pending(client, names, options, lock);
}

namespace runtime {

PendingAcquireAll::PendingAcquireAll(std::shared_ptr<ClientState> client,
                                     std::vector<WantedName> wanted, const AcquireOptions& options)
    : PendingCall(std::move(client)), wanted_(std::move(wanted)), options_(options) {
  for (const WantedName& each : wanted_) {
    ClientState* const of = &each.slot->client();
    const bool is_new = std::find(others_.begin(), others_.end(), of) == others_.end();
    if (of != &this->client() && is_new) others_.push_back(of);
    place().observed = place().observed || of->observer() != nullptr;
  }
}

PendingAcquireAll::~PendingAcquireAll() {
  call_.reset();
  for (WantedName& each : wanted_) drop(std::move(each.slot));
}

void PendingAcquireAll::begin() {
  for (ClientState* const other : others_) other->store().background().start();
  call_.emplace(wanted_, options_, this);
}

bool PendingAcquireAll::step() {
  was_closed_ = was_closed_ || (!is_given_up() && !client().alive());
  if (is_given_up() || was_closed_) call_->give_up();
  if (must_end()) call_->end_now();
  // The thread that starts the call makes only the first step, and runs the observer of the wait.
  // The time of the observer is a part of the time of the call.
  const bool may_report = std::exchange(is_first_step_, false);
  bool sleeps = call_->advance();
  if (sleeps && may_report && call_->report_wait()) sleeps = call_->advance();
  if (!sleeps) return true;
  // The thread of this step reads no answers for other clients.
  for (ClientState* const other : others_) {
    if (!other->forked()) other->store().engine().have_replies_read();
  }
  return false;
}

Instant PendingAcquireAll::again() const noexcept {
  return later(BootClock::now(), call_->sleeps_for());
}

void PendingAcquireAll::deliver(detail::Handler* handler) noexcept {
  if (!failure()) fails(call_->take_failure());
  // The request of another client ends with `cancelled` if this client is closed.
  const bool is_stopped = options_.stop.stop_requested();
  if (was_closed_ && !is_stopped && failure().code == Errc::cancelled) {
    Failure why;
    why.code = Errc::closed;
    static_cast<void>(tried([&] { why = client().closed_failure(); }));
    fails(std::move(why));
  }
  call_->report_end(failure());
  // An observer may have forked, and may have returned in the child.
  if (!failure() && client().forked()) attempt([&] { fails(client().closed_failure()); });
  Guards guards(*call_, options_.owner, failure());
  call_.reset();
  hand_over(handler, &guards);
}

}  // namespace runtime
}  // namespace mortise
