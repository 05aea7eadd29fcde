// SPDX-License-Identifier: MIT
// Who holds a lock, and whether locks can be taken, as a majority sees it. Parts of RedlockBackend.
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

constexpr std::chrono::seconds longest_look{1};

}  // namespace

void RedlockBackend::look(const std::shared_ptr<Looking>& looking) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(lookings_, [](const auto& other) { return other->abandoned(); });
    lookings_.push_back(looking);
  }
  settle_doubts(clock_->now());
  const NodeSet nodes = usable();
  want_missing(nodes, true);
  {
    const Lock lock(looking->mutex);
    looking->awaited.begin(awaited_);
  }
  look_at(looking, nodes);
  judge(looking, Lock(looking->mutex));
}

void RedlockBackend::look_at(const std::shared_ptr<Looking>& looking, NodeSet nodes) {
  {
    const Lock lock(looking->mutex);
    nodes &= ~looking->asked;
    looking->asked |= nodes;
  }
  const Instant now = clock_->now();
  const redis::Call call{
      .tag = tag_of(Ask::look), .operation = looking, .asked = now, .deadline = now + longest_look};
  for (const auto& node : nodes_) {
    if ((nodes & only(node->index())) == 0 || send(*node, call)) continue;
    no_answer(*node, call, {});
  }
}

std::optional<Holder> RedlockBackend::holder_of(
    const std::vector<std::pair<std::size_t, VoteReply>>& answers, bool& decided) const {
  std::size_t free = quorum_.nodes - answers.size();  // who has not answered may say anything
  decided = false;
  bool any_may = false;
  // Those whom a server names first: where several read they are the first at most of them.
  for (const auto& [node, told] : answers) {
    if (told.kind != VoteReply::Kind::held) continue;
    Tally same;
    std::optional<Holder> holder = told.holder();
    for (const auto& [other, theirs] : answers) {
      if (theirs.kind != VoteReply::Kind::held || !theirs.names(told.holder_number())) continue;
      same.yes |= only(other);
      if (holder && theirs.holder()) {
        holder->waiters = std::max(holder->waiters.value_or(0), theirs.waiters);
        const bool of_it = theirs.holder_number() == told.holder_number();
        if (holder->label.empty() && of_it) holder->label = theirs.label;
      }
    }
    if (count(same.yes) >= quorum_.majority()) {
      decided = true;
      return holder;
    }
    any_may = any_may || count(same.yes) + free >= quorum_.majority();
  }
  decided = !any_may && free < quorum_.majority();
  return std::nullopt;
}

void RedlockBackend::on_look(Node& node, const redis::Call& call, VoteReply reply) {
  const auto looking = shared_request_in<Looking>(call);
  const bool unnamed =
      looking->queue != nullptr && reply.kind == VoteReply::Kind::held && reply.holds.empty();
  if (unnamed) return nonsense(node, call);
  Lock lock(looking->mutex);
  looking->heard |= only(node.index());
  looking->refused &= ~only(node.index());  // by another connection
  if (!looking->failures.empty()) looking->failures[node.index()] = {};
  if (looking->roll.counts(node.index(), node.server())) {
    for (std::size_t i = 0; i < reply.holds.size(); ++i) {
      Looking::Vote& vote = looking->votes.emplace_back();  // GCC 12 warns of a temporary, wrongly
      vote.node = node.index();
      vote.hold = std::move(reply.holds[i]);
      vote.label = std::move(reply.labels[i]);
    }
    looking->answers.emplace_back(node.index(), std::move(reply));
  }
  judge(looking, std::move(lock));
}

void RedlockBackend::judge(const std::shared_ptr<Looking>& looking, Lock lock) {
  const NodeSet refused = looking->refused;
  const NodeSet heard = looking->heard | refused;
  const std::vector<Failure> failures = looking->failures;
  const std::size_t answers = looking->answers.size();
  bool decided = false;
  const std::optional<Holder> holder = holder_of(looking->answers, decided);
  const bool unsure = looking->queue && may_name_more(*looking);
  lock.unlock();
  // One server under two addresses shows when both have answered, so all are given their time.
  const bool settled = std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return (heard & only(node->index())) != 0 || (!node->usable() && node->why());
  });
  if (looking->check) decided = settled && answers >= quorum_.majority();
  // All who hold it are asked for, and one of them may have its majority elsewhere.
  if (unsure && !settled) decided = false;
  // Asked last: what it tells of was known before a server counts as settled.
  bool final = false;
  Failure why = unreachable(failures, final);
  // Those that have refused are not asked again, so that no majority comes any more.
  final = final || (why && count(refused) >= quorum_.blocking());
  if (why && (final || looking->check)) decided = false;
  if (!decided && !(why && final)) {
    if (why) looking->operation().trouble(std::move(why));
    return;
  }
  {
    const Lock again(looking->mutex);
    looking->awaited.end();
  }
  {
    const std::lock_guard table(mutex_);
    std::erase(lookings_, looking);
  }
  if (why && final) {
    looking->operation().failed(std::move(why));
  } else if (looking->check) {
    looking->check->answered();
  } else if (looking->queue) {
    answer_holds(*looking, holder);
  } else {
    looking->inspection->answered(holder);
  }
}

}  // namespace mortise::redlock
