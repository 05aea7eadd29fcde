// SPDX-License-Identifier: MIT
// A slot's live hold over time: renewal, loss, and the end of the client.
#include "base/mutant.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/slot.hpp"

#include <algorithm>
#include <exception>

namespace mortise::runtime {

void RenewalBatch::add(const std::shared_ptr<Slot>& slot, std::uint64_t generation, Item item) {
  slots_.emplace_back(slot, generation);
  items().push_back(std::move(item));
}

void RenewalBatch::finished() noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::shared_ptr<Slot> slot = slots_[i].first.lock();
    if (!slot) continue;
    try {
      slot->renewal_answered(slots_[i].second, items()[i], failure());
    } catch (const std::exception&) {
      // Out of memory: an answer that was not learned is asked for again, inside the lease.
    }
  }
}

void Slot::arm_locked(const core::Lease& lease) {
  if (lease.next() == never) return disarm_locked();
  client_->background().set(timer_, lease.next(), lease.early());
  armed_ = lease.next();
}

void Slot::disarm_locked() noexcept {
  if (armed_ != never) client_->background().remove(timer_);
  armed_ = never;
}

void Slot::expire_locked(Instant now, Aftermath& after) {
  core::Hold* const live = state_.live();
  if (live == nullptr || now < live->lease.deadline()) return;
  // A lease runs out at the server by itself, later than here. A hold that was merely long enough
  // does not, nor one whose renewal is still under way: the server may carry that out after the
  // deadline, and would then keep the name for a whole lease that nobody uses.
  const bool by_max_hold = live->lease.ends_by_max_hold();
  const bool in_doubt = live->lease.in_doubt() && !base::mutant("core.leave_a_late_renewal");
  lose_locked({.words = by_max_hold ? ": the longest hold has passed" : ": the lease ran out"},
              by_max_hold || in_doubt, after);
}

void Slot::lose_locked(const Reason& why, bool tell_server, Aftermath& after) {
  after.loss = state_.lose(state_.live()->generation, tell_server);
  after.notice = std::move(notice_);
  after.tell_server = tell_server;
  after.why = why;
  wake_locked(after.loss->next);
}

void Slot::carry_out(Aftermath& after) noexcept {
  if (!after.loss) return;
  // Where nobody asked for the token its stop is requested already.
  if (after.notice && !client_->losses().post(std::move(after.notice))) {
    client_->background().serve_later();
  }
  try {
    tell_lost(*after.loss, after.why);
  } catch (const std::exception&) {
    // Out of memory for the observer's news.
  }
  if (!after.tell_server) return;
  try {
    release_lost(after.loss->ended);
  } catch (const std::exception&) {
    // Out of memory for the request: the hold ends with its lease.
  }
  const Lock lock(mutex_);
  wake_locked(state_.release_sent());
}

void Slot::release_lost(const core::Hold& ended) {
  const auto release = std::make_shared<Release>(hold_id(ended));
  client_->send(release);
  if (!release->done()) {
    client_->background().adopt(release, client_->now() + ended.lease.wanted());
  }
}

void Slot::tell_lost(const core::NameState::Loss& loss, const Reason& reason) {
  const std::shared_ptr<Observer>& observer = client_->shared_observer();
  if (!observer) return;
  Failure why =
      reason.backend != nullptr ? *reason.backend : Failure(reason.code, name_ + reason.words);
  client_->news().post([observer, name = name_, label = loss.ended.terms->label,
                        token = loss.ended.token(), took = client_->now() - loss.ended.owned_since,
                        why = std::move(why)] {
    observer->lost({.name = name, .label = label, .token = token, .took = took}, why);
  });
}

void Slot::tick(Instant now, std::shared_ptr<RenewalBatch>& batch) {
  Aftermath after(*this);
  const Lock lock(mutex_);
  expire_locked(now, after);
  core::Hold* const live = state_.live();
  if (live == nullptr) return disarm_locked();
  const core::Lease::Step step = live->lease.tick(now, live->lease.early());
  if (step == core::Lease::Step::renew) {
    if (!batch) batch = std::make_shared<RenewalBatch>();
    batch->add(shared_from_this(), live->generation,
               {.hold = hold_id(*live), .lease = live->lease.wanted()});
  }
  // Also where nothing was due: it was the timer of a hold before.
  const bool in_vain = step == core::Lease::Step::none;
  if (in_vain && base::mutant("core.tick_in_vain_disarms")) return disarm_locked();
  arm_locked(live->lease);
}

void Slot::renewal_answered(std::uint64_t generation, const Renewal::Item& item,
                            const Failure& failure) {
  Aftermath after(*this);
  Token token;
  std::string label;
  {
    const Lock lock(mutex_);
    core::Hold* const live = state_.live();
    const bool ours = live != nullptr && live->generation == generation;
    // A request that was late: its hold was released before it arrived, and its caller, or the next
    // one, holds the name again, which the answer "lost" would end (S3).
    if (!ours && !(live != nullptr && base::mutant("core.renewal_of_another_hold"))) return;
    const Instant now = client_->now();
    token = live->token();
    label = live->terms->label;
    if (item.answer == Renewal::Answer::lost) {
      lose_locked({.words = ": the server does not know the hold any more"}, false, after);
    } else if (item.answer == Renewal::Answer::unknown || failure) {
      live->lease.unanswered(now);
      arm_locked(live->lease);
    } else if (live->lease.renewed(item.counted_from, item.granted, now)) {
      arm_locked(live->lease);
    } else {
      lose_locked({.words = ": the renewal came too late"},
                  !base::mutant("core.leave_a_late_renewal"), after);
    }
  }
  if (client_->observer() == nullptr || after.loss) return;
  client_->news().post([observer = client_->shared_observer(), name = name_, token, label,
                        answer = item.answer, failure] {
    const Event event{.name = name, .label = label, .token = token};
    if (answer == Renewal::Answer::renewed && !failure) {
      observer->renewed(event);
    } else {
      observer->failed(
          event, failure ? failure : Failure(Errc::unavailable, name + ": renewal unanswered"));
    }
  });
}

void Slot::taken_away(const HoldId& hold, const Failure& why) {
  Aftermath after(*this);
  const Lock lock(mutex_);
  const core::Hold* const live = state_.live();
  if (live != nullptr && live->attempt == hold.attempt && live->number == hold.number) {
    lose_locked({.backend = &why}, false, after);
    return;
  }
  const auto* const requester = static_cast<const AcquireCall*>(state_.requester());
  if (requester == nullptr || !requester->asks_by_locked(hold.attempt)) return;
  const std::uint64_t before = taken_attempt_ == hold.attempt ? taken_number_ : 0;
  taken_attempt_ = hold.attempt;
  taken_number_ = std::max(hold.number, before);
}

void Slot::wanted(const HoldId& hold) {
  if (client_->observer() == nullptr) return;
  Token token;
  std::string label;
  {
    const Lock lock(mutex_);
    const core::Hold* const live = state_.live();
    if (live == nullptr || live->attempt != hold.attempt || live->number != hold.number) return;
    token = live->token();
    label = live->terms->label;
  }
  client_->news().post([observer = client_->shared_observer(), name = name_, token, label] {
    observer->wanted({.name = name, .label = label, .token = token});
  });
}

std::shared_ptr<Release> Slot::close_hold() {
  std::shared_ptr<Release> release;
  {
    Aftermath after(*this);
    const Lock lock(mutex_);
    // Nobody unlocks the holds of a closed client: what waits for that would wait for ever.
    after.unpinned = std::move(pin_);
    const core::Hold* const live = state_.live();
    if (live == nullptr) return nullptr;
    try {
      release = std::make_shared<Release>(hold_id(*live));
    } catch (const std::bad_alloc&) {
      // It ends here all the same, and at the server with its lease.
    }
    lose_locked({.code = Errc::closed, .words = ": the client was closed"}, false, after);
  }
  if (release) client_->send(release);
  return release;
}

}  // namespace mortise::runtime
