// SPDX-License-Identifier: MIT
// What the servers answer, each for itself, and what a majority of such answers means. Parts of
// RedlockBackend.
#include "base/mutant.hpp"
#include "redis/server_error.hpp"
#include "redlock/redlock_backend.hpp"
#include "redlock/vote.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Answer;
using redis::Call;
using redis::Reply;
using redis::ServerError;

std::shared_ptr<Bid> bid_in(const Call& call) {
  return std::static_pointer_cast<Bid>(call.operation);
}

// A server that refuses for now (too few replicas, a full disk) is asked again so often.
constexpr std::chrono::milliseconds refused_again{500};

}  // namespace

void RedlockBackend::answered(Node& node, const Call& call, const Reply& reply) {
  if (reply.is_error()) return refused(node, call, reply);
  if (reply.kind != Reply::Kind::string) return nonsense(node, call);
  note_executed(node, call);
  switch (ask_of(call)) {
    case Ask::take: return on_take(node, call, reply);
    case Ask::settle: return on_settle(node, call, reply);
    case Ask::undo: return on_undo(node, call, reply);
    case Ask::free: return on_free(node, call, reply);
    case Ask::renew: return on_renew(node, call, reply);
    case Ask::relock: return;  // a vote more, or not
    case Ask::look: return on_look(node, call, reply);
  }
}

// What was asked of the same attempt before is refused there from now on, if it was told so.
void RedlockBackend::note_executed(Node& node, const Call& call) {
  if (!call.copies || ask_of(call) == Ask::settle) return;
  if (const AttemptId* const attempt = attempt_of(call)) {
    strays_.answered(node.server(), *attempt, step_of(call), ask_of(call) == Ask::free,
                     clock_->now());
  }
}

void RedlockBackend::refused(Node& node, const Call& call, const Reply& reply) {
  ServerError error = redis::server_error(node.where(), reply.text);
  if (error.kind == ServerError::Kind::script && !call.whole) {
    if (ask_of(call) == Ask::take && vote_late(node, call)) return;
    Call again = call;
    again.whole = true;
    // Behind whatever was sent since, so that it may be withdrawn.
    if (send(node, again)) return;
    if (ask_of(again) == Ask::undo || ask_of(again) == Ask::free) {
      tell(std::move(again));
    } else {
      no_answer(node, again, error.failure);
    }
    return;
  }
  if (ask_of(call) == Ask::undo || ask_of(call) == Ask::free) {
    if (ask_of(call) == Ask::free) no_answer(node, call, error.failure);
    if (error.kind == ServerError::Kind::final) return;
    // It stays owed: what it would free keeps others out for a whole lease.
    if (!withdrawn(call) && !base::mutant("redlock.refused_undo_is_forgotten")) {
      debts_.owe(node.server(), call);
      alarm_.set_debts(clock_->now() + refused_again);
    }
    if (error.kind == ServerError::Kind::elsewhere) node.drop(error.failure);
    return;
  }
  no_answer(node, call, error.failure);
  if (error.kind == ServerError::Kind::elsewhere) node.drop(error.failure);
}

// The hold was granted before this server could vote for it; it shall have that vote, too.
bool RedlockBackend::vote_late(Node& node, const Call& call) {
  const std::shared_ptr<Bid> bid = bid_in(call);
  {
    const Lock lock(bid->mutex);
    if (bid->phase != Bid::Phase::won || bid->won_step != step_of(call)) return false;
  }
  relock(*bid, only(node.index()));
  return true;
}

void RedlockBackend::relock(const Bid& bid, NodeSet nodes) {
  const Acquisition::Request& request = bid.request();
  relock({.hold = {.name = request.name,
                   .attempt = request.attempt,
                   .number = bid.number.load(),
                   .mode = request.mode},
          .lease = request.lease},
         nodes);
}

void RedlockBackend::nonsense(Node& node, const Call& call) {
  const Failure why(Errc::protocol, node.where() + ": an answer that makes no sense");
  no_answer(node, call, why);
  node.drop(why);
}

void RedlockBackend::no_answer(Node& node, const Call& call, const Failure& why) {
  switch (ask_of(call)) {
    case Ask::take:
    case Ask::settle: return no_vote(node, call, why);
    case Ask::undo:
      return in_doubt(
          bid_in(call),
          {.server = call.server, .node = call.node, .since = call.since, .asked = call.asked});
    case Ask::free: {
      const auto freeing = std::static_pointer_cast<Freeing>(call.operation);
      if (!node.usable()) return tell(call);
      Lock lock(freeing->mutex);
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
      const auto renewing = std::static_pointer_cast<Renewing>(call.operation);
      Lock lock(renewing->mutex);
      renewing->open &= ~only(node.index());
      return judge(renewing, std::move(lock));
    }
    case Ask::relock: return;
    case Ask::look: {
      const auto looking = std::static_pointer_cast<Looking>(call.operation);
      Lock lock(looking->mutex);
      looking->asked &= ~only(node.index());
      return judge(looking, std::move(lock));
    }
  }
}

void RedlockBackend::no_vote(Node& node, const Call& call, const Failure& why) {
  const std::shared_ptr<Bid> bid = bid_in(call);
  Lock lock(bid->mutex);
  if (bid->step.load() != step_of(call)) {
    lock.unlock();
    // Of a connection that broke; one that was not sent is not.
    if (call.server != 0 && !node.usable()) {
      in_doubt(
          bid,
          {.server = call.server, .node = call.node, .since = call.since, .asked = call.asked});
    }
    return;
  }
  bid->ballot.silent(node.index());
  bid->failures[node.index()] = why;
  judge(bid, std::move(lock));
}

void RedlockBackend::on_take(Node& node, const Call& call, const Reply& reply) {
  const std::optional<std::uint64_t> number = vote_number(reply.text);
  const std::optional<Answer> answer = number ? std::nullopt : Answer::parse(reply.text);
  const bool refused =
      answer && (answer->kind == Answer::Kind::busy || answer->kind == Answer::Kind::refused);
  if (!number && !refused) return nonsense(node, call);
  const std::shared_ptr<Bid> bid = bid_in(call);
  const std::size_t index = node.index();
  Lock lock(bid->mutex);
  static_cast<void>(bid->spoke.add({.server = node.server(), .node = index}));
  if (bid->step.load() != step_of(call) &&
      !base::mutant("redlock.votes_of_an_earlier_round_count")) {
    // The hold was granted without this vote, which has to know its number now.
    const bool laggard = bid->phase == Bid::Phase::won && bid->won_step == step_of(call) &&
                         number && *number != bid->number.load();
    lock.unlock();
    if (!laggard) return;
    Call late = call;
    late.tag = tag_of(Ask::settle, step_of(call));
    late.whole = false;
    static_cast<void>(send(node, std::move(late)));
    return;
  }
  // The hold is to have that vote, too, but may not rest on it.
  const bool joined = (bid->late & only(index)) != 0 && !base::mutant("redlock.newcomer_votes");
  if (joined || bid->roll.newcomer(index, call.epoch)) {
    bid->late |= only(index);
    bid->ballot.silent(index);
    return judge(bid, std::move(lock));
  }
  if (!number && !strays_.has(call.server, bid->request().attempt)) {
    bid->maybe.refused(call.server, index);
  }
  if (!bid->roll.counts(index, node.server())) {
    bid->hears &= ~only(index);
    bid->ballot.silent(index);
    return judge(bid, std::move(lock));
  }
  if (number) {
    bid->ballot.granted(
        index, *number,
        base::mutant("redlock.validity_counts_from_the_answer") ? clock_->now() : call.asked);
    if (bid->phase == Bid::Phase::settling && *number != bid->number.load()) {
      lock.unlock();
      Call late = call;
      late.tag = tag_of(Ask::settle, step_of(call));
      late.whole = false;
      if (!send(node, late)) no_vote(node, late, node.why());
      lock.lock();
      if (bid->step.load() != step_of(call)) return;
    }
    return judge(bid, std::move(lock));
  }
  if (bid->request().wait) {
    static_cast<void>(bid->listed.add({.server = call.server, .node = index, .since = call.since}));
  }
  bid->ballot.refused(index, answer->holder_number, answer->left);
  if ((bid->ballot.holders_nodes() & only(index)) != 0) bid->holder = answer->holder();
  judge(bid, std::move(lock));
}

void RedlockBackend::on_settle(Node& node, const Call& call, const Reply& reply) {
  const std::optional<std::uint64_t> number = vote_number(reply.text);
  if (!number && reply.text != "N" && reply.text != "H") return nonsense(node, call);
  const std::shared_ptr<Bid> bid = bid_in(call);
  Lock lock(bid->mutex);
  if (bid->step.load() != step_of(call)) return;
  // Its address may lead elsewhere by now: what voted is not what answers.
  if (number && bid->roll.counted(node.index(), node.server())) {
    bid->ballot.settled(node.index(), *number);
  } else {
    bid->ballot.silent(node.index());
  }
  judge(bid, std::move(lock));
}

void RedlockBackend::on_undo(Node& node, const Call& call, const Reply& reply) {
  const std::shared_ptr<Bid> bid = bid_in(call);
  Lock lock(bid->mutex);
  if (bid->step.load() != step_of(call)) return;
  static_cast<void>(bid->spoke.add({.server = node.server(), .node = node.index()}));
  // One that was met since may be a stranger, but not if it knew of it.
  if (node.server() == call.server || reply.text != "N") bid->maybe.remove(call.server);
  finish_cancel(bid, std::move(lock));
}

void RedlockBackend::on_free(Node& node, const Call& call, const Reply& reply) {
  if (reply.text.size() != 1 || reply.text.find_first_of("FALN") != 0) return nonsense(node, call);
  const auto freeing = std::static_pointer_cast<Freeing>(call.operation);
  const AttemptId& attempt = freeing->release->hold().attempt;
  // Also by the server that this one was before it was started anew.
  const bool before =
      strays_.has_release(node.server(), attempt) || strays_.has_release(call.server, attempt);
  strays_.released(node.server(), attempt);
  strays_.released(call.server, attempt);
  const char outcome = reply.text.front();
  Lock lock(freeing->mutex);
  // By two addresses the server frees it once, and the answer to the other may be read first. One
  // that was met since, and not where the one was that was asked, is a stranger, perhaps.
  const bool by_another = (outcome == 'A' && !before && whereabouts_.astray(node.index())) ||
                          (node.server() != call.server && node.index() != call.node);
  const NodeSet bit = only(freeing->roll.answered(node.index(), node.server()));
  if (outcome == 'F' || (outcome == 'A' && before)) {
    freeing->tally.yes |= bit;
    freeing->tally.no &= ~bit;
  } else if ((outcome != 'N' || !before) && !by_another) {
    freeing->tally.no |= bit & ~freeing->tally.yes;
  }  // else the copy of which no answer came may have freed it, and somebody else have it since
  judge(freeing, std::move(lock));
}

void RedlockBackend::judge(const std::shared_ptr<Freeing>& freeing, Lock lock) {
  const Tally::Verdict verdict = freeing->tally.verdict(quorum_);
  if (verdict == Tally::Verdict::open) return;
  freeing->awaited.end();
  lock.unlock();
  if (freeing->release->done()) return;
  holds_.forget(freeing->release->hold().attempt);
  freeing->release->answered(verdict == Tally::Verdict::yes ? Released::released
                                                            : Released::was_lost);
}

void RedlockBackend::on_renew(Node& node, const Call& call, const Reply& reply) {
  const auto renewing = std::static_pointer_cast<Renewing>(call.operation);
  const std::string& text = reply.text;
  std::vector<Renewal::Item>& items = renewing->renewal->items();
  const NodeSet bit = only(node.index());
  if (text.size() != renewing->tallies.size() ||
      text.find_first_not_of("01E") != std::string::npos) {
    return nonsense(node, call);
  }
  std::vector<Renewal::Item> late;
  Lock lock(renewing->mutex);
  renewing->open &= ~bit;
  const bool counts = !renewing->roll.newcomer(node.index(), call.epoch) &&
                      renewing->roll.counts(node.index(), node.server());
  for (std::size_t i = 0; counts && i < text.size(); ++i) {
    Tally& tally = renewing->tallies[i];
    (text[i] == '1' ? tally.yes : tally.no) |= bit;
    if (text[i] != 'E') continue;
    renewing->free[i] |= bit;
    // The majority's answers were in already: this server was not asked for its vote yet.
    if (renewing->over && tally.verdict(quorum_) == Tally::Verdict::yes) late.push_back(items[i]);
  }
  if (!renewing->over) return judge(renewing, std::move(lock));
  lock.unlock();
  for (const Renewal::Item& item : late) relock(item, bit);
}

void RedlockBackend::judge(const std::shared_ptr<Renewing>& renewing, Lock lock) {
  if (renewing->over) return;
  const auto& tallies = renewing->tallies;
  const bool open = std::any_of(tallies.begin(), tallies.end(), [&](const Tally& tally) {
    return tally.verdict(quorum_) == Tally::Verdict::open;
  });
  if (open && renewing->open != 0) return;
  renewing->over = true;
  renewing->awaited.end();
  const std::vector<Tally> verdicts = tallies;
  const std::vector<NodeSet> free = renewing->free;
  lock.unlock();
  if (renewing->renewal->done()) return;
  give_back_what_is_lost(*renewing, verdicts);
  std::vector<Renewal::Item>& items = renewing->renewal->items();
  std::vector<std::pair<Renewal::Item, NodeSet>> again;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Renewal::Item& item = items[i];
    item.counted_from = renewing->asked;
    item.granted = item.lease;
    const bool wrong = base::mutant("redlock.minority_renews") && verdicts[i].yes != 0;
    switch (wrong ? Tally::Verdict::yes : verdicts[i].verdict(quorum_)) {
      case Tally::Verdict::open: item.answer = Renewal::Answer::unknown; break;
      case Tally::Verdict::no: item.answer = Renewal::Answer::lost; break;
      case Tally::Verdict::yes:
        item.answer = Renewal::Answer::renewed;
        holds_.extend(item.hold, end_of_hold(item.counted_from, item.lease));
        if (free[i] != 0) again.emplace_back(item, free[i]);
        break;
    }
  }
  renewing->renewal->answered();
  for (const auto& [item, nodes] : again) relock(item, nodes);
}

// The servers that answered yes keep it for a whole lease from now on, and may be as many as keep
// everybody from a majority. Before the library hears of it, which may ask for the lock at once.
void RedlockBackend::give_back_what_is_lost(const Renewing& renewing,
                                            const std::vector<Tally>& verdicts) {
  const std::vector<Renewal::Item>& items = renewing.renewal->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (verdicts[i].verdict(quorum_) != Tally::Verdict::no || verdicts[i].yes == 0) continue;
    release(std::make_shared<Release>(items[i].hold));
  }
}

void RedlockBackend::relock(const Renewal::Item& item, NodeSet nodes) {
  if (!holds_.stands(item.hold, clock_->now())) return;
  const auto relocking = std::make_shared<Relocking>(item.hold, item.lease);
  const Instant now = clock_->now();
  const Call call{.tag = tag_of(Ask::relock, step_of_hold),
                  .operation = relocking,
                  .asked = now,
                  .deadline = now + node_timeout(item.lease)};
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0) continue;
    // The server is noted first, so that a release that comes now reaches it.
    redis::Call mine = call;
    mine.epoch = node->epoch();
    if (!node->usable()) continue;
    mine.server = node->server();
    mine.node = node->index();
    mine.since = now;
    if (!holds_.voted(item.hold,
                      {.server = mine.server, .node = mine.node, .since = now, .asked = now}))
      return;
    static_cast<void>(send_on(*node, std::move(mine)));
  }
}

}  // namespace mortise::redlock
