// SPDX-License-Identifier: MIT
// Goal: whatever the servers of a quorum answer, a round is won by a majority that remembers one
// number, the largest that was given, and by nothing else. Method: lines, each the answer of one
// server, read as the backend reads them.
#include "core/figures.hpp"
#include "fuzz/fuzz.hpp"
#include "redis/store/reply.hpp"
#include "redlock/vote.hpp"
#include "redlock/vote_round.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace mortise::redlock;
using mortise::Instant;
using mortise::fuzz::expect;
using mortise::fuzz::Input;
using mortise::redis::Reply;
namespace core = mortise::core;

/// The servers' side: which number each has really written down for us.
struct Votes {
  std::array<std::uint64_t, 16> numbers{};
};

/// @return a reply with these words. A number becomes an integer.
Reply reply_of(std::string_view text) {
  Reply reply{.kind = Reply::Kind::array};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    Reply& item = reply.items.emplace_back();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), item.integer);
    const bool whole = error == std::errc{} && end == word.data() + word.size();
    item.kind = whole ? Reply::Kind::integer : Reply::Kind::string;
    if (!whole) item.text = word;
  }
  return reply;
}

void hear(VoteRound& round, Votes& votes, std::size_t node, std::string_view text, bool settling) {
  std::optional<VoteReply> reply = VoteReply::parse(reply_of(text));
  if (reply && reply->kind == VoteReply::Kind::vote) {
    const std::uint64_t number = reply->number;
    expect(number > 0 && number < core::grant_number_limit, "a number that is exact", text);
    // Only who voted is asked to note another number.
    if (settling && (round.votes() & only(node)) != 0) {
      round.settled(node, number);
    } else {
      round.granted(node, number, Instant{std::chrono::seconds(node)});
    }
    votes.numbers.at(node) = number;
  } else if (!settling && reply && reply->kind == VoteReply::Kind::busy) {
    round.refused(node, reply->holder_number(), reply->left, std::move(reply->numbers));
    votes.numbers.at(node) = 0;
  } else {
    round.silent(node);
  }
}

void check(const VoteRound& round, const Votes& votes, Quorum quorum) {
  expect((round.votes() & ~quorum.all()) == 0, "votes of servers that exist");
  if (round.outcome() == VoteRound::Outcome::won) {
    std::size_t same = 0;
    for (const std::uint64_t number : votes.numbers) same += number == round.number() ? 1U : 0U;
    expect(same >= quorum.majority(), "a majority remembers the number");
    expect(round.counted_from() != mortise::never, "a lease counts from a moment");
  }
  if (round.outcome() == VoteRound::Outcome::lost) {
    expect(count(round.votes() | round.open()) < quorum.majority(), "nobody loses a majority");
  }
  expect(!round.held_elsewhere() || round.holders_nodes() != 0, "held by somebody");
  if (const auto left = round.free_in()) {
    expect(left->count() >= 0 && *left < std::chrono::hours(24 * 365 * 300), "a time that fits");
  }
}

}  // namespace

// The first byte: how many servers; a line's first byte: which of them answers, then its words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t nodes = 3 + std::min<std::size_t>(input.byte() % 13U, 12);
  const Quorum quorum{.nodes = nodes};
  VoteRound round(quorum);
  round.begin();
  Votes votes;
  for (std::size_t i = 0; i < quorum.nodes; ++i) round.asked(i);
  bool settling = false;
  while (!input.empty()) {
    const std::size_t node = input.byte() % nodes;
    const std::string_view words = input.line();
    if ((round.open() & only(node)) == 0) continue;  // one answer a quorum request
    hear(round, votes, node, words, settling);
    if (!settling && round.outcome() == VoteRound::Outcome::settle) {
      settling = true;
      const NodeSet others = round.settle();
      expect((others & ~round.votes()) == 0, "only who voted is told a number");
      expect(*std::max_element(votes.numbers.begin(), votes.numbers.end()) == round.number(),
             "the largest counts");
      for (std::size_t i = 0; i < quorum.nodes; ++i) {
        if ((others & only(i)) != 0) round.asked(i);
      }
    }
    check(round, votes, quorum);
  }
  return 0;
}
