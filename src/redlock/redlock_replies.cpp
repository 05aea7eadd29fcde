// SPDX-License-Identifier: MIT
// What the servers answer, each for itself, and what a majority of such answers means. Parts of
// RedlockBackend.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "redis/rights.hpp"
#include "redis/server_error.hpp"
#include "redlock/redlock_backend.hpp"
#include "redlock/vote.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;
using redis::Reply;
using redis::ServerError;

std::shared_ptr<QuorumAttempt> quorum_attempt_in(const Call& call) {
  return shared_request_in<QuorumAttempt>(call);
}

Trail::Stop stop_of(const Call& call) {
  return {.server = call.server, .node = call.node, .since = call.since, .asked = call.asked};
}

/// @return whether a server of ours may answer this with that.
bool makes_sense(const Call& call, VoteReply::Kind kind) {
  using Kind = VoteReply::Kind;
  switch (kind) {
    case Kind::vote: return asks_for_a_vote(call) || ask_of(call) == Ask::settle;
    case Kind::busy:
    case Kind::late: return asks_for_a_vote(call);
    case Kind::refused: return ask_of(call) == Ask::relock;
    case Kind::higher: return ask_of(call) == Ask::settle;
    case Kind::none: return takes_back(call) || ask_of(call) == Ask::settle;
    case Kind::freed:
    case Kind::freed_before:
    case Kind::lapsed: return takes_back(call);
    case Kind::renewed: return ask_of(call) == Ask::renew;
    case Kind::held:
    case Kind::free: return ask_of(call) == Ask::look;
  }
  return false;
}

/// The round of that answer is lost, and the next one has not begun: of whose word is worth one it
/// tells all the same. Else who waits is told of the votes that others give back by a server whose
/// answers come late, each time.
void note_late(QuorumAttempt& attempt, const Node& node, const Call& call, VoteReply& reply) {
  const std::size_t index = node.index();
  const bool lost =
      attempt.phase == QuorumAttempt::Phase::waiting && attempt.step.load() == step_of(call) + 1;
  const bool joined = (attempt.late & only(index)) != 0;
  if (!lost || joined || attempt.roll.newcomer(index, call.generation)) return;
  if (!attempt.roll.counts(index, node.server())) return;
  if (base::mutant("redlock.hears_none_but_the_holders")) return;
  if (reply.kind == VoteReply::Kind::vote) {
    return attempt.round.granted(index, reply.number, call.asked);
  }
  attempt.round.refused(index, reply.holder_number(), reply.left, std::move(reply.numbers));
}

/// A server fails the whole script if one of its locks has a key of another type, or a name that
/// this user may not use.
bool may_concern_one_name(const ServerError& error, std::string_view words) {
  return error.failure.code == Errc::protocol ||
         redis::what_is_refused(words) == redis::Refused::key;
}

// A server that refuses for now (too few replicas, a full disk) is asked again so often.
constexpr std::chrono::milliseconds refused_again{500};
// And so often where it has not said that it is for now.
constexpr std::chrono::seconds denied_again{2};

}  // namespace

void RedlockBackend::answered(Node& node, const Call& call, const Reply& reply) {
  if (reply.is_error()) return refused(node, call, reply);
  std::optional<VoteReply> vote = VoteReply::parse(reply);
  if (!vote || !makes_sense(call, vote->kind)) return nonsense(node, call);
  // What waited in the outbox says when it was asked for first, which is not when it left.
  if (!takes_back(call)) node.clock().read(call.asked, vote->now, clock_->now());
  switch (ask_of(call)) {
    case Ask::take:
      if (vote->kind == VoteReply::Kind::late) return on_late_take(node, call);
      return on_take(node, call, *std::move(vote));
    case Ask::settle: return on_settle(node, call, *vote);
    case Ask::undo: return on_undo(node, call, *vote);
    case Ask::free: return on_free(node, call, *vote);
    case Ask::renew: return on_renew(node, call, *vote);
    case Ask::relock: return;  // a vote more, or not
    case Ask::look: return on_look(node, call, *std::move(vote));
  }
}

void RedlockBackend::refused(Node& node, const Call& call, const Reply& reply) {
  ServerError error = redis::server_error(node.where(), reply.text);
  error.failure.text += redis::remedy(node.settings(), reply.text);
  if (error.kind == ServerError::Kind::script && !call.whole) {
    node.loaded().forget();
    if (ask_of(call) == Ask::take &&
        vote_late(quorum_attempt_in(call), step_of(call), only(node.index()))) {
      return;
    }
    Call again = call;
    again.whole = true;
    // Behind whatever was sent since, so that it may be withdrawn.
    if (send(node, again)) return;
    if (takes_back(again)) {
      tell(std::move(again));
    } else {
      no_answer(node, again, error.failure);
    }
    return;
  }
  if (takes_back(call)) {
    if (ask_of(call) == Ask::free) no_answer(node, call, error.failure);
    // It stays in the outbox, whatever the error is: what it would free keeps others out for a
    // whole lease, and what stands between us and the server may have made that error.
    const Instant now = clock_->now();
    if (!withdrawn(call) && now < end_of_entry(call) &&
        !base::mutant("redlock.refused_undo_is_forgotten")) {
      const bool passes = error.kind != ServerError::Kind::final;
      const Instant again = now + (passes ? core::Nanos(refused_again) : core::Nanos(denied_again));
      outbox_.put(node.server(), call, again);
      alarm_.set_outbox_due(again);
    }
    if (error.kind == ServerError::Kind::elsewhere) node.drop(error.failure);
    return;
  }
  if (ask_of(call) == Ask::renew && may_concern_one_name(error, reply.text)) {
    const auto renewing = shared_request_in<Renewing>(call);
    const Lock lock(renewing->mutex);
    renewing->apart = renewing->tallies.size() > 1;
  }
  no_answer(node, call, error.failure);
  if (error.kind == ServerError::Kind::elsewhere) node.drop(error.failure);
}

// The hold was granted before these servers could vote for it; it shall have their votes, too.
bool RedlockBackend::vote_late(const std::shared_ptr<QuorumAttempt>& attempt, std::uint32_t step,
                               NodeSet nodes) {
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != QuorumAttempt::Phase::won || attempt->won_step != step) return false;
  }
  relock(*attempt, nodes);
  return true;
}

void RedlockBackend::nonsense(Node& node, const Call& call) {
  const Failure why(Errc::protocol, node.where() + ": the server sent an invalid reply");
  // As what was not answered: nobody knows what came of it.
  note_unanswered(node, call);
  node.drop(why);
  no_answer(node, call, why);
}

void RedlockBackend::no_answer(Node& node, const Call& call, const Failure& why) {
  no_answer(node, call, why, !node.usable());
}

void RedlockBackend::no_answer(Node& node, const Call& call, const Failure& why, bool broke) {
  switch (ask_of(call)) {
    case Ask::take:
    case Ask::settle: return no_vote(node, call, why, broke);
    case Ask::undo: return in_doubt(quorum_attempt_in(call), stop_of(call));
    case Ask::free: {
      const auto freeing = shared_request_in<Freeing>(call);
      Lock lock(freeing->mutex);
      if (broke) {
        static_cast<void>(freeing->unheard.add(stop_of(call)));
        lock.unlock();
        return tell_again(*freeing, call);
      }
      freeing->refused |= only(node.index());
      const bool hopeless = count(freeing->refused) >= quorum_.blocking();
      lock.unlock();
      if (!hopeless) return;
      if (why.code == Errc::denied || why.code == Errc::protocol) {
        freeing->release->failed(why);
      } else {
        freeing->release->trouble(why);
      }
      return;
    }
    case Ask::renew: {
      const auto renewing = shared_request_in<Renewing>(call);
      Lock lock(renewing->mutex);
      renewing->open &= ~only(node.index());
      if (why && !broke) renewing->refusal = why;
      return judge(renewing, std::move(lock));
    }
    case Ask::relock: return;  // its hold knows of that server
    case Ask::look: {
      const auto looking = shared_request_in<Looking>(call);
      Lock lock(looking->mutex);
      looking->asked &= ~only(node.index());
      if (why && !broke) {
        looking->failures.resize(quorum_.nodes);
        looking->failures[node.index()] = why;
        looking->refused |= only(node.index());
      }
      return judge(looking, std::move(lock));
    }
  }
}

// Where there is no memory for it the library, which asks again, has all of them told once more.
void RedlockBackend::tell_again(Freeing& freeing, const Call& call) {
  try {
    tell(call);
  } catch (const std::bad_alloc&) {
    freeing.untold.store(true);
    throw;
  }
}

void RedlockBackend::no_vote(Node& node, const Call& call, const Failure& why) {
  no_vote(node, call, why, !node.usable());
}

void RedlockBackend::no_vote(Node& node, const Call& call, const Failure& why, bool broke) {
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_in(call);
  Lock lock(attempt->mutex);
  if (attempt->step.load() != step_of(call)) {
    lock.unlock();
    // One that was not sent is not in doubt.
    if (call.server != 0 && broke) in_doubt(attempt, stop_of(call));
    return;
  }
  attempt->round.silent(node.index());
  attempt->failures[node.index()] = why;
  judge(attempt, std::move(lock));
}

// It took longer than a command may take, or the server's clock was set ahead. Its reply has shown
// the time, so it is asked once more.
void RedlockBackend::on_late_take(Node& node, const Call& call) {
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_in(call);
  const NodeSet bit = only(node.index());
  {
    Lock lock(attempt->mutex);
    if (attempt->step.load() != step_of(call)) {
      lock.unlock();
      static_cast<void>(vote_late(attempt, step_of(call), bit));
      return;
    }
    const bool twice = (std::exchange(attempt->again, attempt->again | bit) & bit) != 0;
    if (twice || attempt->phase != QuorumAttempt::Phase::asking) {
      attempt->round.silent(node.index());
      return judge(attempt, std::move(lock));
    }
  }
  ask_nodes(attempt, bit, step_of(call));
}

void RedlockBackend::on_take(Node& node, const Call& call, VoteReply reply) {
  const bool voted = reply.kind == VoteReply::Kind::vote;
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_in(call);
  const std::size_t index = node.index();
  // A vote with another number than that of the hold has to learn it.
  const auto settle_late = [&] {
    Call late = call;
    late.tag = tag_of(Ask::settle, step_of(call));
    late.whole = false;
    return send(node, std::move(late));
  };
  Lock lock(attempt->mutex);
  static_cast<void>(attempt->spoke.add({.server = node.server(), .node = index}));
  if (attempt->step.load() != step_of(call) &&
      !base::mutant("redlock.votes_of_an_earlier_round_count")) {
    const bool laggard = attempt->phase == QuorumAttempt::Phase::won &&
                         attempt->won_step == step_of(call) && voted &&
                         reply.number != attempt->number.load();
    note_late(*attempt, node, call, reply);
    lock.unlock();
    if (laggard) static_cast<void>(settle_late());
    return;
  }
  // The hold is to have that vote, too, but may not rest on it.
  const bool joined = (attempt->late & only(index)) != 0 && !base::mutant("redlock.newcomer_votes");
  if (joined || attempt->roll.newcomer(index, call.generation)) {
    attempt->late |= only(index);
    attempt->round.silent(index);
    return judge(attempt, std::move(lock));
  }
  if (!voted && !copies_.has(call.server, attempt->request().attempt)) {
    attempt->maybe.refused(call.server, index);
  }
  if (!attempt->roll.counts(index, node.server())) {
    attempt->hears &= ~only(index);
    attempt->round.silent(index);
    return judge(attempt, std::move(lock));
  }
  if (voted) {
    attempt->round.granted(
        index, reply.number,
        base::mutant("redlock.validity_counts_from_the_answer") ? clock_->now() : call.asked);
    if (attempt->phase == QuorumAttempt::Phase::settling &&
        reply.number != attempt->number.load()) {
      lock.unlock();
      if (!settle_late()) no_vote(node, call, node.why());
      lock.lock();
      if (attempt->step.load() != step_of(call)) return;
    }
    return judge(attempt, std::move(lock));
  }
  const std::uint64_t number = reply.holder_number();
  std::optional<Holder> holder = reply.holder();
  attempt->round.refused(index, number, reply.left, std::move(reply.numbers));
  if ((attempt->round.holders_nodes() & only(index)) != 0) {
    // A vote that only a renewal brought there has no label; another server's has.
    const bool known = attempt->holder && attempt->holder_number == number;
    if (holder && holder->label.empty() && known) holder->label = attempt->holder->label;
    attempt->holder = std::move(holder);
    attempt->holder_number = number;
  }
  judge(attempt, std::move(lock));
}

void RedlockBackend::on_settle(Node& node, const Call& call, const VoteReply& reply) {
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_in(call);
  Lock lock(attempt->mutex);
  if (attempt->step.load() != step_of(call)) return;
  // Its address may lead elsewhere by now: what voted is not what answers.
  const bool voted = reply.kind == VoteReply::Kind::vote;
  if (voted && attempt->roll.counted(node.index(), node.server())) {
    attempt->round.settled(node.index(), reply.number);
  } else {
    attempt->round.silent(node.index());
  }
  judge(attempt, std::move(lock));
}

void RedlockBackend::on_undo(Node& node, const Call& call, const VoteReply& reply) {
  repeat_if_copies(node, call, reply.now);
  const std::shared_ptr<QuorumAttempt> attempt = quorum_attempt_in(call);
  Lock lock(attempt->mutex);
  if (attempt->step.load() != step_of(call)) return;
  static_cast<void>(attempt->spoke.add({.server = node.server(), .node = node.index()}));
  // One that was met since may be a stranger, but not if it knew of it; unless it knows of it since
  // it was asked for a vote of its own. And it was one server before, and is told what all of them
  // are owed: that it knew says nothing of those at other addresses, whose votes may stand.
  const bool there = node.index() == call.node;
  const bool knew = reply.kind != VoteReply::Kind::none && there &&
                    (!attempt->polled.has(node.server()) ||
                     base::mutant("redlock.own_vote_is_taken_for_anothers"));
  // A request of an earlier round may still arrive there. A later round may not ask this server,
  // and then only what it takes back, or its hold, frees that vote.
  const bool may_vote_yet =
      node.server() == call.server && copies_.has(node.server(), attempt->request().attempt);
  if ((node.server() == call.server || knew) && !may_vote_yet) {
    attempt->maybe.remove(call.server);
  }
  finish_cancel(attempt, std::move(lock));
}

void RedlockBackend::on_free(Node& node, const Call& call, const VoteReply& reply) {
  using Kind = VoteReply::Kind;
  repeat_if_copies(node, call, reply.now);
  const auto freeing = shared_request_in<Freeing>(call);
  Lock lock(freeing->mutex);
  // Also by the server that this one was before it was started anew.
  const bool before = freeing->unheard.has(node.server()) || freeing->unheard.has(call.server);
  // By two addresses the server frees it once, and the answer to the other may be read first. One
  // that was met since, and not where the one was that was asked, is a stranger, perhaps.
  const bool by_another =
      (reply.kind == Kind::freed_before && !before && whereabouts_.astray(node.index())) ||
      (node.server() != call.server && node.index() != call.node);
  const NodeSet bit = only(freeing->roll.answered(node.index(), node.server()));
  if (reply.kind == Kind::freed || (reply.kind == Kind::freed_before && before)) {
    freeing->tally.yes |= bit;
    freeing->tally.no &= ~bit;
  } else if ((reply.kind != Kind::none || !before) && !by_another) {
    freeing->tally.no |= bit & ~freeing->tally.yes;
  }  // else the copy of which no answer came may have freed it, and somebody else have it since
  judge(freeing, std::move(lock));
}

void RedlockBackend::judge(const std::shared_ptr<Freeing>& freeing, Lock lock) {
  const bool by_force = freeing->release->found() != nullptr;
  const Tally::Verdict verdict =
      by_force ? freeing->tally.verdict_by_force(quorum_) : freeing->tally.verdict(quorum_);
  if (verdict == Tally::Verdict::open) return;
  freeing->awaited.end();
  lock.unlock();
  if (freeing->release->done()) return;
  if (!by_force) holds_.forget(freeing->release->hold().attempt);
  freeing->release->answered(verdict == Tally::Verdict::yes ? Released::released
                                                            : Released::was_lost);
}

}  // namespace mortise::redlock
