// SPDX-License-Identifier: MIT
// Each event in the life of a hold under the slot's mutex; what follows of it, outside, is left to
// an `Aftermath`.
#include "runtime/hold_keeper.hpp"

#include "base/live_threads.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "core/keeping.hpp"
#include "runtime/acquire_call.hpp"
#include "runtime/kept_hold.hpp"
#include "runtime/renewal_batch.hpp"
#include "runtime/slot.hpp"

#include <exception>

namespace mortise::runtime {
namespace {

class LossNotice final : public Notifier::Task {
 public:
  void run() override { lost.request_stop(); }
  std::stop_source lost;
};

/// Nobody can unlock it any more: its thread has ended, and no guard has taken it elsewhere.
template <class HoldOrLoss>
bool ownerless(const HoldOrLoss& hold) noexcept {
  return hold.guards == 0 && base::has_ended(hold.owner);
}

}  // namespace

HoldKeeper::HoldKeeper(Slot& slot, SharedName& name) noexcept : slot_(slot), name_(name) {
  timer_.keeper = this;
}

ClientState& HoldKeeper::client() const noexcept { return *name_.client; }

std::shared_ptr<HoldKeeper> HoldKeeper::kept() noexcept {
  std::shared_ptr<Slot> slot = slot_.weak_from_this().lock();
  if (!slot) return nullptr;
  return {std::move(slot), this};
}

void HoldKeeper::begin_locked(const core::Lease& lease) {
  // Armed by the hold before, it ticks too early, and is armed anew then.
  try {
    if (armed_ > lease.next()) arm_locked(lease);
  } catch (const std::exception&) {
    // No thread, or no memory: a hold that needs none to be kept begins all the same.
    if (lease.deadline() != never) throw;
  }
  pin_ = slot_.shared_from_this();
}

void HoldKeeper::forget_the_dead_locked() noexcept {
  name_.state.forget_losses([](const core::LostHold& lost) { return ownerless(lost); });
}

std::stop_token HoldKeeper::lost_locked(core::Hold& live) {
  if (!live.lost.stop_possible()) {
    // With it what tells the loss: a loss needs no memory.
    auto notice = std::make_unique<LossNotice>();
    live.lost = notice->lost;
    notice_ = std::move(notice);
  }
  return live.lost.get_token();
}

void HoldKeeper::unpin_if_idle_locked(Aftermath& after) noexcept {
  const bool idle = name_.state.live() == nullptr && !name_.state.remembers_losses();
  // Not what was given up before in the same step: it must not go under the mutex.
  if (idle && pin_) after.unpinned = std::move(pin_);
}

void HoldKeeper::arm_locked(const core::Lease& lease) { set_locked(lease.next(), lease.early()); }

void HoldKeeper::set_locked(Instant due, core::Nanos early) {
  if (due == never) return disarm_locked();
  client().background().set(timer_, due, early);
  armed_ = due;
}

void HoldKeeper::rest_locked(Instant now, Aftermath& after) {
  forget_the_dead_locked();
  unpin_if_idle_locked(after);
  if (!name_.state.remembers_losses()) return disarm_locked();
  set_locked(now + core::pause_of_looks_at_losses, core::pause_of_looks_at_losses / 2);
}

void HoldKeeper::disarm_locked() noexcept {
  if (armed_ != never) client().background().remove(timer_);
  armed_ = never;
}

void HoldKeeper::expire_locked(Instant now, Aftermath& after) {
  core::Hold* const live = name_.state.live();
  if (live == nullptr || now < live->lease.deadline()) return;
  // A lease runs out at the server by itself, later than here. A hold that was merely long enough
  // does not, nor one whose renewal is still under way: the server may carry that out after the
  // deadline, and would then keep the name for a whole lease that nobody uses.
  const bool by_max_hold = live->lease.ends_by_max_hold();
  const bool in_doubt = live->lease.in_doubt() && !base::mutant("core.leave_a_late_renewal");
  const char* words = by_max_hold ? ": the longest hold has passed" : ": the lease ran out";
  if (ownerless(*live)) words = ": the thread that locked it ended while it held it";
  lose_locked({.words = words}, by_max_hold || in_doubt || live->lease.unlimited(), after);
}

void HoldKeeper::lose_locked(const Aftermath::Reason& why, bool tell_server, Aftermath& after) {
  after.loss = name_.state.lose(name_.state.live()->generation, tell_server);
  after.notice = std::move(notice_);
  after.tell_server = tell_server;
  after.why = why;
  // What nobody can unlock nobody need remember.
  forget_the_dead_locked();
  unpin_if_idle_locked(after);
  SharedName::wake_locked(after.loss->next);
}

void HoldKeeper::tick(Instant now, std::shared_ptr<RenewalBatch>& batch) {
  Aftermath after(name_);
  const SharedName::Lock lock(name_.mutex);
  expire_locked(now, after);
  core::Hold* const live = name_.state.live();
  if (live == nullptr) return rest_locked(now, after);
  if (ownerless(*live)) live->lease.disown(now);
  const core::Lease::Step step = live->lease.tick(now, live->lease.early());
  if (step == core::Lease::Step::renew) {
    if (!batch) batch = std::make_shared<RenewalBatch>();
    batch->add(kept(), live->generation,
               {.hold = name_.hold_id(*live), .lease = live->lease.wanted()});
  }
  // Also where nothing was due: it was the timer of a hold before.
  const bool in_vain = step == core::Lease::Step::none;
  if (in_vain && base::mutant("core.tick_in_vain_disarms")) return disarm_locked();
  arm_locked(live->lease);
}

void HoldKeeper::renewal_answered(std::uint64_t generation, const Renewal::Item& item,
                                  const Failure& failure) {
  Aftermath after(name_);
  Token token;
  std::string label;
  {
    const SharedName::Lock lock(name_.mutex);
    core::Hold* const live = name_.state.live();
    const bool ours = live != nullptr && live->generation == generation;
    // A request that was late: its hold was released before it arrived, and its caller, or the next
    // one, holds the name again, which the answer "lost" would end (S3).
    if (!ours && !(live != nullptr && base::mutant("core.renewal_of_another_hold"))) return;
    const Instant now = client().now();
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
  if (client().observer() == nullptr || after.loss) return;
  client().news().post([observer = client().shared_observer(), name = name_.name, token, label,
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

void HoldKeeper::taken_away(const HoldId& hold, const Failure& why) {
  Aftermath after(name_);
  const SharedName::Lock lock(name_.mutex);
  const core::Hold* const live = name_.state.live();
  if (live != nullptr && live->attempt == hold.attempt && live->number == hold.number) {
    lose_locked({.backend = &why}, false, after);
    return;
  }
  AcquireCall* const requester = name_.requester_locked();
  if (requester != nullptr) requester->taken_away_locked(hold);
}

void HoldKeeper::wanted(const HoldId& hold) {
  if (client().observer() == nullptr) return;
  Token token;
  std::string label;
  {
    const SharedName::Lock lock(name_.mutex);
    const core::Hold* const live = name_.state.live();
    if (live == nullptr || live->attempt != hold.attempt || live->number != hold.number) return;
    token = live->token();
    label = live->terms->label;
  }
  client().news().post([observer = client().shared_observer(), name = name_.name, token, label] {
    observer->wanted({.name = name, .label = label, .token = token});
  });
}

std::shared_ptr<Operation> HoldKeeper::close() {
  const Instant now = client().now();
  std::shared_ptr<Release> release;
  std::shared_ptr<KeptHold> kept;
  {
    Aftermath after(name_);
    const SharedName::Lock lock(name_.mutex);
    // Nobody unlocks the holds of a closed client: what waits for that would wait for ever.
    after.unpinned = std::move(pin_);
    const core::Hold* const live = name_.state.live();
    if (live == nullptr) return nullptr;
    try {
      if (core::Keeping::due(*live, now)) {
        kept = name_.kept(*live, now);
      } else {
        release = std::make_shared<Release>(name_.hold_id(*live));
      }
    } catch (const std::bad_alloc&) {
      // It ends here all the same, and at the server with its lease.
    }
    lose_locked({.code = Errc::closed, .words = ": the client was closed"}, false, after);
  }
  if (kept) return kept->say(client().backend(), now);
  if (release) client().send(release);
  return release;
}

}  // namespace mortise::runtime
