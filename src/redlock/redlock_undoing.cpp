// SPDX-License-Identifier: MIT
// How an attempt takes back what it has taken: after a round that it has lost, or for good. Parts
// of RedlockBackend.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redlock/redlock_backend.hpp"

#include <utility>

namespace mortise::redlock {

void RedlockBackend::undo(const std::shared_ptr<QuorumAttempt>& attempt, const Trail& servers,
                          std::uint32_t step) {
  if (base::mutant("redlock.lost_round_is_not_undone")) return;
  const Instant now = clock_->now();
  base::OneByOne each;
  for (const Trail::Stop& stop : servers) {
    each([&] {
      tell({.tag = tag_of(Ask::undo, step),
            .server = stop.server,
            .node = stop.node,
            .operation = attempt,
            .asked = now,
            .since = stop.since,
            .deadline = now + patience});
    });
  }
  if (each.failed()) remains_untold(*attempt, step);
  each.finish();
}

// For lack of memory. Whoever asks for the attempt once more has all of them told: where it was
// over nobody would ask.
void RedlockBackend::remains_untold(QuorumAttempt& attempt, std::uint32_t step) {
  const Lock lock(attempt.mutex);
  if (attempt.step.load() != step) return;  // a later step has them told
  attempt.untold = true;
  if (attempt.phase == QuorumAttempt::Phase::over) attempt.phase = QuorumAttempt::Phase::waiting;
}

void RedlockBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (!open(*operation)) return;
  std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_of(operation, false);
  if (!attempt && operation->progress() == Acquisition::Progress::unsent) {
    operation->busy(operation->holder());  // no server has ever heard of it
    return;
  }
  const bool unknown = !attempt;
  Trail maybe = unknown ? everywhere() : Trail();  // first: there may be no memory for it
  Trail polled = maybe;
  if (unknown) attempt = quorum_attempt_of(operation, true);
  if (!attempt) return;  // it has just been completed
  Lock lock(attempt->mutex);
  if (attempt->phase == QuorumAttempt::Phase::won || attempt->phase == QuorumAttempt::Phase::over) {
    return;
  }
  const bool again = attempt->phase == QuorumAttempt::Phase::cancelled;
  if (again && !attempt->untold) return;  // it is told to whoever has to hear it
  attempt->phase = QuorumAttempt::Phase::cancelled;
  attempt->untold = true;  // until each of them was told
  attempt->awaited.begin(awaited_);
  attempt->leaves.store(true);
  if (unknown && !again) {
    attempt->step.store(step_of_hold - 1);  // whatever its steps were
    attempt->maybe = std::move(maybe);
    attempt->polled = std::move(polled);
  }
  if (!again) attempt->step.fetch_add(1);
  const std::uint32_t step = attempt->step.load();
  Trail servers = attempt->maybe;
  servers.add(attempt->listed);
  lock.unlock();
  undo(attempt, servers, step);
  lock.lock();
  if (attempt->step.load() == step) attempt->untold = false;
  finish_cancel(attempt, std::move(lock));
}

void RedlockBackend::finish_cancel(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock) {
  if (attempt->phase != QuorumAttempt::Phase::cancelled || attempt->untold) return;
  // Done is what cannot become a majority, or what all servers that answer at all have heard of: a
  // grant is made by this client alone, and the others are told when they are back. Where none has
  // said a word it stays in doubt.
  const bool heard = !attempt->spoke.empty() && !attempt->spoke.meets(attempt->maybe);
  if (attempt->maybe.size() >= quorum_.majority() && !heard) return;
  std::optional<Holder> holder = attempt->operation->holder();  // first: may find no memory
  attempt->phase = QuorumAttempt::Phase::over;
  attempt->awaited.end();
  lock.unlock();
  attempt->operation->busy(std::move(holder));
  forget(*attempt);
}

}  // namespace mortise::redlock
