// SPDX-License-Identifier: MIT
#include "redlock/holds.hpp"

#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "core/figures.hpp"
#include "redis/topology/renewal_parts.hpp"
#include "redlock/rounds.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;
using Phase = QuorumAttempt::Phase;

// A release of a hold with an unknown end is repeated for that time.
constexpr std::chrono::hours without_end{1};

/// @return true if that code of renew.lua means renewed; 2 = renewed, and the hold keeps a waiting
/// writer out
constexpr bool renews(int code) noexcept { return code == 1 || code == 2; }

/// @return the step of the votes that `Questions` has found.
std::uint32_t step_of(const FoundHold& found) noexcept {
  std::uint32_t step = 0;
  std::from_chars(found.mark.data(), found.mark.data() + found.mark.size(), step);
  return step;
}

}  // namespace

void Releases::release(const std::shared_ptr<Release>& operation) {
  const Servers& servers = parts_.servers;
  const NodeSet reachable = servers.usable();
  servers.want_missing(reachable, !operation->in_trouble());
  const End end = end_of(operation);
  bool was_told = false;
  {
    const Lock lock(end.ending->mutex);
    was_told = std::exchange(end.ending->is_told, true);
  }
  if (!was_told) tell_all(end);
  if (count(reachable) < parts_.quorum().majority()) servers.tell_trouble(*operation);
  const std::shared_ptr<Acquisition>& next = operation->successor();
  if (!next || next->done()) return;
  const Attempts::Attempt attempt = parts_.attempts.find_or_make(next);
  if (!attempt) return;
  {
    const Lock lock(attempt->mutex);
    if (!attempt->ballot) attempt->pace.polite = true;
  }
  parts_.rounds->ask(attempt);
}

// A release by force ends the votes of the hold at every server, whatever its number is there. From
// then on the server has no such vote, and does not give the hold its vote again (see release.lua).
// So as soon as a majority has done this, no majority can renew the hold. A server that is not
// reachable gets the release when it comes back, as long as this client lives. Otherwise its vote,
// one of a minority, ends with its lease. If the owner did not know of the hold, its attempt asks
// again in a later step. The release may be repeated then, so it names the step that was found.
Releases::End Releases::end_of(const std::shared_ptr<Release>& release) const {
  const HoldId& hold = release->hold();
  const Instant now = parts_.now();
  if (const FoundHold* const found = release->found()) {
    const core::Nanos left = found->holder.expires_in.value_or(core::longest_lease);
    const Ending::Terms terms{
        .attempt = hold.attempt,
        .step = base::mutant("redlock.force_ends_later_rounds") ? last_step : step_of(*found),
        .since = now,
        .until = now + left + end_at_the_servers};
    return {.ending = std::make_shared<Ending>(release, terms), .lease = left};
  }
  const Attempts::Attempt attempt = parts_.attempts.find(hold.attempt);
  if (attempt) {
    const Lock lock(attempt->mutex);
    const bool is_hold = attempt->phase == Phase::won || attempt->phase == Phase::ended;
    if (is_hold && attempt->is(hold)) {
      const std::shared_ptr<Ballot>& ballot = attempt->ballot;
      if (!attempt->ending || attempt->ending->release != release) {
        const Ending::Terms terms{.attempt = hold.attempt,
                                  .step = ballot->step,
                                  .since = ballot->begun,
                                  .until = ballot->until.get() + end_at_the_servers};
        attempt->ending = std::make_shared<Ending>(release, terms);
      }
      attempt->phase = Phase::ended;
      ballot->leaves.store(true);
      ballot->end();
      return {.ending = attempt->ending, .ballot = ballot, .lease = attempt->request().lease};
    }
  }
  const Ending::Terms terms{.attempt = hold.attempt, .exactly = true, .since = now};
  return {.ending = std::make_shared<Ending>(release, terms), .lease = without_end};
}

// If there is no memory for a server, the library repeats the release to all servers.
void Releases::tell_all(const End& end) const {
  const std::shared_ptr<Ending>& ending = end.ending;
  const AttemptId& id = ending->hold().attempt;
  {
    const Lock lock(ending->mutex);
    if (end.ballot) ending->tally.no = parts_.servers.others(id) & ~ending->tally.yes;
    ending->awaited.begin(parts_.awaited);
  }
  base::OneByOne each;
  const auto tell = [&](Server& server) {
    each([&] { server.end(ending, end.lease, false); });
    parts_.servers.each_heir(server, ending->terms.since, [&](Server& heir) {
      each([&] { heir.end(ending, end.lease, true); });
    });
  };
  if (end.ballot) {
    parts_.servers.each([&](Server& server) {
      if (server.may_have(id)) tell(server);
    });
    // A server that refused its vote may have noted it as a waiter. A waiting writer keeps readers
    // out.
    const bool waited = end.ballot->attempted().wait;
    if (waited && !base::mutant("redlock.place_outlives_the_hold")) {
      each([&] { parts_.servers.end_waits(end.ballot); });
    }
  } else {
    for (const auto& node : parts_.servers.nodes()) tell(node->server());
  }
  if (each.failed()) {
    const Lock lock(ending->mutex);
    ending->is_told = false;
  }
  judge(*ending, Lock(ending->mutex));  // it may concern no server
  each.finish();
}

void Releases::end_late_vote(Server& server, const Renewal::Item& item, Instant asked) {
  const Attempts::Attempt attempt = parts_.attempts.find(item.hold.attempt);
  std::shared_ptr<Ending> ending;
  if (attempt) {
    const Lock lock(attempt->mutex);
    ending = attempt->ending;
  } else {
    // It was released, and a majority has answered that.
    const Ending::Terms terms{
        .attempt = item.hold.attempt, .since = asked, .until = asked + item.lease};
    ending = std::make_shared<Ending>(std::make_shared<Release>(item.hold), terms);
  }
  if (ending && !server.may_have(ending->hold().attempt)) server.end(ending, item.lease, false);
}

void Releases::on_answer(Node& node, const Call& call, const VoteReply& reply) {
  using Kind = VoteReply::Kind;
  const auto ending = shared_in<Ending>(call);
  const AttemptId& id = ending->hold().attempt;
  Server& server = node.server();
  bool before = server.answered_ending(*ending, reply.now);
  // Also by the server that this one was before it was restarted.
  parts_.servers.each([&](const Server& other) {
    before = before || (!other.is_reachable() && other.is_in_doubt(id));
  });
  // A server that two addresses lead to frees the hold once. The answer by the other address may be
  // read first. A server that was met since, at an address of no voter, may never have had the
  // vote.
  const bool by_another = (reply.kind == Kind::freed_before && !before &&
                           parts_.servers.whereabouts().astray(node.index())) ||
                          (call.copies && !parts_.servers.replaces_a_voter(node, id));
  Lock lock(ending->mutex);
  const NodeSet bit = only(ending->roll.answered(node.index(), server.id()));
  if (reply.kind == Kind::freed || (reply.kind == Kind::freed_before && before)) {
    ending->tally.yes |= bit;
    ending->tally.no &= ~bit;
  } else if ((reply.kind != Kind::none || !before) && !by_another) {
    ending->tally.no |= bit & ~ending->tally.yes;
  } else if (!by_another) {
    // The request that was lost may have freed it. Another client, or a later round, has it since.
    ending->tally.unsure |= bit;
  }
  judge(*ending, std::move(lock));
}

void Releases::judge(Ending& ending, Lock lock) const {
  const Quorum quorum = parts_.quorum();
  const Tally::Verdict verdict =
      ending.is_by_force() ? ending.tally.verdict_by_force(quorum) : ending.tally.verdict(quorum);
  if (verdict == Tally::Verdict::open) return;
  ending.awaited.end();
  lock.unlock();
  if (ending.release->done()) return;
  const Attempts::Attempt attempt = parts_.attempts.find(ending.terms.attempt);
  if (attempt && !ending.is_by_force()) {
    const Lock its(attempt->mutex);
    if (attempt->phase == Phase::ended) parts_.attempts.forget(*attempt);
  }
  ending.release->answered(verdict == Tally::Verdict::yes ? Released::released
                                                          : Released::was_lost);
}

void Releases::on_refusal(const Node& node, Ending& ending, const Failure& why) {
  Lock lock(ending.mutex);
  ending.refused |= only(node.index());
  const bool hopeless = count(ending.refused) >= parts_.quorum().blocking();
  lock.unlock();
  if (!hopeless) return;
  if (why.code == Errc::denied || why.code == Errc::protocol) {
    ending.release->failed(why);
  } else {
    ending.release->trouble(why);
  }
}

Instant end_of_hold(Instant counted_from, std::chrono::nanoseconds lease) noexcept {
  const SafetyMargin margin;
  const core::Nanos unusable = lease / 1000 * core::drift_permille +
                               std::max<core::Nanos>(lease / 1000 * margin.permille, margin.least);
  return counted_from + lease - unusable;
}

void Renewals::renew(const std::shared_ptr<Renewal>& operation) {
  const Servers& servers = parts_.servers;
  const auto renewing =
      std::make_shared<Renewing>(operation, node_timeout(remote::shortest_lease(*operation)));
  servers.begin(renewing->roll);
  const NodeSet nodes = servers.usable();  // only now: which of these connections are up
  servers.want_missing(nodes, true);       // the library paces renewals by their lease
  if (count(nodes) < parts_.quorum().majority()) {
    servers.tell_trouble(*operation);
    operation->answered();  // unknown: repeated inside the lease
    return;
  }
  const Call call = Call::made(Call::Kind::renew, renewing, parts_.now());
  {
    const Lock lock(renewing->mutex);
    renewing->asked = call.asked;
    renewing->open = nodes;
    renewing->awaited.begin(parts_.awaited);
  }
  servers.each_of(nodes, [&](Node& node) {
    if (servers.writer().send(node, call) == redis::Connection::Sent::sent) return;
    no_answer(node, call, {}, false, false);
  });
}

std::shared_ptr<Ballot> Renewals::ballot_of(const HoldId& hold) const {
  const Attempts::Attempt attempt = parts_.attempts.find(hold.attempt);
  if (!attempt) return nullptr;
  const Lock lock(attempt->mutex);
  const bool stands = attempt->phase == QuorumAttempt::Phase::won && attempt->is(hold);
  return stands ? attempt->ballot : nullptr;
}

// A renewed vote counts, even if the server has it from another server that it has replaced.
void Renewals::note_votes(Node& node, Renewing& renewing, const std::vector<int>& codes) const {
  const std::vector<Renewal::Item>& items = renewing.renewal->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!renews(codes[i])) continue;
    if (const std::shared_ptr<Ballot> stands = ballot_of(items[i].hold)) {
      node.server().hold(stands->id(), items[i].hold.number, renewing.asked + items[i].lease);
    } else {
      parts_.releases->end_late_vote(node.server(), items[i], renewing.asked);
    }
  }
}

bool Renewals::on_answer(Node& node, const Call& call, const VoteReply& reply) {
  const auto renewing = shared_in<Renewing>(call);
  const std::vector<int>& codes = reply.renewals;
  const std::vector<Renewal::Item>& items = renewing->renewal->items();
  const NodeSet bit = only(node.index());
  if (codes.size() != renewing->votes.size()) return false;
  note_votes(node, *renewing, codes);
  std::vector<HoldId> late;  // and not the items: `judge()` writes into them
  Lock lock(renewing->mutex);
  renewing->open &= ~bit;
  const bool counts = !renewing->roll.newcomer(node.index(), call.written.generation) &&
                      renewing->roll.counts(node.index(), node.server().id());
  for (std::size_t i = 0; counts && i < codes.size(); ++i) {
    Renewing::Votes& votes = renewing->votes[i];
    (renews(codes[i]) ? votes.tally.yes : votes.tally.no) |= bit;
    // One server is enough: each majority contains a server that has noted the waiting writer.
    if (codes[i] == 2 && !base::mutant("redlock.nobody_says_that_a_writer_waits")) {
      votes.wanted = true;
    }
    if (codes[i] != -1) continue;
    votes.free |= bit;
    // The majority's answers were in already: this server was not asked for its vote yet.
    const bool is_yes = votes.tally.verdict(parts_.quorum()) == Tally::Verdict::yes;
    if (renewing->over && is_yes) late.push_back(items[i].hold);
  }
  if (!renewing->over) {
    judge(renewing, std::move(lock));
    return true;
  }
  lock.unlock();
  for (const HoldId& hold : late) relock(hold, bit);
  return true;
}

void Renewals::no_answer(const Node& node, const Call& call, const Failure& why, bool refused,
                         bool apart) {
  const auto renewing = shared_in<Renewing>(call);
  const std::vector<Renewal::Item>& items = renewing->renewal->items();
  Lock lock(renewing->mutex);
  const Instant asked = renewing->asked;
  renewing->apart = renewing->apart || (apart && renewing->votes.size() > 1);
  renewing->open &= ~only(node.index());
  if (why && refused) renewing->refusal = why;
  judge(renewing, std::move(lock));
  // The server may have renewed them.
  for (const Renewal::Item& item : items) {
    const std::shared_ptr<Ballot> ballot = refused ? nullptr : ballot_of(item.hold);
    if (!ballot || !node.server().may_have(ballot->id())) continue;
    node.server().hold(ballot->id(), item.hold.number, asked + item.lease);
  }
}

void Renewals::judge(const std::shared_ptr<Renewing>& renewing, Lock lock) {
  if (renewing->over) return;
  const Quorum quorum = parts_.quorum();
  const bool open = std::any_of(
      renewing->votes.begin(), renewing->votes.end(),
      [&](const auto& each) { return each.tally.verdict(quorum) == Tally::Verdict::open; });
  if (open && renewing->open != 0) return;
  renewing->over = true;
  renewing->awaited.end();
  const std::vector<Renewing::Votes> votes = renewing->votes;
  const bool apart = open && renewing->apart;
  const Failure refusal = renewing->refusal;
  lock.unlock();
  const std::shared_ptr<Renewal>& renewal = renewing->renewal;
  if (renewal->done()) return;
  base::OneByOne each;
  if (apart) {
    // Each server refuses the whole batch for a mistake in one name: each hold is renewed alone.
    for (auto& part : redis::parts_of(renewal)) each([&] { renew(part); });
    return each.finish();
  }
  std::vector<Renewal::Item>& items = renewal->items();
  // A majority did not renew these holds. The servers that did, now or later, keep their votes for
  // a whole lease, and may keep all clients from a majority. So release the hold before the library
  // gets the answer, because it may ask for the lock at once.
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (votes[i].tally.verdict(quorum) != Tally::Verdict::no) continue;
    parts_.releases->release(std::make_shared<Release>(items[i].hold));
  }
  std::vector<std::pair<HoldId, NodeSet>> again;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Renewal::Item& item = items[i];
    item.counted_from = renewing->asked;
    item.granted = item.lease;
    const bool wrong = base::mutant("redlock.minority_renews") && votes[i].tally.yes != 0;
    switch (wrong ? Tally::Verdict::yes : votes[i].tally.verdict(quorum)) {
      case Tally::Verdict::open:
        item.answer = Renewal::Answer::unknown;
        if (refusal) renewal->trouble(refusal);
        parts_.servers.tell_trouble(*renewal);
        break;
      case Tally::Verdict::no: item.answer = Renewal::Answer::lost; break;
      case Tally::Verdict::yes:
        item.answer = Renewal::Answer::renewed;
        item.wanted = votes[i].wanted;
        if (const std::shared_ptr<Ballot> ballot = ballot_of(item.hold)) {
          ballot->extend(end_of_hold(item.counted_from, item.lease), item.lease);
        }
        if (votes[i].free != 0) again.emplace_back(item.hold, votes[i].free);
        break;
    }
  }
  renewal->answered();
  for (const auto& [hold, nodes] : again) relock(hold, nodes);
}

void Renewals::relock(const HoldId& hold, NodeSet nodes) const {
  if (const std::shared_ptr<Ballot> ballot = ballot_of(hold)) relock(ballot, nodes);
}

void Renewals::relock(const std::shared_ptr<Ballot>& ballot, NodeSet nodes) const {
  parts_.servers.each_of(nodes, [&](const Node& node) {
    if (node.usable()) node.server().ask(ballot, node);
  });
}

}  // namespace mortise::redlock
