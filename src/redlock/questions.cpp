// SPDX-License-Identifier: MIT
#include "redlock/questions.hpp"

#include "base/one_by_one.hpp"
#include "core/figures.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Call;

/// The votes that servers have reported for one attempt.
struct Votes {
  NodeSet nodes = 0;        // that have one
  NodeSet of_last = 0;      // that have one of the last round
  std::uint32_t last = 0;   // the step of that round
  std::uint32_t below = 0;  // the largest step before it; 0 = none is reported
};

Votes votes_of(const Looking& looking, const AttemptId& attempt) noexcept {
  Votes votes;
  for (const Looking::Vote& vote : looking.votes) {
    if (vote.its.hold.attempt != attempt) continue;
    votes.nodes |= only(vote.node);
    if (vote.its.step > votes.last) {
      votes.of_last = 0;
      votes.below = std::exchange(votes.last, vote.its.step);
    }
    if (vote.its.step == votes.last) {
      votes.of_last |= only(vote.node);
    } else {
      votes.below = std::max(votes.below, vote.its.step);
    }
  }
  return votes;
}

/// A vote of a round proves that the rounds before it are over. So if the last round has no
/// majority, it may be under way, and get one later. Only votes of earlier rounds are ended then.
/// @param silent servers that have not answered
/// @return the step up to which the votes of the attempt are ended; 0 = it has no hold
std::uint32_t step_to_end(const Votes& votes, std::size_t silent, Quorum quorum) noexcept {
  if (count(votes.nodes) + silent < quorum.majority()) return 0;
  return count(votes.of_last) + silent < quorum.majority() ? votes.below : votes.last;
}

}  // namespace

void Questions::look(const std::shared_ptr<Looking>& looking) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(lookings_, [](const auto& other) { return other->abandoned(); });
    lookings_.push_back(looking);
  }
  parts_.servers.settle_doubts();
  const NodeSet nodes = parts_.servers.usable();
  parts_.servers.want_missing(nodes, true);
  {
    const Lock lock(looking->mutex);
    looking->awaited.begin(parts_.awaited);
  }
  look_at(looking, nodes);
  judge(looking, Lock(looking->mutex));
}

void Questions::look_at(const std::shared_ptr<Looking>& looking, NodeSet nodes) {
  {
    const Lock lock(looking->mutex);
    nodes &= ~looking->asked;
    looking->asked |= nodes;
  }
  const Call call = Call::made(Call::Kind::inspect, looking);
  parts_.servers.each_of(nodes, [&](Node& node) {
    if (parts_.servers.writer().send(node, call) == redis::Connection::Sent::sent) return;
    no_answer(node, call, {}, false);
  });
}

std::optional<Holder> Questions::holder_of(
    const std::vector<std::pair<std::size_t, VoteReply>>& answers, bool& decided) const {
  std::size_t free =
      parts_.quorum().nodes - answers.size();  // the silent servers may report any holder
  decided = false;
  bool any_may = false;
  // Of several readers, a server names one first. So most servers may not name the same reader
  // first.
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
    if (count(same.yes) >= parts_.quorum().majority()) {
      decided = true;
      return holder;
    }
    any_may = any_may || count(same.yes) + free >= parts_.quorum().majority();
  }
  decided = !any_may && free < parts_.quorum().majority();
  return std::nullopt;
}

bool Questions::on_answer(Node& node, const Call& call, VoteReply reply) {
  const auto looking = shared_in<Looking>(call);
  const bool unnamed =
      looking->queue != nullptr && reply.kind == VoteReply::Kind::held && reply.holds.empty();
  if (unnamed) return false;
  Lock lock(looking->mutex);
  looking->heard |= only(node.index());
  looking->refused &= ~only(node.index());  // by another connection
  if (!looking->failures.empty()) looking->failures[node.index()] = {};
  if (looking->roll.counts(node.index(), node.server().id())) {
    for (VoteReply::Named& each : reply.holds) {
      Looking::Vote& vote = looking->votes.emplace_back();  // GCC 12 warns of a temporary, wrongly
      vote.node = node.index();
      vote.its = std::move(each);
    }
    looking->answers.emplace_back(node.index(), std::move(reply));
  }
  judge(looking, std::move(lock));
  return true;
}

void Questions::no_answer(const Node& node, const Call& call, const Failure& why, bool refused) {
  const auto looking = shared_in<Looking>(call);
  Lock lock(looking->mutex);
  looking->asked &= ~only(node.index());
  if (why && refused) {
    looking->failures.resize(parts_.quorum().nodes);
    looking->failures[node.index()] = why;
    looking->refused |= only(node.index());
  }
  judge(looking, std::move(lock));
}

void Questions::up(const Node& node) {
  std::vector<std::shared_ptr<Looking>> lookings;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(lookings_, [](const auto& looking) { return looking->abandoned(); });
    lookings = lookings_;
  }
  for (const auto& looking : lookings) look_at(looking, only(node.index()));
}

bool Questions::down() {
  bool wanted = false;
  std::vector<std::shared_ptr<Looking>> lookings;
  {
    const std::lock_guard lock(mutex_);
    lookings = lookings_;
  }
  base::OneByOne each;
  for (const auto& looking : lookings) {
    if (looking->operation().done()) continue;
    wanted = true;
    each([&] { judge(looking, Lock(looking->mutex)); });
  }
  each.finish();
  return wanted;
}

std::vector<std::shared_ptr<Looking>> Questions::close() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lookings_, {});
}

void Questions::judge(const std::shared_ptr<Looking>& looking, Lock lock) {
  const NodeSet refused = looking->refused;
  const NodeSet heard = looking->heard | refused;
  const std::vector<Failure> failures = looking->failures;
  const std::size_t answers = looking->answers.size();
  bool decided = false;
  const std::optional<Holder> holder = holder_of(looking->answers, decided);
  const bool unsure = looking->queue && may_name_more(*looking);
  lock.unlock();
  // One server under two addresses shows when both have answered, so all are given their time.
  const Line::Nodes& nodes = parts_.servers.nodes();
  const bool settled = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return (heard & only(node->index())) != 0 || (!node->usable() && node->why());
  });
  if (looking->check) decided = settled && answers >= parts_.quorum().majority();
  // The caller wants all holders, and one of them may have its majority at other servers.
  if (unsure && !settled) decided = false;
  // Read the failures last, so that they include everything that made a server count as settled.
  bool final = false;
  Failure why = parts_.servers.unreachable(failures, final);
  // Those that have refused are not asked again, so that no majority comes any more.
  final = final || (why && count(refused) >= parts_.quorum().blocking());
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

bool Questions::may_name_more(const Looking& looking) const {
  const std::size_t silent = parts_.quorum().nodes - looking.answers.size();
  return std::any_of(looking.votes.begin(), looking.votes.end(), [&](const Looking::Vote& vote) {
    const std::size_t votes = count(votes_of(looking, vote.its.hold.attempt).of_last);
    return votes < parts_.quorum().majority() && votes + silent >= parts_.quorum().majority();
  });
}

/// Of two attempts one may have the number of the other: it is attempts that are ended. A server
/// that cannot be reached may have made the majority of one: then that one holds.
/// @return those that a majority has voted for, as one of these servers names them, each with the
/// step up to which its votes are to be ended
std::vector<VoteReply::Named> Questions::holds_of(const Looking& looking) const {
  const std::size_t silent = parts_.quorum().nodes - looking.answers.size();
  const std::uint64_t meant = core::number_of(looking.queue->of());
  std::vector<VoteReply::Named> all;
  for (const Looking::Vote& each : looking.votes) {
    const VoteReply::Named& vote = each.its;
    const Votes votes = votes_of(looking, vote.hold.attempt);
    const std::uint32_t step = step_to_end(votes, silent, parts_.quorum());
    if (vote.step > step) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const VoteReply::Named& other) {
      return other.hold.attempt == vote.hold.attempt;
    });
    if (same == all.end()) {
      all.push_back(vote);
      all.back().step = step;
      continue;
    }
    // A vote that was given once more has no label, and one that came late another number.
    if (same->label.empty()) same->label = vote.label;
    if (vote.hold.number == meant) same->hold.number = meant;
  }
  return all;
}

/// @param holder the holder that a majority reports; of several readers the first one, or the owner
/// next to them
void Questions::answer_holds(Looking& looking, const std::optional<Holder>& holder) const {
  if (!holder) return looking.queue->answered({});
  std::vector<VoteReply::Named> holds;
  {
    const Lock lock(looking.mutex);
    holds = holds_of(looking);
  }
  if (holds.empty()) {
    return looking.queue->failed(
        {Errc::unavailable, parts_.words + ": no majority agrees on the holder; call again"});
  }
  NameQueue queue{.waiters_in_all = holder->waiters};
  std::vector<HoldMark> marks;
  for (const VoteReply::Named& vote : holds) {
    HolderEntry& entry = queue.holders.emplace_back();
    entry.expires_in = holder->expires_in;
    // A majority knows the number of one hold. Each of several readers is known by its own number,
    // and so is a hold whose token is meant: a vote that came late has another number.
    const Token its = token_of(vote.hold.number);
    const bool first = holds.size() == 1 || its == holder->token;
    const bool meant = vote.hold.number == core::number_of(looking.queue->of());
    entry.label = first ? holder->label : vote.label;
    entry.token = first && !meant ? holder->token : its;
    entry.mode = first ? holder->mode : Mode::shared;
    marks.push_back({.attempt = vote.hold.attempt, .mark = std::to_string(vote.step)});
  }
  looking.queue->answered(std::move(queue), std::move(marks));
}

}  // namespace mortise::redlock
