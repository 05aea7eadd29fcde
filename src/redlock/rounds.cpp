// SPDX-License-Identifier: MIT
#include "redlock/rounds.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redlock/holds.hpp"
#include "redlock/redlock_client.hpp"
#include "remote/outcome.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;
using Phase = QuorumAttempt::Phase;

// If no client has won, an attempt that does not wait tries again this many times.
constexpr int most_splits = 4;
// A writer steps back this many times for readers that came before it. After that, the servers
// disagree about the order, or the readers are gone.
constexpr int patient_splits = 3;

bool is_in(Phase phase, const std::shared_ptr<QuorumAttempt>& attempt) {
  const Lock lock(attempt->mutex);
  return attempt->phase == phase;
}

using std::chrono::milliseconds;

// A waiter with hints of few servers gives the other servers this time to send theirs.
constexpr milliseconds soonest_hint{1};
constexpr milliseconds latest_hint{4};
// After a hint that is hardly worth a round, the next round begins this long after the last one.
constexpr milliseconds idle_word{200};
// The interval at which a waiter looks by itself as long as it can get no hints.
constexpr milliseconds soonest_look{20};
constexpr milliseconds latest_look{60};
// The pause after a round that no client won. It grows.
constexpr milliseconds shortest_split{1};
constexpr milliseconds longest_split{250};
// The servers' clocks are read a little late, and the leases of all do not end at once.
constexpr milliseconds after_the_end{2};

}  // namespace

std::uint64_t Rounds::propose() const noexcept {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  const std::uint64_t now = micros > 0 ? static_cast<std::uint64_t>(micros) : 0;
  return std::min(std::max(last_number_.load() + 1, now), core::grant_number_limit - 1);
}

void Rounds::ask(const Attempt& attempt) {
  const Servers& servers = parts_.servers;
  parts_.servers.settle_doubts();
  const Instant now = parts_.now();
  servers.want_missing(servers.usable(), !attempt->operation->in_trouble());
  Lock lock(attempt->mutex);
  switch (attempt->phase) {
    case Phase::won:
    case Phase::ended:
    case Phase::cancelled:
    case Phase::over: return;
    case Phase::asking:
    case Phase::settling:
      if (now < attempt->pace.asked + node_timeout(attempt->request().lease)) return;
      for (const auto& node : servers.nodes()) attempt->round.silent(node->index());
      return lose(attempt, std::move(lock));
    case Phase::unreachable:
    case Phase::waiting: break;
  }
  if (attempt->operation->done()) return;
  servers.begin(attempt->roll);
  const NodeSet nodes = servers.usable();  // only now: which of these connections are up
  if (!servers.are_enough(nodes)) {
    attempt->phase = Phase::unreachable;
    lock.unlock();
    // A server that came up in between has looked too early for attempts without servers.
    return servers.are_enough(servers.usable()) ? ask(attempt) : tell_unreachable(attempt);
  }
  if (attempt->ballot) {
    std::erase_if(attempt->lost, [&](const AttemptId& ballot) {
      return servers.voters({&ballot, 1}) == 0;
    });
    attempt->lost.push_back(attempt->ballot->id());
  }
  const std::uint32_t step = attempt->ballot ? attempt->ballot->step + 1 : 1;
  const auto ballot = std::make_shared<Ballot>(attempt->operation, step, now);
  QuorumAttempt::Pace& pace = attempt->pace;
  ballot->attempt = attempt;
  ballot->proposal = propose();
  if (pace.splits >= patient_splits) ballot->steps_back = Manners::StepsBack::not_at_all;
  if (pace.polite) ballot->steps_back = Manners::StepsBack::for_others;
  attempt->ballot = ballot;
  attempt->phase = Phase::asking;
  attempt->nodes.begin();
  pace.asked = now;
  pace.next = never;
  attempt->round.begin();
  attempt->awaited.begin(parts_.awaited);
  servers.each_of(nodes, [&](const Node& node) { attempt->round.asked(node.index()); });
  lock.unlock();
  ask_nodes(attempt, ballot, nodes);
}

void Rounds::ask_nodes(const Attempt& attempt, const std::shared_ptr<Ballot>& ballot,
                       NodeSet nodes) {
  parts_.servers.each_of(nodes, [&](Node& node) {
    // First. If the inbox breaks afterwards, and comes back, `listens()` clears this bit again.
    if (attempt->request().wait && node.inbox().listens()) {
      const Lock lock(attempt->mutex);
      if (attempt->ballot == ballot) attempt->nodes.hears |= only(node.index());
    }
    node.server().ask(ballot, node);
  });
}

// A server that came up during a round is asked for the hold that may come of it: see Roll.
void Rounds::join(const Attempt& attempt, const Node& node) {
  std::shared_ptr<Ballot> ballot;
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != Phase::asking) return;
    const NodeSet decided =
        attempt->round.open() | attempt->round.votes() | attempt->round.against();
    if ((decided & only(node.index())) != 0) return;
    attempt->nodes.late |= only(node.index());
    ballot = attempt->ballot;
  }
  ask_nodes(attempt, ballot, only(node.index()));
}

void Rounds::up(Node& node) {
  const bool enough = count(parts_.servers.usable()) >= parts_.quorum().majority();
  base::OneByOne each;
  for (const Attempt& attempt : parts_.attempts.undecided()) {
    each([&] {
      if (!is_in(Phase::unreachable, attempt)) {
        join(attempt, node);
      } else if (enough) {
        ask(attempt);
      }
    });
  }
  each.finish();
}

// A request that could not leave, or waited for room, is not among those that were under way.
void Rounds::silence(const Attempt& attempt, const Node& node) {
  Lock lock(attempt->mutex);
  if ((attempt->round.open() & only(node.index())) == 0) return;
  attempt->round.silent(node.index());
  judge(attempt, std::move(lock));
}

bool Rounds::down(const Node& node, bool clear_now) {
  base::OneByOne each;
  const std::vector<Attempt> attempts = parts_.attempts.undecided();
  for (const Attempt& attempt : attempts) {
    each([&] {
      if (clear_now && is_in(Phase::unreachable, attempt)) {
        ask(attempt);
      } else {
        silence(attempt, node);
        tell_unreachable(attempt);
      }
    });
  }
  each.finish();
  return !attempts.empty();
}

void Rounds::judge(const Attempt& attempt, Lock lock) {
  if (attempt->phase != Phase::asking && attempt->phase != Phase::settling) return;
  switch (attempt->round.outcome()) {
    case VoteRound::Outcome::open: return;
    case VoteRound::Outcome::settle: return settle(attempt, std::move(lock));
    case VoteRound::Outcome::won: return win(attempt, std::move(lock));
    case VoteRound::Outcome::lost: return lose(attempt, std::move(lock));
  }
}

void Rounds::settle(const Attempt& attempt, Lock lock) {
  attempt->phase = Phase::settling;
  const NodeSet nodes = attempt->round.settle();
  const std::shared_ptr<Ballot> ballot = attempt->ballot;
  ballot->settled.store(attempt->round.number());
  lock.unlock();
  parts_.servers.each_of(nodes, [&](Node& node) { settle_late(node, ballot); });
}

// A vote with another number than that of the hold has to learn the number of the hold.
void Rounds::settle_late(Node& node, const std::shared_ptr<Ballot>& ballot) {
  const Call call = Call::made(Call::Kind::ask, ballot);
  if (parts_.servers.writer().send(node, call) == redis::Connection::Sent::sent) return;
  no_vote(node, call, node.why());
}

void Rounds::win(const Attempt& attempt, Lock lock) {
  const Acquisition::Request& request = attempt->request();
  const Grant grant{.number = attempt->round.number(),
                    .counted_from = attempt->round.counted_from(),
                    .lease = request.lease};
  const HoldId hold{.name = request.name,
                    .attempt = request.attempt,
                    .number = grant.number,
                    .mode = request.mode};
  const std::shared_ptr<Ballot> ballot = attempt->ballot;
  ballot->until.put(end_of_hold(grant.counted_from, grant.lease));
  // Steps that need memory come first. If a round is won and no caller knows it, the votes are
  // never taken back.
  parts_.attempts.won(*attempt, grant.counted_from);
  attempt->phase = Phase::won;
  ballot->settled.store(grant.number);
  ballot->number.store(grant.number);
  attempt->awaited.end();
  const NodeSet late = attempt->nodes.late;
  lock.unlock();
  std::uint64_t last = last_number_.load();
  while (last < grant.number && !last_number_.compare_exchange_weak(last, grant.number)) {
  }
  parts_.servers.each([&](Server& server) {
    if (!server.may_have(ballot->id())) return;
    server.hold(ballot->id(), grant.number, grant.counted_from + grant.lease);
  });
  attempt->operation->granted(grant);
  remote::await_completion(*attempt->operation);
  if (attempt->operation->grant().number != grant.number) {
    return parts_.releases->release(std::make_shared<Release>(hold));  // no caller wants it
  }
  if (late != 0) parts_.renewals->relock(ballot, late);
}

void Rounds::lose(const Attempt& attempt, Lock lock) {
  const Instant now = parts_.now();
  const bool wait = attempt->request().wait;
  const std::size_t majority = parts_.quorum().majority();
  const bool contended = count(attempt->round.votes() | attempt->round.against()) >= majority;
  const bool held = attempt->round.held_elsewhere();
  // A release is over with a majority. An attempt that cannot reach all servers may meet those that
  // have yet to receive the release.
  const bool proven = count(attempt->round.holders_nodes()) >= majority;
  const std::shared_ptr<Ballot> ballot = attempt->ballot;
  QuorumAttempt::Pace& pace = attempt->pace;
  pace.splits = (wait ? held : proven) ? 0 : pace.splits + 1;
  pace.polite = false;
  std::optional<Holder> holder = attempt->holder;
  if (contended && !wait && (proven || pace.splits > most_splits)) {
    attempt->phase = Phase::over;
  } else if (!contended && attempt->nodes.late == 0) {
    attempt->phase = Phase::unreachable;
  } else {
    attempt->phase = Phase::waiting;
    pace.next = parts_.waits->next_try(*attempt, now);
  }
  const Phase phase = attempt->phase;
  const Instant next = pace.next;
  // The answers to the undoing count until the next round. A server that has lost its scripts
  // undoes nothing before it receives them, and votes that stand keep all clients from a majority.
  if (phase != Phase::waiting || base::mutant("redlock.nobody_reads_what_is_undone")) {
    attempt->awaited.end();
  }
  ballot->end();
  if (phase == Phase::over) ballot->leaves.store(true);
  lock.unlock();
  if (!base::mutant("redlock.lost_round_is_not_undone")) parts_.servers.take_back(ballot);
  if (phase == Phase::unreachable) return tell_unreachable(attempt);
  if (phase == Phase::over) {
    attempt->operation->busy(std::move(holder));
    parts_.attempts.forget(*attempt);
    return;
  }
  if (wait && contended) {
    attempt->operation->queued(std::move(holder));
    const std::string inbox = parts_.requests.inbox(attempt->request().attempt);
    for (const auto& node : parts_.servers.nodes()) node->inbox().open(inbox);
  }
  if (next != never) parts_.waits->begin(attempt, next);
}

// If the attempt is not known, it was forgotten or never sent. The cancel then ends all its steps.
void Rounds::cancel(const std::shared_ptr<Acquisition>& operation) {
  Attempt attempt = parts_.attempts.find(operation->request().attempt);
  if (!attempt && operation->progress() == Acquisition::Progress::unsent) {
    operation->busy(operation->holder());  // no server has ever received it
    return;
  }
  const bool is_known = attempt != nullptr;
  if (!is_known) attempt = parts_.attempts.find_or_make(operation);
  if (!attempt) return;  // it has just been completed
  Lock lock(attempt->mutex);
  if (attempt->phase >= Phase::won) return;
  if (!is_known) {
    attempt->ballot = std::make_shared<Ballot>(operation, last_step, parts_.now());
    attempt->ballot->attempt = attempt;
  }
  attempt->phase = Phase::cancelled;
  attempt->awaited.begin(parts_.awaited);
  const std::shared_ptr<Ballot> ballot = attempt->ballot;
  if (ballot) {
    ballot->leaves.store(true);
    ballot->end();
    lock.unlock();
    if (is_known) {
      parts_.servers.take_back(ballot);
      if (operation->request().wait) parts_.servers.end_waits(ballot);
    } else {
      parts_.servers.take_back_everywhere(ballot);
    }
    lock.lock();
  }
  finish_cancel(attempt, std::move(lock));
}

// The cancel is complete if the votes of all its rounds are no majority any more, or if all servers
// that answer have taken their votes back. Only this client makes a grant of votes, and the other
// servers receive the cancel when they are back. For the same reason the cancel does not wait until
// lost requests are void. If no server has answered, the attempt stays in doubt. Votes of a lost
// round make no grant, but until they are taken back they keep other clients out.
void Rounds::finish_cancel(const Attempt& attempt, Lock lock) {
  if (attempt->phase != Phase::cancelled) return;
  const Servers& servers = parts_.servers;
  if (attempt->ballot) {
    std::vector<AttemptId> ballots = attempt->lost;
    ballots.push_back(attempt->ballot->id());
    bool heard = attempt->nodes.spoke != 0;
    servers.each_of(attempt->nodes.spoke, [&](const Node& node) {
      heard = heard && std::none_of(ballots.begin(), ballots.end(), [&](const AttemptId& ballot) {
                return node.server().is_to_answer(ballot);
              });
    });
    if (servers.voters(ballots) >= parts_.quorum().majority() && !heard) return;
  }
  std::optional<Holder> holder = attempt->operation->holder();  // first: may find no memory
  attempt->phase = Phase::over;
  attempt->awaited.end();
  lock.unlock();
  attempt->operation->busy(std::move(holder));
  parts_.attempts.forget(*attempt);
}

void Rounds::tell_unreachable(const Attempt& attempt) {
  std::vector<Failure> failures;
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != Phase::unreachable) return;
    failures = attempt->nodes.failures;
  }
  bool final = false;
  Failure why = parts_.servers.unreachable(failures, final);
  if (!why) return;
  if (!final) {
    attempt->operation->trouble(std::move(why));
    return;
  }
  {
    const Lock lock(attempt->mutex);
    if (attempt->phase != Phase::unreachable) return;
    attempt->phase = Phase::over;
  }
  attempt->operation->failed(std::move(why));
  parts_.attempts.forget(*attempt);
}

void Rounds::no_vote(const Node& node, const Call& call, const Failure& why) {
  const Attempt attempt = ballot_in(call).attempt.lock();
  if (!attempt) return;
  Lock lock(attempt->mutex);
  if (attempt->ballot != call.operation) return;
  if (attempt->phase != Phase::asking && attempt->phase != Phase::settling) return;
  attempt->round.silent(node.index());
  attempt->nodes.failures[node.index()] = why;
  judge(attempt, std::move(lock));
}

// The request took longer than a command may take, or the server's clock was set ahead. The reply
// contains the server's time, so the attempt asks once more.
void Rounds::on_late_take(Node& node, const Attempt& attempt, const std::shared_ptr<Ballot>& ballot,
                          Lock lock) {
  const NodeSet bit = only(node.index());
  const bool twice = (std::exchange(attempt->nodes.again, attempt->nodes.again | bit) & bit) != 0;
  if (twice || attempt->phase == Phase::settling) {
    attempt->round.silent(node.index());
    return judge(attempt, std::move(lock));
  }
  lock.unlock();
  ask_nodes(attempt, ballot, bit);
}

/// The round of that answer is lost, and the next round has not begun. The answer still shows which
/// servers' hints are worth a round. Without it, a server whose answers are always late would send
/// a hint for each vote that another client gives back.
void Rounds::note_late(QuorumAttempt& attempt, const Node& node, const Call& call,
                       VoteReply& reply) const {
  const std::size_t index = node.index();
  const bool joined = (attempt.nodes.late & only(index)) != 0;
  if (joined || attempt.roll.newcomer(index, call.written.generation)) return;
  if (!attempt.roll.counts(index, node.server().id())) return;
  if (base::mutant("redlock.hears_none_but_the_holders")) return;
  if (reply.kind == VoteReply::Kind::vote) {
    return attempt.round.granted(index, reply.number, call.asked);
  }
  attempt.round.refused(index, reply.holder_number(), reply.left, std::move(reply.numbers));
}

void Rounds::on_take(Node& node, const Call& call, VoteReply reply) {
  using Kind = VoteReply::Kind;
  const auto ballot = shared_in<Ballot>(call);
  const bool voted = reply.kind == Kind::vote;
  const std::size_t index = node.index();
  if (!voted) node.server().refused(*ballot);
  const Attempt attempt = ballot->attempt.lock();
  if (!attempt) return;
  Lock lock(attempt->mutex);
  if (attempt->ballot != ballot && !base::mutant("redlock.votes_of_an_earlier_round_count")) return;
  attempt->nodes.spoke |= only(index);
  switch (attempt->phase) {
    case Phase::asking:
    case Phase::settling: break;
    case Phase::won:
      lock.unlock();
      if (voted && reply.number != ballot->number.load()) settle_late(node, ballot);
      if (reply.kind == Kind::late) parts_.renewals->relock(ballot, only(index));
      return;
    case Phase::waiting:
      if (reply.kind != Kind::late) note_late(*attempt, node, call, reply);
      return;
    case Phase::cancelled: return finish_cancel(attempt, std::move(lock));
    default: return;
  }
  if (reply.kind == Kind::late) return on_late_take(node, attempt, ballot, std::move(lock));
  // The hold gets that vote as well, but it does not count for the majority.
  const bool joined =
      (attempt->nodes.late & only(index)) != 0 && !base::mutant("redlock.newcomer_votes");
  if (joined || attempt->roll.newcomer(index, call.written.generation)) {
    attempt->nodes.late |= only(index);
    attempt->round.silent(index);
    return judge(attempt, std::move(lock));
  }
  if (!attempt->roll.counts(index, node.server().id())) {
    attempt->nodes.hears &= ~only(index);
    attempt->round.silent(index);
    return judge(attempt, std::move(lock));
  }
  if (!voted) {
    on_refusal(node, *attempt, std::move(reply));
    return judge(attempt, std::move(lock));
  }
  attempt->round.granted(
      index, reply.number,
      base::mutant("redlock.validity_counts_from_the_answer") ? parts_.now() : call.asked);
  if (attempt->phase == Phase::settling && reply.number != ballot->settled.load()) {
    lock.unlock();
    settle_late(node, ballot);
    lock.lock();
    if (attempt->ballot != ballot) return;
  }
  judge(attempt, std::move(lock));
}

void Rounds::on_refusal(Node& node, QuorumAttempt& attempt, VoteReply reply) {
  const std::uint64_t number = reply.holder_number();
  std::optional<Holder> holder = reply.holder();
  attempt.round.refused(node.index(), number, reply.left, std::move(reply.numbers));
  if ((attempt.round.holders_nodes() & only(node.index())) == 0) return;
  // A vote that only a renewal gave to this server has no label. The vote of another server has
  // one.
  const bool known = attempt.holder && attempt.holder->token == token_of(number);
  if (holder && holder->label.empty() && known) holder->label = attempt.holder->label;
  attempt.holder = std::move(holder);
}

void Rounds::on_settle(Node& node, const Call& call, const VoteReply& reply) {
  const Attempt attempt = ballot_in(call).attempt.lock();
  if (!attempt) return;
  Lock lock(attempt->mutex);
  if (attempt->ballot != call.operation || attempt->phase == Phase::won) return;
  // The address may lead to another server by now. Then the server that answers is not the voter.
  const bool voted = reply.kind == VoteReply::Kind::vote;
  if (voted && attempt->roll.counted(node.index(), node.server().id())) {
    attempt->round.settled(node.index(), reply.number);
  } else {
    attempt->round.silent(node.index());
  }
  judge(attempt, std::move(lock));
}

void Rounds::on_undo(Node& node, const Call& call, const VoteReply& reply) {
  node.server().answered_undo(call, reply.now);
  // The freed vote may have been its own. A server that cannot be reached still has to receive the
  // release.
  if (base::mutant("redlock.own_vote_is_taken_for_anothers") &&
      reply.kind != VoteReply::Kind::none) {
    parts_.servers.each([&](Server& server) {
      if (server.is_reachable()) return;
      server.answered_undo(Call::of(remote::Purpose::undo, call.operation, parts_.now()),
                           reply.now);
    });
  }
  const Attempt attempt = ballot_in(call).attempt.lock();
  if (!attempt) return;
  Lock lock(attempt->mutex);
  if (attempt->ballot == call.operation) attempt->nodes.spoke |= only(node.index());
  finish_cancel(attempt, std::move(lock));
}

Waits::Waits(const Parts& parts) : parts_(parts), random_(base::random_bits()) {}

std::chrono::nanoseconds Waits::random(std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  const std::lock_guard lock(mutex_);
  return from + std::chrono::nanoseconds(static_cast<std::int64_t>(
                    random_.unit() * static_cast<double>((to - from).count())));
}

// If the inbox of a server has come up since the server was asked, the server sends no hints.
bool Waits::hints_come(const QuorumAttempt& attempt) const noexcept {
  const NodeSet asked =
      base::mutant("redlock.listening_is_being_told") ? parts_.quorum().all() : attempt.nodes.hears;
  const Line::Nodes& nodes = parts_.servers.nodes();
  const auto telling =
      static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [asked](const auto& node) {
        return (asked & only(node->index())) != 0 && node->inbox().listens();
      }));
  return telling >= parts_.quorum().blocking();  // one of them is asked whenever a majority is
}

// Under the quorum attempt's mutex.
Instant Waits::next_try(const QuorumAttempt& attempt, Instant now) {
  // A hint that came in between may be of a release that this round was too early for, and a server
  // that came up in between has not voted.
  const bool hinted = (attempt.nodes.hinted & attempt.round.worth_hearing()) != 0;
  if (hinted || attempt.nodes.late != 0) return now + random(soonest_hint, latest_hint);
  if (attempt.pace.splits > 0) {
    // Clients that collided draw from a window in which one of them is likely to be alone.
    const core::Nanos took = std::max<core::Nanos>(shortest_split, 2 * (now - attempt.pace.asked));
    const core::Nanos window =
        std::min<core::Nanos>(longest_split, took * (1 << std::min(attempt.pace.splits, 8)));
    return now + random(core::Nanos(0), window);
  }
  Instant next =
      attempt.nodes.hinted == 0 ? never : attempt.pace.asked + idle_word;  // see hinted()
  if (!hints_come(attempt)) next = std::min(next, now + random(soonest_look, latest_look));
  const std::optional<std::chrono::microseconds> left = attempt.round.free_in();
  if (left && *left < core::fallback_period) {
    next = std::min(next, attempt.pace.asked + *left + random(after_the_end, 2 * after_the_end));
  }
  return next;  // and the library asks each fallback period
}

void Waits::wake(const Attempt& attempt, Lock lock, Instant when) {
  if (attempt->phase != QuorumAttempt::Phase::waiting || attempt->pace.next <= when) return;
  attempt->pace.next = when;
  lock.unlock();
  begin(attempt, when);
}

void Waits::listens(const Node& node) {
  // That server may not have noted the attempts that wait: it forgets waiters that it could not
  // notify. Hints that it sent before this inbox was up have reached no waiter.
  const Instant soon = parts_.now() + soonest_hint;
  for (const Attempt& attempt : parts_.attempts.undecided()) {
    Lock lock(attempt->mutex);
    const bool believed = base::mutant("redlock.told_across_a_break");
    if (!believed) attempt->nodes.hears &= ~only(node.index());
    // A round that is under way asked the server before it could send hints. Another round follows.
    if (!believed && !base::mutant("redlock.listening_is_being_told")) {
      attempt->nodes.hinted |= only(node.index());
    }
    wake(attempt, std::move(lock), soon);
  }
}

void Waits::hinted(const Node& node, const AttemptId& id) {
  const Attempt attempt = parts_.attempts.find(id);
  if (!attempt) return;
  const Instant soon = parts_.now() + random(soonest_hint, latest_hint);
  Lock lock(attempt->mutex);
  attempt->nodes.hinted |= only(node.index());
  if (attempt->phase != QuorumAttempt::Phase::waiting) return;
  if ((attempt->nodes.hinted & attempt->round.worth_hearing()) == 0) {
    // A server that named the holder may have another holder by now, and have notified another
    // waiter.
    const Instant later = attempt->pace.asked + idle_word;
    if (base::mutant("redlock.hears_none_but_the_holders")) return;
    return wake(attempt, std::move(lock), std::max(soon, later));
  }
  if (count(attempt->nodes.hinted) < parts_.quorum().majority())
    return wake(attempt, std::move(lock), soon);
  lock.unlock();
  parts_.rounds->ask(attempt);
}

void Waits::begin(const Attempt& attempt, Instant when) {
  if (parts_.attempts.wake(attempt, when)) parts_.polling->wake(when);
}

void Waits::tick(Instant now) {
  for (const Attempt& attempt : parts_.attempts.take_due(now)) {
    {
      const Lock lock(attempt->mutex);
      const bool waits = attempt->phase == QuorumAttempt::Phase::waiting;
      if (!waits || attempt->pace.next > now) continue;
    }
    parts_.rounds->ask(attempt);
  }
}

}  // namespace mortise::redlock
