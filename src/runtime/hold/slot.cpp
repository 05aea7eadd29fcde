// SPDX-License-Identifier: MIT
// The calls behind the waiters of a name, and the beginning of a hold.
#include "runtime/hold/slot.hpp"

#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/client/client_state.hpp"
#include "runtime/hold/kept_hold.hpp"

#include <utility>

namespace mortise::runtime {

Slot::Slot(std::shared_ptr<ClientState> client, std::string name, Mode mode, Owner owner)
    : key(mode == Mode::once ? std::make_unique<KeyTalk>() : nullptr),
      client_(std::move(client)),
      name_(std::move(name)),
      owner_(owner),
      keeper_(*this, Mode::exclusive) {}

Slot::~Slot() {
  const std::unique_ptr<HoldKeeper> sharing(sharing_.load());
  // No other thread has a reference any more: the mutex is not needed.
  each_keeper([](HoldKeeper& keeper) { keeper.disarm_locked(); });
  const Mode table = owner_ != Owner() ? Mode::permit : key ? Mode::once : Mode::exclusive;
  client().names().table(table).forget(*this);
}

void Slot::granted_locked(AcquireCall& call, core::Hold&& hold) {
  // The steps that need memory, or a thread, come first. If there is none, the hold is not
  // recorded, and the call that fails gives it back.
  keeper_.forget_the_dead_locked();
  const Mode mode = call.terms->mode;
  std::unique_ptr<core::Sharers> room = state.expect_grant(mode);
  if (mode == Mode::shared && sharing_.load() == nullptr) {
    sharing_.store(std::make_unique<HoldKeeper>(*this, Mode::shared).release());
  }
  keeper(mode).begin_locked(hold.lease);
  state.granted(call, std::move(hold), std::move(room));
  serve_locked();
}

bool Slot::expire_locked(Instant now, Aftermath& aftermath) {
  if (HoldKeeper* const sharing = sharing_.load()) {
    sharing->expire_locked(now, aftermath);
    if (aftermath.loss) return true;
  }
  keeper_.expire_locked(now, aftermath);
  return false;
}

void Slot::poke_waiters() {
  const Lock lock(mutex);
  wake_locked(state.requester());
  for (core::Waiter* const waiter : state.queue()) wake_locked(waiter);
}

AcquireCall* Slot::call_of(core::Waiter* waiter) noexcept {
  return static_cast<AcquireCall*>(waiter);
}

void Slot::wake_locked(core::Waiter* waiter) noexcept {
  if (waiter == nullptr) return;
  if (const auto* const word = call_of(waiter)->mark_locked()) base::futex_wake(*word);
}

void Slot::serve_locked() noexcept {
  // The clock is read only if the answer depends on it.
  const Instant now = state.sharers() != nullptr ? client().now() : Instant();
  while (core::Waiter* const waiter = state.serve(now, client().turn())) wake_locked(waiter);
}

void Slot::tell_locked(KeyNews news) noexcept {
  if (base::mutant("core.latecomers_are_told_the_answer")) news.asked_at = UINT64_MAX;
  if (base::mutant("core.a_mismatch_is_told_as_an_outcome")) news.whole = true;
  state.tell([&](core::Waiter& waiter) {
    AcquireCall& call = *call_of(&waiter);
    if (!call.key()->served_by(news)) return false;
    call.key()->record = news.record;
    wake_locked(&waiter);
    return true;
  });
}

std::shared_ptr<Attempt> Slot::new_attempt_locked(const core::Terms& terms, bool wait,
                                                  const std::shared_ptr<const Memory>& memory,
                                                  const std::optional<AttemptId>& beside) {
  auto attempt =
      std::make_shared<Attempt>(Acquisition::Request{.attempt = client().numbers().next_attempt(),
                                                     .name = name_,
                                                     .mode = mode_of(terms),
                                                     .lease = terms.lease,
                                                     .label = terms.label,
                                                     .wait = wait,
                                                     .permits = terms.permits,
                                                     .memory = memory,
                                                     .beside = beside},
                                std::shared_ptr<StoreAccess>(client_, &client().store()));
  newest_ = {.attempt = attempt->request().attempt.sequence};
  return attempt;
}

HoldId Slot::hold_id(const core::Hold& hold) const {
  return {
      .name = name_, .attempt = hold.attempt, .number = hold.number, .mode = mode_of(*hold.terms)};
}

std::shared_ptr<KeptHold> Slot::kept(const core::Hold& hold, Instant now) const {
  const bool in_doubt = hold.lease.in_doubt();
  return std::make_shared<KeptHold>(hold_id(hold), core::Keeping(hold),
                                    in_doubt ? now + core::late_requests_live : now);
}

}  // namespace mortise::runtime
