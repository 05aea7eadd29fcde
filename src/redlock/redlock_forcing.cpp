// SPDX-License-Identifier: MIT
// What administrators ask of a quorum. The end of a hold is that which its own client would bring:
// first a majority tells whose hold it is, and then every server is told that its attempt is over,
// whatever number it has there. From then on a server has no vote for it, and takes none up again:
// a request for one that was sent before is refused there (see release.lua). So as soon as a
// majority has done that, no majority can renew the hold any more, and its client is told at its
// next renewal. Servers that cannot be reached are told when they come back, as long as this client
// lives; else their votes end with their lease, a minority as they are. Parts of RedlockBackend.
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "redlock/redlock_backend.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace mortise::redlock {

using redis::Answer;

namespace {

Token token_of(const HoldId& hold) { return Token(hold.number * core::tokens_in_a_grant); }

/// @return the servers that have told of a vote for that attempt.
NodeSet nodes_of(const Looking& looking, const AttemptId& attempt) noexcept {
  NodeSet nodes = 0;
  for (const Looking::Vote& vote : looking.votes) {
    if (vote.hold.attempt == attempt) nodes |= only(vote.node);
  }
  return nodes;
}

/// @return the label that is written there, two hexadecimal digits a byte; nothing = it is none
std::optional<std::string> label_in(std::string_view digits) {
  if (digits.size() % 2 != 0 || digits.size() > 2 * core::longest_label) return std::nullopt;
  std::string label;
  for (; !digits.empty(); digits.remove_prefix(2)) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    if (error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    label.push_back(static_cast<char>(byte));
  }
  return label;
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
  operation->failed({Errc::unsupported, describe() +
                                            ": there is no queue, because the next majority "
                                            "decides; ask holder() for the holder"});
}

void RedlockBackend::force_release(const std::shared_ptr<ForcedRelease>& operation) {
  if (!open(*operation)) return;
  const auto looking = std::make_shared<Looking>(operation);
  looking->forced = operation;
  look(looking);
}

/// @return the answer behind the holds; nothing = it makes no sense
std::optional<Told> RedlockBackend::read_whose(std::string_view text,
                                               std::vector<Looking::Vote>& votes) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::optional<Told> told = Told::parse(text.substr(space + 1));
  if (!told || told->answer.kind != Answer::Kind::held) return told;
  std::string_view rest = text.substr(0, space);
  const auto up_to = [&rest](char end) {
    const std::string_view part = rest.substr(0, rest.find(end));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  while (!rest.empty()) {
    const std::optional<AttemptId> attempt = redis::parse_attempt(up_to('.'));
    const std::optional<std::uint64_t> number = vote_number(std::string("G ").append(up_to('.')));
    const std::optional<std::string> label = label_in(up_to(','));
    if (!attempt || !number || !label) return std::nullopt;
    Looking::Vote& vote = votes.emplace_back();  // GCC 12 warns of a temporary, wrongly
    vote.hold.attempt = *attempt;
    vote.hold.number = *number;
    vote.label = *label;
  }
  return votes.empty() ? std::nullopt : told;
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
/// @return those that a majority has voted for, and that are meant, as one of these servers names
/// them
std::vector<Looking::Vote> RedlockBackend::holds_to_end(const Looking& looking) const {
  const std::size_t silent = quorum_.nodes - looking.answers.size();
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
    if (looking.forced->means(token_of(vote.hold))) same->hold.number = vote.hold.number;
  }
  return all;
}

void RedlockBackend::end_by_force(Looking& looking, const Holder& holder) {
  const std::shared_ptr<ForcedRelease>& operation = looking.forced;
  // Its caller was told that it may have been done, and may have taken the name since.
  if (operation->done()) return;
  std::vector<Looking::Vote> holds;
  {
    const Lock lock(looking.mutex);
    if (std::exchange(looking.ending, true)) return;  // another answer has come
    holds = holds_to_end(looking);
  }
  if (holds.empty()) {
    operation->failed({Errc::unavailable, describe() +
                                              ": no majority agrees on the holder, so nothing was "
                                              "released; call again"});
    return;
  }
  const auto force = std::make_shared<Freeing::Force>();
  force->operation = operation;
  force->ended = holder;
  // Of one hold a majority knows the number; of those who read each is asked by its own.
  if (holds.size() > 1 || !operation->means(holder.token)) {
    std::erase_if(
        holds, [&](const Looking::Vote& vote) { return !operation->means(token_of(vote.hold)); });
    if (holds.empty()) return operation->answered(std::nullopt);
    // Where one of several is meant it is told, and not the one that is named first.
    const Looking::Vote& first = holds.front();
    if (operation->of() != Token{} && token_of(first.hold) != holder.token) {
      force->ended->label = first.label;
      force->ended->token = token_of(first.hold);
      force->ended->mode = Mode::shared;  // an owner beside them is named first
    }
  }
  if (base::mutant("redlock.force_ends_one_reader")) holds.resize(1);
  force->left.store(holds.size());
  const Instant until = clock_->now() + holder.expires_in.value_or(core::longest_lease);
  for (Looking::Vote& vote : holds) {
    vote.hold.name = operation->name();
    const auto freeing = std::make_shared<Freeing>(std::make_shared<Release>(std::move(vote.hold)),
                                                   true, until + end_at_the_servers);
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
