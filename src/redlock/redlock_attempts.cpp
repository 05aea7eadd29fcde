// SPDX-License-Identifier: MIT
// The rounds of an attempt: how one begins, what becomes of it, and when the next one comes. Parts
// of RedlockBackend.
#include "base/mutant.hpp"
#include "base/scratch.hpp"
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace mortise::redlock {
namespace {

constexpr std::size_t fewest_attempts_to_sweep = 256;
// An attempt that does not wait tries again so often where nobody has won.
constexpr int most_splits = 4;
// So often a writer steps back for readers that came before it, where nobody has won: servers
// disagree who that was, or the readers are gone.
constexpr int patient_splits = 3;

}  // namespace

std::shared_ptr<QuorumAttempt> RedlockBackend::quorum_attempt_of(
    const std::shared_ptr<Acquisition>& operation, bool make) {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(operation->request().attempt);
  if (found != attempts_.end()) return found->second;
  if (!make || stopped_.load() || operation->done()) return nullptr;
  if (attempts_.size() >= sweep_at_) {
    // Cancelled, and given up by the library before enough servers were there to hear of it.
    std::erase_if(attempts_,
                  [](const auto& attempt) { return attempt.second->operation.use_count() == 1; });
    sweep_at_ = std::max(fewest_attempts_to_sweep, attempts_.size() * 2);
  }
  return attempts_[operation->request().attempt] =
             std::make_shared<QuorumAttempt>(operation, quorum_);
}

std::vector<std::shared_ptr<QuorumAttempt>> RedlockBackend::attempts() {
  std::vector<std::shared_ptr<QuorumAttempt>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(attempts_.size());
  for (const auto& [id, attempt] : attempts_) all.push_back(attempt);
  return all;
}

void RedlockBackend::forget(const QuorumAttempt& attempt) {
  std::shared_ptr<QuorumAttempt> last;  // destroyed outside of the mutex
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(attempt.request().attempt);
  if (found == attempts_.end() || found->second.get() != &attempt) return;
  last = std::move(found->second);
  attempts_.erase(found);
}

std::uint64_t RedlockBackend::propose() noexcept {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  const std::uint64_t now = micros > 0 ? static_cast<std::uint64_t>(micros) : 0;
  return std::min(std::max(last_number_.load() + 1, now), core::grant_number_limit - 1);
}

void RedlockBackend::ask(const std::shared_ptr<QuorumAttempt>& attempt) {
  const Instant now = clock_->now();
  settle_doubts(now);
  NodeSet nodes = usable();
  want_missing(nodes, !attempt->operation->in_trouble());
  Lock lock(attempt->mutex);
  switch (attempt->phase) {
    case QuorumAttempt::Phase::won:
    case QuorumAttempt::Phase::cancelled:
    case QuorumAttempt::Phase::over: return;
    case QuorumAttempt::Phase::asking:
    case QuorumAttempt::Phase::settling:
      if (now < attempt->asked + node_timeout(attempt->request().lease)) return;
      for (const auto& node : nodes_) attempt->round.silent(node->index());
      return lose(attempt, std::move(lock));
    case QuorumAttempt::Phase::unreachable:
    case QuorumAttempt::Phase::waiting: break;
  }
  if (attempt->operation->done()) return;
  begin(attempt->roll);
  nodes = usable();  // only now: which of these connections are up
  if (count(nodes) < quorum_.majority() || !whereabouts_.clear()) {
    attempt->phase = QuorumAttempt::Phase::unreachable;
    lock.unlock();
    // What has come up in between has looked for attempts without servers too early.
    if (count(usable()) >= quorum_.majority() && whereabouts_.clear()) return ask(attempt);
    return tell_unreachable(attempt);
  }
  attempt->phase = QuorumAttempt::Phase::asking;
  attempt->asked = now;
  attempt->hinted = 0;
  attempt->late = 0;
  attempt->again = 0;
  attempt->spoke.clear();
  attempt->hears = 0;
  attempt->untold = false;
  attempt->next = never;
  attempt->proposal.store(propose());
  attempt->bold.store(attempt->splits >= patient_splits);
  std::fill(attempt->failures.begin(), attempt->failures.end(), Failure{});
  attempt->round.begin();
  attempt->awaited.begin(awaited_);
  const std::uint32_t step = attempt->step.fetch_add(1) + 1;
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) != 0) attempt->round.asked(node->index());
  }
  lock.unlock();
  ask_nodes(attempt, nodes, step);
}

// Before it is sent: whoever takes it back then knows of it, and an inbox that breaks and comes
// back afterwards takes away what was heard.
std::optional<bool> RedlockBackend::note_asked(QuorumAttempt& attempt, std::uint32_t step,
                                               const Trail::Stop& at, bool interested) {
  const Lock lock(attempt.mutex);
  if (attempt.step.load() != step) return std::nullopt;
  Trail::Stop stop = at;
  stop.asked = at.since;
  stop.ways = only(at.node);
  static_cast<void>(attempt.polled.add(stop));
  const bool fresh = attempt.maybe.add(stop);
  if (interested) {
    attempt.hears |= only(at.node);
    // Also where the answer comes when the round is over: it has its place there.
    static_cast<void>(attempt.listed.add(at));
  }
  return fresh;
}

void RedlockBackend::ask_nodes(const std::shared_ptr<QuorumAttempt>& attempt, NodeSet nodes,
                               std::uint32_t step) {
  const Acquisition::Request& request = attempt->request();
  base::Scratch<struct RoundBytes> scratch;
  std::string& bytes = scratch.text();
  NodeSet unasked = 0;
  const Instant now = clock_->now();
  const core::Nanos time = node_timeout(request.lease);
  const redis::Call call{
      .tag = tag_of(Ask::take, step), .operation = attempt, .asked = now, .deadline = now + time};
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0) continue;
    redis::Call mine = call;
    mine.generation = node->generation();
    // Only now: of a connection that broke the copies are noted before the next one is up.
    if (!node->usable()) {
      no_vote(*node, call, node->why());
      continue;
    }
    mine.server = node->server();
    mine.node = node->index();
    mine.since = now;
    mine.script = script_of(call);
    mine.whole = !node->loaded().has(mine.script, mine.generation);
    // This thread may have stood still since it has asked the one before.
    const Instant sent = clock_->now();
    mine.deadline = sent + time;
    mine.void_after = node->clock().at(sent) + std::chrono::duration_cast<redis::ServerTime>(time);
    const bool interested = request.wait && node->listens();
    const std::optional<bool> fresh = note_asked(
        *attempt, step, {.server = mine.server, .node = mine.node, .since = now}, interested);
    if (!fresh) {
      unasked |= only(node->index());
      continue;
    }
    bytes.clear();
    write_take(bytes, {.step = step, .whole = mine.whole, .void_after = mine.void_after}, *attempt,
               interested);
    const std::uint64_t server = mine.server;
    switch (node->send(std::move(mine), bytes)) {
      case redis::Connection::Sent::sent: attempt->operation->sent(now); break;
      case redis::Connection::Sent::withdrawn: unasked |= only(node->index()); break;
      case redis::Connection::Sent::refused:
        if (*fresh) not_asked(attempt, server, now);
        no_vote(*node, call, node->why());
        break;
    }
  }
  // Those who were asked before have decided meanwhile, and another thread has read that.
  if (unasked != 0) static_cast<void>(vote_late(attempt, step, unasked));
}

// Not a byte has left. Nobody else knows of it: who cancels at this moment believes what `maybe`
// says, and not that nothing was sent yet. This thread may have stood still meanwhile, and a later
// round has asked the server.
void RedlockBackend::not_asked(const std::shared_ptr<QuorumAttempt>& attempt, std::uint64_t server,
                               Instant asked) {
  Lock lock(attempt->mutex);
  attempt->maybe.not_asked(server, asked);
  finish_cancel(attempt, std::move(lock));
}

// A server that came up during a round is asked for the hold that may come of it: see Roll.
void RedlockBackend::join(const std::shared_ptr<QuorumAttempt>& attempt, Node& node) {
  std::uint32_t step = 0;
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != QuorumAttempt::Phase::asking) return;
    const NodeSet decided =
        attempt->round.open() | attempt->round.votes() | attempt->round.against();
    if ((decided & only(node.index())) != 0) return;
    attempt->late |= only(node.index());
    step = attempt->step.load();
  }
  ask_nodes(attempt, only(node.index()), step);
}

void RedlockBackend::judge(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock) {
  if (attempt->phase != QuorumAttempt::Phase::asking &&
      attempt->phase != QuorumAttempt::Phase::settling) {
    return;
  }
  switch (attempt->round.outcome()) {
    case VoteRound::Outcome::open: return;
    case VoteRound::Outcome::settle: return settle(attempt, std::move(lock));
    case VoteRound::Outcome::won: return win(attempt, std::move(lock));
    case VoteRound::Outcome::lost: return lose(attempt, std::move(lock));
  }
}

void RedlockBackend::settle(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock) {
  attempt->phase = QuorumAttempt::Phase::settling;
  const NodeSet nodes = attempt->round.settle();
  attempt->number.store(attempt->round.number());
  const Instant now = clock_->now();
  const redis::Call call{.tag = tag_of(Ask::settle, attempt->step.load()),
                         .operation = attempt,
                         .asked = now,
                         .deadline = now + node_timeout(attempt->request().lease)};
  lock.unlock();
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0 || send(*node, call)) continue;
    no_vote(*node, call, node->why());
  }
}

void RedlockBackend::win(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock) {
  const Acquisition::Request& request = attempt->request();
  const Grant grant{.number = attempt->round.number(),
                    .counted_from = attempt->round.counted_from(),
                    .lease = request.lease};
  const HoldId hold{.name = request.name,
                    .attempt = request.attempt,
                    .number = grant.number,
                    .mode = request.mode};
  // Where it was refused it may have its place among those who wait, which its release is to end: a
  // writer's keeps readers out.
  if (!base::mutant("redlock.place_outlives_the_hold")) attempt->maybe.add(attempt->listed);
  // Before a server that may have a vote yet is noted for a hold that nobody knows. What needs
  // memory comes first: a round that was won, and of which nobody is told, is never taken back.
  holds_.add(hold, end_of_hold(grant.counted_from, grant.lease), std::move(attempt->maybe),
             grant.counted_from);
  attempt->phase = QuorumAttempt::Phase::won;
  attempt->number.store(grant.number);
  attempt->won_step = attempt->step.fetch_add(1);  // what was not sent yet shall not be
  attempt->awaited.end();
  const NodeSet late = attempt->late;
  lock.unlock();
  std::uint64_t last = last_number_.load();
  while (last < grant.number && !last_number_.compare_exchange_weak(last, grant.number)) {
  }
  attempt->operation->granted(grant);
  // Where another thread completes it at this moment, its result can be read only afterwards. Until
  // then it stays in the table, or whoever asks for it would begin anew.
  while (!attempt->operation->done()) std::this_thread::yield();
  forget(*attempt);
  if (attempt->operation->grant().number != grant.number) {
    release(std::make_shared<Release>(hold));  // nobody wants it
    return;
  }
  if (late != 0) relock(*attempt, late);
}

void RedlockBackend::lose(const std::shared_ptr<QuorumAttempt>& attempt, Lock lock) {
  const Instant now = clock_->now();
  const bool wait = attempt->request().wait;
  const bool contended =
      count(attempt->round.votes() | attempt->round.against()) >= quorum_.majority();
  const bool held = attempt->round.held_elsewhere();
  // A release is over with a majority: who asks just then, and cannot reach all, may meet servers
  // that have yet to hear of it.
  const bool proven = count(attempt->round.holders_nodes()) >= quorum_.majority();
  const std::uint32_t step = attempt->step.fetch_add(1) + 1;
  attempt->maybe.forget_before(now - attempt->request().lease - end_at_the_servers);
  Trail servers = attempt->maybe;
  attempt->splits = (wait ? held : proven) ? 0 : attempt->splits + 1;
  attempt->polite.store(false);
  std::optional<Holder> holder = attempt->holder;
  Instant next = never;
  if (contended && !wait && (proven || attempt->splits > most_splits)) {
    attempt->phase = QuorumAttempt::Phase::over;
  } else if (!contended && attempt->late == 0) {
    attempt->phase = QuorumAttempt::Phase::unreachable;
  } else {
    attempt->phase = QuorumAttempt::Phase::waiting;
    next = attempt->next = next_try(*attempt, now);
  }
  const QuorumAttempt::Phase phase = attempt->phase;
  // Until the next round the answers to the undoing count: a server that has lost its scripts
  // undoes nothing before it is told them, and votes that stand keep everybody from a majority.
  if (phase != QuorumAttempt::Phase::waiting ||
      base::mutant("redlock.nobody_reads_what_is_undone")) {
    attempt->awaited.end();
  }
  lock.unlock();
  undo(attempt, servers, step);
  if (phase == QuorumAttempt::Phase::unreachable) return tell_unreachable(attempt);
  if (phase == QuorumAttempt::Phase::over) {
    attempt->operation->busy(std::move(holder));
    forget(*attempt);
    return;
  }
  if (wait && contended) {
    attempt->operation->queued(std::move(holder));
    for (const auto& node : nodes_) node->listen(requests_.inbox(attempt->request().attempt));
  }
  if (next != never) alarm_.set(attempt, next);
}

}  // namespace mortise::redlock
