// SPDX-License-Identifier: MIT
// What administrators ask of a quorum. The end of a hold is that which its own client would bring:
// first a majority tells whose hold it is, and then every server is told that its attempt is over,
// whatever number it has there. From then on a server has no vote for it, and takes none up again:
// a request for one that was sent before is refused there (see release.lua). So as soon as a
// majority has done that, no majority can renew the hold any more, and its client is told at its
// next renewal. Servers that cannot be reached are told when they come back, as long as this client
// lives; else their votes end with their lease, a minority as they are. Parts of RedlockBackend.
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace mortise::redlock {

using redis::Answer;

// Each server could be asked for its votes; but which of them are holds no number of such lists
// tells, made at different moments, and a hold that is just being taken has fewer votes than it
// needs.
void RedlockBackend::list(const std::shared_ptr<Listing>& operation) {
  operation->failed({Errc::unsupported, describe() +
                                            ": no lists: each server knows its own votes, and what "
                                            "it tells of them is of another moment than what the "
                                            "others tell; ask holder() of a name"});
}

void RedlockBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  operation->failed({Errc::unsupported, describe() +
                                            ": no queue: whoever wins the next vote is next; ask "
                                            "holder() of a name"});
}

void RedlockBackend::force_release(const std::shared_ptr<ForcedRelease>& operation) {
  if (!open(*operation)) return;
  const auto looking = std::make_shared<Looking>(operation);
  looking->forced = operation;
  look(looking);
}

/// @return the answer behind the holds; nothing = it makes no sense
std::optional<Told> RedlockBackend::read_whose(std::string_view text, std::vector<HoldId>& holds) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::optional<Told> told = Told::parse(text.substr(space + 1));
  if (!told || told->answer.kind != Answer::Kind::held) return told;
  std::string_view rest = text.substr(0, space);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t dot = one.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::optional<AttemptId> attempt = redis::parse_attempt(one.substr(0, dot));
    const std::optional<std::uint64_t> number =
        vote_number(std::string("G ").append(one.substr(dot + 1)));
    if (!attempt || !number) return std::nullopt;
    holds.push_back({.attempt = *attempt, .number = *number});
  }
  return holds.empty() ? std::nullopt : told;
}

/// Of two attempts one may have the number of the other: it is attempts that are ended.
/// @return those that a majority names, as one of these servers does
std::vector<HoldId> RedlockBackend::holds_of_a_majority(const Looking& looking) const {
  std::vector<HoldId> all;
  for (const auto& [node, hold] : looking.holds) {
    const auto same = [&attempt = hold.attempt](const HoldId& other) {
      return other.attempt == attempt;
    };
    NodeSet votes = 0;
    for (const auto& [other, theirs] : looking.holds) {
      if (same(theirs)) votes |= only(other);
    }
    if (count(votes) < quorum_.majority() || std::any_of(all.begin(), all.end(), same)) continue;
    all.push_back(hold);
  }
  return all;
}

void RedlockBackend::end_by_force(Looking& looking, const Holder& holder) {
  const std::shared_ptr<ForcedRelease>& operation = looking.forced;
  std::vector<HoldId> holds;
  {
    const Lock lock(looking.mutex);
    if (std::exchange(looking.ending, true)) return;  // another answer has come
    holds = holds_of_a_majority(looking);
  }
  if (holds.empty()) {
    operation->failed({Errc::unavailable, describe() + ": its servers disagree whose hold it is"});
    return;
  }
  // Of one hold a majority knows the number; of those who read each is asked by its own.
  if (holds.size() > 1 || !operation->means(holder.token)) {
    std::erase_if(holds, [&](const HoldId& hold) {
      return !operation->means(Token(hold.number * core::tokens_in_a_grant));
    });
    if (holds.empty()) return operation->answered(std::nullopt);
  }
  const auto force = std::make_shared<Freeing::Force>();
  force->operation = operation;
  force->ended = holder;
  force->left.store(holds.size());
  const Instant until = clock_->now() + holder.expires_in.value_or(core::longest_lease);
  for (HoldId& hold : holds) {
    hold.name = operation->name();
    const auto freeing = std::make_shared<Freeing>(std::make_shared<Release>(std::move(hold)), true,
                                                   until + end_at_the_servers);
    freeing->forced = force;
    tell_all({.freeing = freeing, .maybe = everywhere(), .known = true});
  }
}

/// @return whether that is what it is: then it is answered as soon as a majority has heard of it
bool RedlockBackend::judge_forced(Freeing& freeing) {
  if (!freeing.forced) return false;
  if (count(freeing.tally.yes | freeing.tally.no) < quorum_.majority()) return true;
  freeing.awaited.end();
  if (std::exchange(freeing.heard, true)) return true;
  if (--freeing.forced->left == 0) freeing.forced->operation->answered(freeing.forced->ended);
  return true;
}

}  // namespace mortise::redlock
