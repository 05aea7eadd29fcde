// SPDX-License-Identifier: MIT
// What becomes of holds: who has renewed them, who is to have their vote once more, and what is
// given back where they are lost. Parts of RedlockBackend.
#include "base/mutant.hpp"
#include "base/one_by_one.hpp"
#include "redis/renewal_parts.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {

using redis::Call;

void RedlockBackend::on_renew(Node& node, const Call& call, const VoteReply& reply) {
  const auto renewing = shared_request_in<Renewing>(call);
  const std::vector<int>& codes = reply.renewals;
  std::vector<Renewal::Item>& items = renewing->renewal->items();
  const NodeSet bit = only(node.index());
  if (codes.size() != renewing->tallies.size()) return nonsense(node, call);
  // What it has renewed is a vote there, whoever gave it: a server may have it of the one that it
  // has replaced. Where the hold is being released meanwhile, this one has yet to hear of that.
  const Trail::Stop here{.server = node.server(),
                         .node = node.index(),
                         .since = renewing->asked,
                         .asked = renewing->asked};
  for (const std::shared_ptr<Freeing>& freeing : holds_.renewed(items, codes, here)) {
    tell(call_of(freeing, here));
  }
  std::vector<Renewal::Item> late;
  Lock lock(renewing->mutex);
  renewing->open &= ~bit;
  const bool counts = !renewing->roll.newcomer(node.index(), call.generation) &&
                      renewing->roll.counts(node.index(), node.server());
  for (std::size_t i = 0; counts && i < codes.size(); ++i) {
    Tally& tally = renewing->tallies[i];
    (renews(codes[i]) ? tally.yes : tally.no) |= bit;
    // One is enough: of those who have noted a writer that waits there is one in each majority.
    if (codes[i] == 2 && !base::mutant("redlock.nobody_says_that_a_writer_waits")) {
      renewing->wanted[i] = true;
    }
    if (codes[i] != -1) continue;
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
  const std::vector<bool> wanted = renewing->wanted;
  const bool apart = open && renewing->apart;
  const Failure refusal = renewing->refusal;
  lock.unlock();
  if (renewing->renewal->done()) return;
  if (apart) return renew_apart(renewing->renewal);
  give_back_what_is_lost(*renewing, verdicts);
  std::vector<Renewal::Item>& items = renewing->renewal->items();
  std::vector<std::pair<Renewal::Item, NodeSet>> again;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Renewal::Item& item = items[i];
    item.counted_from = renewing->asked;
    item.granted = item.lease;
    const bool wrong = base::mutant("redlock.minority_renews") && verdicts[i].yes != 0;
    switch (wrong ? Tally::Verdict::yes : verdicts[i].verdict(quorum_)) {
      case Tally::Verdict::open:
        item.answer = Renewal::Answer::unknown;
        if (refusal) renewing->renewal->trouble(refusal);
        tell_trouble(*renewing->renewal);
        break;
      case Tally::Verdict::no: item.answer = Renewal::Answer::lost; break;
      case Tally::Verdict::yes:
        item.answer = Renewal::Answer::renewed;
        item.wanted = wanted[i];
        holds_.extend(item.hold, end_of_hold(item.counted_from, item.lease));
        if (free[i] != 0) again.emplace_back(item, free[i]);
        break;
    }
  }
  renewing->renewal->answered();
  for (const auto& [item, nodes] : again) relock(item, nodes);
}

// Each server refuses the whole batch for a mistake in one name. Then each hold is renewed alone.
void RedlockBackend::renew_apart(const std::shared_ptr<Renewal>& renewal) {
  base::OneByOne each;
  for (auto& part : redis::parts_of(renewal)) each([&] { renew(part); });
  each.finish();
}

// The servers that say yes, by now or once the others have decided, keep it for a whole lease from
// then on, and may be as many as keep everybody from a majority. Behind the renewal, on the same
// connections; and before the library hears of it, which may ask for the lock at once.
void RedlockBackend::give_back_what_is_lost(const Renewing& renewing,
                                            const std::vector<Tally>& verdicts) {
  const std::vector<Renewal::Item>& items = renewing.renewal->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (verdicts[i].verdict(quorum_) == Tally::Verdict::no) {
      release(std::make_shared<Release>(items[i].hold));
    }
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
    mine.generation = node->generation();
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

void RedlockBackend::relock(const QuorumAttempt& attempt, NodeSet nodes) {
  const Acquisition::Request& request = attempt.request();
  relock({.hold = {.name = request.name,
                   .attempt = request.attempt,
                   .number = attempt.number.load(),
                   .mode = request.mode},
          .lease = request.lease},
         nodes);
}

}  // namespace mortise::redlock
