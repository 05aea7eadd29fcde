// SPDX-License-Identifier: MIT
// Each event in the life of a hold under the slot's mutex; what follows of it, outside, is left to
// an `Aftermath`.
#include "runtime/hold/hold_keeper.hpp"

#include "base/live_threads.hpp"
#include "base/mutant.hpp"
#include "base/printable.hpp"
#include "core/figures.hpp"
#include "core/keeping.hpp"
#include "runtime/hold/hold_news.hpp"
#include "runtime/hold/kept_hold.hpp"
#include "runtime/hold/renewal_batch.hpp"
#include "runtime/hold/slot.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

namespace mortise::runtime {

namespace {

constexpr const char* thread_has_ended = ": its thread ended without an unlock";

/// Nobody can unlock it any more: its thread has ended, and no guard has taken it elsewhere.
template <class HoldOrPart>
bool ownerless(const HoldOrPart& hold) noexcept {
  return hold.guards == 0 && base::has_ended(hold.owner);
}

}  // namespace

HoldKeeper::HoldKeeper(Slot& slot, Mode mode) noexcept : slot_(slot), mode_(mode) {
  timer_.keeper = this;
}

core::Hold* HoldKeeper::live_locked() const noexcept { return slot_.state.live(mode_); }

ClientState& HoldKeeper::client() const noexcept { return slot_.client(); }

std::shared_ptr<HoldKeeper> HoldKeeper::kept() noexcept {
  std::shared_ptr<Slot> slot = slot_.weak_from_this().lock();
  if (!slot) return nullptr;
  return {std::move(slot), this};
}

void HoldKeeper::begin_locked(const core::Lease& lease) {
  // Armed by the hold before, it ticks too early, and is armed anew then.
  try {
    if (armed_ > lease.next()) set_locked(lease.next(), lease.early());
  } catch (const std::exception&) {
    // No thread, or no memory: a hold that needs none to be kept begins all the same.
    if (lease.deadline() != never) throw;
  }
  pin_ = slot_.shared_from_this();
  trouble_.reset();  // of the hold before
}

void HoldKeeper::forget_the_dead_locked() noexcept {
  slot_.state.lost().forget_if([](const core::LostHold& lost) { return ownerless(lost); });
}

void HoldKeeper::unpin_if_idle_locked(Aftermath& after) noexcept {
  const bool idle = live_locked() == nullptr && !slot_.state.lost().has_any_of(mode_);
  // Not what was given up before in the same step: it must not go under the mutex.
  if (idle && pin_) after.unpinned = std::move(pin_);
}

void HoldKeeper::arm_locked(const core::Lease& lease, Instant now) {
  const Instant next = next_locked(lease, now);
  set_locked(next, next < lease.next() ? core::Nanos(0) : lease.early());
}

Instant HoldKeeper::next_locked(const core::Lease& lease, Instant now) const noexcept {
  const core::Sharers* const sharers = mode_ == Mode::shared ? slot_.state.sharers() : nullptr;
  if (sharers == nullptr) return lease.next();
  const Instant look = slot_.state.queue().empty() ? never : sharers->next_look(now);
  return std::min({lease.next(), sharers->next_end(), look});
}

bool HoldKeeper::wants_news_locked(Instant now) noexcept {
  core::Sharers* const sharers = mode_ == Mode::shared ? slot_.state.sharers() : nullptr;
  if (sharers == nullptr || slot_.state.queue().empty()) return false;
  // A writer of this client waits for its readers, and those behind it wait for that.
  const bool reads = slot_.state.queue().front()->terms->mode == Mode::shared;
  return sharers->wants_news_for_waiters(now) && reads;
}

void HoldKeeper::set_locked(Instant due, core::Nanos early) {
  if (due == never) return disarm_locked();
  client().store().background().set(timer_, due, early);
  armed_ = due;
}

void HoldKeeper::rest_locked(Instant now, Aftermath& after) {
  forget_the_dead_locked();
  unpin_if_idle_locked(after);
  if (!slot_.state.lost().has_any_of(mode_)) return disarm_locked();
  set_locked(now + core::pause_of_looks_at_losses, core::pause_of_looks_at_losses / 2);
}

void HoldKeeper::disarm_locked() noexcept {
  if (armed_ != never) client().store().background().remove(timer_);
  armed_ = never;
}

bool HoldKeeper::ownerless_locked(const core::Hold& live) const noexcept {
  if (mode_ != Mode::shared) return ownerless(live);
  for (const core::Sharer* const part : slot_.state.sharers()->all()) {
    if (!ownerless(*part)) return false;
  }
  return true;
}

void HoldKeeper::disown_locked(core::Hold& live, Instant now) noexcept {
  if (mode_ == Mode::shared) {
    slot_.state.sharers()->disown(now, ownerless<core::Sharer>);
  } else if (ownerless(live)) {
    live.lease.disown(now);
  }
}

void HoldKeeper::expire_locked(Instant now, Aftermath& after) {
  core::Hold* const live = live_locked();
  if (live == nullptr) return;
  if (now < live->lease.deadline()) return expire_part_locked(now, after);
  // A lease runs out at the server by itself, later than here. A hold that was merely long enough
  // does not, nor one whose renewal is still under way: the server may carry that out after the
  // deadline, and would then keep the name for a whole lease that nobody uses.
  const bool by_max_hold = live->lease.ends_by_max_hold();
  const bool in_doubt = live->lease.in_doubt() && !base::mutant("core.leave_a_late_renewal");
  const char* words = by_max_hold ? ": max_hold has passed" : ": the lease ran out";
  if (ownerless_locked(*live)) {
    words = thread_has_ended;
  } else if (!by_max_hold) {
    after.trouble = std::move(trouble_);
  }
  lose_locked({.words = words}, by_max_hold || in_doubt || live->lease.unlimited(), after);
}

// One at a time, since each is told by an aftermath of its own; the next one is due at once.
void HoldKeeper::expire_part_locked(Instant now, Aftermath& after) {
  core::Sharers* const sharers = mode_ == Mode::shared ? slot_.state.sharers() : nullptr;
  if (sharers == nullptr || now < sharers->next_end()) return;
  const Aftermath::Reason why{.words = thread_has_ended};
  // It was renewed for those who have left since: the server would keep it longer.
  if (sharers->all().size() == 1) return lose_locked(why, true, after);
  after.loss = slot_.state.lose_part(now);
  after.why = why;
  forget_the_dead_locked();
}

void HoldKeeper::lose_locked(const Aftermath::Reason& why, bool tell_server, Aftermath& after) {
  after.loss = slot_.state.lose(live_locked()->generation, tell_server);
  after.tell_server = tell_server;
  after.why = why;
  // What nobody can unlock nobody need remember.
  forget_the_dead_locked();
  unpin_if_idle_locked(after);
  slot_.serve_locked();
}

void HoldKeeper::tick(Instant now, std::shared_ptr<RenewalBatch>& batch) {
  Aftermath after(slot_);
  const Slot::Lock lock(slot_.mutex);
  expire_locked(now, after);
  core::Hold* const live = live_locked();
  if (live == nullptr) return rest_locked(now, after);
  disown_locked(*live, now);
  slot_.serve_locked();  // the time for which the name was kept may be over
  const core::Lease::Step step = live->lease.tick(now, live->lease.early());
  const bool asks = wants_news_locked(now);
  if (asks || step == core::Lease::Step::renew) renew_locked(*live, batch);
  if (asks && step != core::Lease::Step::renew) live->lease.asked_too(now);
  // Also where nothing was due: it was the timer of a hold before.
  const bool in_vain = step == core::Lease::Step::none;
  if (in_vain && base::mutant("core.tick_in_vain_disarms")) return disarm_locked();
  arm_locked(live->lease, now);
}

void HoldKeeper::renew_locked(core::Hold& live, std::shared_ptr<RenewalBatch>& batch) {
  if (!batch) batch = std::make_shared<RenewalBatch>();
  batch->add(kept(), live.generation, {.hold = slot_.hold_id(live), .lease = live.lease.wanted()});
}

void HoldKeeper::newcomer_locked(Instant now, std::shared_ptr<RenewalBatch>& batch) {
  core::Hold* const live = live_locked();
  if (live == nullptr || !slot_.state.sharers()->wants_news(now, client().turn())) return;
  renew_locked(*live, batch);
  live->lease.asked_too(now);
  if (armed_ > live->lease.next()) arm_locked(live->lease, now);
}

void HoldKeeper::look_after_waiters_locked(Instant now) {
  const core::Hold* const live = live_locked();
  if (live != nullptr && armed_ > next_locked(live->lease, now)) arm_locked(live->lease, now);
}

void HoldKeeper::renewal_answered(std::uint64_t generation, const Renewal::Item& item,
                                  Failure failure) {
  if (item.answer == Renewal::Answer::unknown && !failure) failure = client().store().no_answer();
  Aftermath after(slot_);
  std::optional<HoldNews> news;
  bool is_news = client().observer() != nullptr;
  {
    const Slot::Lock lock(slot_.mutex);
    core::Hold* const live = live_locked();
    const bool ours = live != nullptr && live->generation == generation;
    // A request that was late: its hold was released before it arrived, and its caller, or the next
    // one, holds the name again, which the answer "lost" would end (S3).
    if (!ours && !(live != nullptr && base::mutant("core.renewal_of_another_hold"))) return;
    const Instant now = client().now();
    if (is_news) news.emplace(slot_, *live);
    if (mode_ == Mode::shared) slot_.state.sharers()->answered(now);
    if (item.answer == Renewal::Answer::lost) {
      lose_locked({.words = ": the server no longer knows the hold"}, false, after);
    } else if (failure) {
      live->lease.unanswered(now);
      arm_locked(live->lease, now);
      if (!trouble_) trouble_ = std::make_unique<RenewalTrouble>();
      is_news = trouble_->note(failure, now) && is_news;
    } else if (live->lease.renewed(item.counted_from, item.granted, now)) {
      if (mode_ == Mode::shared) {
        const bool by_lease = item.wanted_as_of == Instant{};
        slot_.state.sharers()->told(item.wanted, by_lease ? item.counted_from : item.wanted_as_of);
        slot_.serve_locked();
      }
      arm_locked(live->lease, now);
      trouble_.reset();
    } else {
      lose_locked({.words = ": the renewal came too late"},
                  !base::mutant("core.leave_a_late_renewal"), after);
    }
  }
  if (after.loss || !is_news) return;
  if (failure) {
    failure.text.insert(0, base::printable(slot_.name()) + ": the renewal failed: ");
  }
  std::move(*news).post(client().announcements(),
                        [failure = std::move(failure)](Observer& observer, const Event& event) {
                          failure ? observer.failed(event, failure) : observer.renewed(event);
                        });
}

void HoldKeeper::taken_away(const HoldId& hold, const Failure& why) {
  Aftermath after(slot_);
  const Slot::Lock lock(slot_.mutex);
  const core::Hold* const live = live_locked();
  if (live != nullptr && live->attempt == hold.attempt && live->number == hold.number) {
    lose_locked({.backend = &why}, false, after);
    return;
  }
  slot_.taken_away_locked(hold);
}

void HoldKeeper::wanted(const HoldId& hold) {
  if (client().observer() == nullptr && mode_ != Mode::shared) return;
  std::optional<HoldNews> news;
  {
    const Slot::Lock lock(slot_.mutex);
    const core::Hold* const live = live_locked();
    if (live == nullptr || live->attempt != hold.attempt || live->number != hold.number) return;
    if (mode_ == Mode::shared) {
      const Instant now = client().now();
      slot_.state.sharers()->told(true, now);
      look_after_waiters_locked(now);
    }
    if (client().observer() != nullptr) news.emplace(slot_, *live);
  }
  if (!news) return;
  std::move(*news).post(client().announcements(),
                        [](Observer& observer, const Event& event) { observer.wanted(event); });
}

std::shared_ptr<Operation> HoldKeeper::close() {
  const Instant now = client().now();
  std::shared_ptr<Release> release;
  std::shared_ptr<KeptHold> kept;
  {
    Aftermath after(slot_);
    const Slot::Lock lock(slot_.mutex);
    // Nobody unlocks the holds of a closed client: what waits for that would wait for ever.
    after.unpinned = std::move(pin_);
    const core::Hold* const live = live_locked();
    if (live == nullptr) return nullptr;
    try {
      if (core::Keeping::due(*live, now)) {
        kept = slot_.kept(*live, now);
      } else {
        release = std::make_shared<Release>(slot_.hold_id(*live));
      }
    } catch (const std::bad_alloc&) {
      // It ends here all the same, and at the server with its lease.
    }
    lose_locked({.code = Errc::closed, .words = ": the client was closed"}, false, after);
  }
  if (kept) return kept->say(client().store().backend(), now);
  if (release) client().store().send(release);
  return release;
}

}  // namespace mortise::runtime
