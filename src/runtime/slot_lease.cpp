// SPDX-License-Identifier: MIT
// A slot's live hold over time: renewal, loss, and the end of the client.
#include "runtime/slot.hpp"

namespace mortise::runtime {

void RenewalBatch::add(const std::shared_ptr<Slot>& slot, std::uint64_t generation, Item item) {
  slots_.emplace_back(slot, generation);
  items().push_back(std::move(item));
}

void RenewalBatch::finished() noexcept {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::shared_ptr<Slot> slot = slots_[i].first.lock();
    if (slot) slot->renewal_answered(slots_[i].second, items()[i], failure());
  }
}

void Slot::arm_locked() {
  const Instant next = state_.live()->lease.next();
  timer_.early = state_.live()->lease.early();
  if (next != never) client_->background().set(timer_, next);
}

void Slot::expire_locked(Instant now, Aftermath& after) {
  core::Hold* const live = state_.live();
  if (live == nullptr || now < live->lease.deadline()) return;
  // A lease runs out at the server by itself, later than here; a hold that was merely long enough
  // does not, so the server is told.
  const bool by_max_hold = live->lease.ends_by_max_hold();
  lose_locked(Failure(Errc::lost, name_ + (by_max_hold ? ": the longest hold has passed"
                                                       : ": the lease ran out")),
              by_max_hold, after);
}

void Slot::lose_locked(Failure why, bool tell_server, Aftermath& after) {
  after.why = std::move(why);
  after.tell_server = tell_server;
  after.loss = state_.lose(state_.live()->generation, tell_server);
  client_->background().remove(timer_);
  call_locked(after.loss->next);
}

void Slot::carry_out(Aftermath after) {
  if (!after.loss) return;
  const core::Hold ended = after.loss->ended;
  notify_loss(std::move(*after.loss), std::move(after.why));
  if (!after.tell_server) return;
  const auto release = std::make_shared<Release>(hold_id(ended));
  client_->send(release);
  {
    const Lock lock(mutex_);
    call_locked(state_.release_sent());
  }
  if (!release->done()) {
    client_->background().adopt(release, client_->now() + ended.lease.wanted());
  }
}

void Slot::notify_loss(core::NameState::Loss loss, Failure why) {
  client_->notifier().post([observer = client_->shared_observer(), name = name_,
                            loss = std::move(loss), why = std::move(why),
                            now = client_->now()]() mutable {
    loss.lost.request_stop();
    if (!observer) return;
    observer->lost({.name = name,
                    .label = loss.ended.terms->label,
                    .token = loss.ended.token(),
                    .took = now - loss.ended.owned_since},
                   why);
  });
}

void Slot::tick(Instant now, std::shared_ptr<RenewalBatch>& batch) {
  Aftermath after;
  {
    const Lock lock(mutex_);
    expire_locked(now, after);
    core::Hold* const live = state_.live();
    if (live != nullptr) {
      if (live->lease.tick(now, live->lease.early()) == core::Lease::Step::renew) {
        if (!batch) batch = std::make_shared<RenewalBatch>();
        batch->add(shared_from_this(), live->generation,
                   {.hold = hold_id(*live), .lease = live->lease.wanted()});
      }
      arm_locked();
    }
  }
  carry_out(std::move(after));
}

void Slot::renewal_answered(std::uint64_t generation, const Renewal::Item& item,
                            const Failure& failure) {
  Aftermath after;
  Token token;
  std::string label;
  {
    const Lock lock(mutex_);
    core::Hold* const live = state_.live();
    if (live == nullptr || live->generation != generation) return;
    const Instant now = client_->now();
    token = live->token();
    label = live->terms->label;
    if (item.answer == Renewal::Answer::lost) {
      lose_locked(Failure(Errc::lost, name_ + ": the server does not know the hold any more"),
                  false, after);
    } else if (item.answer == Renewal::Answer::unknown || failure) {
      live->lease.unanswered(now);
      arm_locked();
    } else if (live->lease.renewed(item.counted_from, item.granted, now)) {
      arm_locked();
    } else {
      lose_locked(Failure(Errc::lost, name_ + ": the renewal came too late"), false, after);
    }
  }
  if (client_->observer() != nullptr && !after.loss) {
    client_->notifier().post([observer = client_->shared_observer(), name = name_, token, label,
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
  carry_out(std::move(after));
}

void Slot::taken_away(const HoldId& hold, const Failure& why) {
  Aftermath after;
  {
    const Lock lock(mutex_);
    const core::Hold* const live = state_.live();
    if (live == nullptr || live->attempt != hold.attempt || live->number != hold.number) return;
    lose_locked(why, false, after);
  }
  carry_out(std::move(after));
}

std::shared_ptr<Release> Slot::close_hold() {
  Aftermath after;
  std::optional<HoldId> hold;
  {
    const Lock lock(mutex_);
    // Nobody unlocks the holds of a closed client: what waits for that would wait for ever.
    after.unpinned = std::move(pin_);
    if (const core::Hold* const live = state_.live()) {
      hold = hold_id(*live);
      lose_locked(Failure(Errc::closed, name_ + ": the client was closed"), false, after);
    }
  }
  carry_out(std::move(after));
  if (!hold) return nullptr;
  auto release = std::make_shared<Release>(std::move(*hold));
  client_->send(release);
  return release;
}

}  // namespace mortise::runtime
