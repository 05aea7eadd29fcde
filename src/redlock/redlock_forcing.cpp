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

/// @return the answer behind the attempt; nothing = it makes no sense
std::optional<Answer> RedlockBackend::read_whose(std::string_view text,
                                                 std::optional<AttemptId>& whose) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::optional<Answer> answer = Answer::parse(text.substr(space + 1));
  if (answer && answer->kind == Answer::Kind::held) {
    whose = redis::parse_attempt(text.substr(0, space));
    if (!whose) return std::nullopt;
  }
  return answer;
}

void RedlockBackend::end_by_force(Looking& looking, const Holder& holder) {
  const std::shared_ptr<ForcedRelease>& operation = looking.forced;
  if (!operation->means(holder.token)) return operation->answered(std::nullopt);
  const std::uint64_t number = holder.token.value() / core::tokens_in_a_grant;
  // Of two attempts one may have the number of the other: it is the attempt that is ended.
  std::optional<AttemptId> whose;
  {
    const Lock lock(looking.mutex);
    if (std::exchange(looking.ending, true)) return;  // another answer has come
    for (const auto& [node, attempt] : looking.attempts) {
      NodeSet votes = 0;
      for (const auto& [other, theirs] : looking.attempts) {
        if (theirs == attempt) votes |= only(other);
      }
      if (count(votes) >= quorum_.majority()) whose = attempt;
    }
  }
  if (!whose) {
    operation->failed({Errc::unavailable, describe() + ": its servers disagree whose hold it is"});
    return;
  }
  const HoldId hold{.name = operation->name(), .attempt = *whose, .number = number};
  const Instant until = clock_->now() + holder.expires_in.value_or(core::longest_lease);
  const auto freeing =
      std::make_shared<Freeing>(std::make_shared<Release>(hold), true, until + end_at_the_servers);
  freeing->forced = operation;
  freeing->ended = holder;
  tell_all({.freeing = freeing, .maybe = everywhere(), .known = true});
}

/// @return whether that is what it is: then it is answered as soon as a majority has heard of it
bool RedlockBackend::judge_forced(Freeing& freeing) {
  if (!freeing.forced) return false;
  if (count(freeing.tally.yes | freeing.tally.no) < quorum_.majority()) return true;
  freeing.awaited.end();
  freeing.forced->answered(freeing.ended);
  return true;
}

}  // namespace mortise::redlock
