// SPDX-License-Identifier: MIT
// Nothing is decided while a silent server could still turn it, and nothing is won by votes that
// bear different numbers: two majorities have a server in common, which has given each its own.
#include "redlock/vote_round.hpp"

#include "base/mutant.hpp"

#include <algorithm>
#include <utility>

namespace mortise::redlock {

VoteRound::VoteRound(Quorum quorum)
    : quorum_(quorum), numbers_(quorum.nodes), since_(quorum.nodes), left_(quorum.nodes) {}

void VoteRound::begin() {
  asked_ = granted_ = refused_ = 0;
  decided_ = 0;
}

void VoteRound::granted(std::size_t node, std::uint64_t number, Instant since) {
  asked_ &= ~only(node);
  granted_ |= only(node);
  numbers_[node] = number;
  since_[node] = since;
}

void VoteRound::refused(std::size_t node, std::uint64_t holder, std::chrono::microseconds left,
                        std::vector<std::uint64_t> others) {
  if (!others.empty()) others_.resize(quorum_.nodes);  // first: there may be no memory for it
  if (!others_.empty()) others_[node] = std::move(others);
  asked_ &= ~only(node);
  refused_ |= only(node);
  numbers_[node] = holder;
  left_[node] = left;
}

void VoteRound::silent(std::size_t node) {
  asked_ &= ~only(node);
  if (decided_ != 0 && numbers_[node] != decided_) granted_ &= ~only(node);
}

NodeSet VoteRound::with_number(std::uint64_t number) const noexcept {
  NodeSet same = 0;
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((granted_ & only(i)) != 0 && numbers_[i] == number) same |= only(i);
  }
  return same;
}

VoteRound::Outcome VoteRound::outcome() const noexcept {
  const std::size_t majority =
      quorum_.majority() - (base::mutant("redlock.majority_is_one_too_few") ? 1 : 0);
  if (count(granted_ | asked_) < majority) {
    // Lost it is; whether to somebody else, or to servers that do not answer, a majority tells.
    const bool told = asked_ == 0 || count(granted_ | refused_) >= majority;
    return told ? Outcome::lost : Outcome::open;
  }
  if (count(granted_) < majority) return Outcome::open;
  if (count(with_number(number())) >= majority) return Outcome::won;
  if (base::mutant("redlock.votes_need_not_agree_on_the_number")) return Outcome::won;
  return decided_ == 0 ? Outcome::settle : Outcome::open;
}

NodeSet VoteRound::settle() {
  decided_ = number();
  return granted_ & ~with_number(decided_);
}

std::uint64_t VoteRound::number() const noexcept {
  if (decided_ != 0) return decided_;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((granted_ & only(i)) != 0) largest = std::max(largest, numbers_[i]);
  }
  return largest;
}

Instant VoteRound::counted_from() const noexcept {
  Instant first = never;
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((granted_ & only(i)) != 0) first = std::min(first, since_[i]);
  }
  return first;
}

NodeSet VoteRound::that_name(std::uint64_t holder) const noexcept {
  NodeSet all = 0;
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((refused_ & only(i)) == 0) continue;
    const std::span<const std::uint64_t> others = others_at(i);
    const bool beside = std::find(others.begin(), others.end(), holder) != others.end();
    if (numbers_[i] == holder || beside) all |= only(i);
  }
  return all;
}

std::span<const std::uint64_t> VoteRound::others_at(std::size_t node) const noexcept {
  return others_.empty() ? std::span<const std::uint64_t>() : others_[node];
}

NodeSet VoteRound::holders_nodes() const noexcept {
  NodeSet most = 0;
  const auto look_at = [&](std::uint64_t holder) {
    const NodeSet same = holder == 0 ? 0 : that_name(holder);
    if (count(same) > count(most)) most = same;
  };
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((refused_ & only(i)) == 0) continue;
    look_at(numbers_[i]);
    for (const std::uint64_t other : others_at(i)) look_at(other);
  }
  return most;
}

NodeSet VoteRound::worth_hearing() const noexcept {
  const NodeSet theirs = holders_nodes();
  if (count(theirs) < quorum_.majority()) return quorum_.all();
  if (base::mutant("redlock.hears_none_but_the_holders")) return theirs;
  return theirs | (quorum_.all() & ~(granted_ | refused_));
}

bool VoteRound::held_elsewhere() const noexcept {
  const NodeSet theirs = holders_nodes();
  if (theirs == 0) return false;
  const NodeSet unknown = quorum_.all() & ~(granted_ | refused_);
  return count(theirs | unknown) >= quorum_.majority();
}

std::optional<std::chrono::microseconds> VoteRound::free_in() const {
  std::vector<std::chrono::microseconds> ends;
  for (std::size_t i = 0; i < quorum_.nodes; ++i) {
    if ((refused_ & only(i)) != 0) ends.push_back(left_[i]);
  }
  const std::size_t ours = count(granted_);
  const std::size_t needed = quorum_.majority() - std::min(ours, quorum_.majority());
  if (needed == 0 || needed > ends.size()) return std::nullopt;
  std::sort(ends.begin(), ends.end());
  return ends[needed - 1];
}

}  // namespace mortise::redlock
