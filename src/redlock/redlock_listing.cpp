// SPDX-License-Identifier: MIT
// The questions of administrators to a quorum: parts of RedlockBackend. A majority of votes decides
// which holds there are. A release by force does what the hold's own client would do: see end_of().
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace mortise::redlock {

namespace {

/// @return the servers that have told of a vote for that attempt.
NodeSet nodes_of(const Looking& looking, const AttemptId& attempt) noexcept {
  NodeSet nodes = 0;
  for (const Looking::Vote& vote : looking.votes) {
    if (vote.hold.attempt == attempt) nodes |= only(vote.node);
  }
  return nodes;
}

}  // namespace

// Each server could be asked for its votes; but which of them are holds no number of such lists
// tells, made at different moments, and a hold that is just being taken has fewer votes than it
// needs.
void RedlockBackend::list(const std::shared_ptr<Listing>& operation) {
  operation->failed({Errc::unsupported, describe() +
                                            ": names cannot be listed, because each server "
                                            "knows only its own votes; ask holder() for one name"});
}

void RedlockBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (!operation->identifies()) {
    operation->failed({Errc::unsupported, describe() +
                                              ": there is no queue, because the next majority "
                                              "decides; ask holder() for the holder"});
  } else if (open(*operation)) {
    look(std::make_shared<Looking>(operation));
  }
}

bool RedlockBackend::may_name_more(const Looking& looking) const {
  const std::size_t silent = quorum_.nodes - looking.answers.size();
  return std::any_of(looking.votes.begin(), looking.votes.end(), [&](const Looking::Vote& vote) {
    const std::size_t votes = count(nodes_of(looking, vote.hold.attempt));
    return votes < quorum_.majority() && votes + silent >= quorum_.majority();
  });
}

/// Of two attempts one may have the number of the other: it is attempts that are ended. A server
/// that cannot be reached may have made the majority of one: then that one holds.
/// @return those that a majority has voted for, as one of these servers names them
std::vector<Looking::Vote> RedlockBackend::holds_of(const Looking& looking) const {
  const std::size_t silent = quorum_.nodes - looking.answers.size();
  const std::uint64_t meant = core::number_of(looking.queue->of());
  std::vector<Looking::Vote> all;
  for (const Looking::Vote& vote : looking.votes) {
    if (count(nodes_of(looking, vote.hold.attempt)) + silent < quorum_.majority()) continue;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Looking::Vote& other) {
      return other.hold.attempt == vote.hold.attempt;
    });
    if (same == all.end()) {
      all.push_back(vote);
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
void RedlockBackend::answer_holds(Looking& looking, const std::optional<Holder>& holder) {
  if (!holder) return looking.queue->answered({});
  std::vector<Looking::Vote> holds;
  {
    const Lock lock(looking.mutex);
    holds = holds_of(looking);
  }
  if (holds.empty()) {
    return looking.queue->failed(
        {Errc::unavailable, describe() + ": no majority agrees on the holder; call again"});
  }
  NameQueue queue{.waiters_in_all = holder->waiters};
  std::vector<HoldMark> marks;
  for (const Looking::Vote& vote : holds) {
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
    marks.push_back({.attempt = vote.hold.attempt});
  }
  looking.queue->answered(std::move(queue), std::move(marks));
}

}  // namespace mortise::redlock
