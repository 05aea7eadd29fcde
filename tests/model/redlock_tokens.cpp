// SPDX-License-Identifier: MIT
#include "model/redlock_tokens.hpp"

#include <algorithm>
#include <span>

namespace mortise::model {

namespace {

bool has(unsigned some, std::size_t which) { return (some >> which & 1U) != 0; }

}  // namespace

void RedlockTokens::tell(State state, const Step& step, const Found& found) const {
  sort_few(std::span(state.nodes).first(rules_.nodes));
  found(state, step);
}

void RedlockTokens::begin_with(State state, std::size_t node, std::uint8_t least,
                               const Found& found) const {
  if (node == rules_.nodes) {
    tell(state, {}, found);
    return;
  }
  for (std::uint8_t last = least; last <= rules_.earlier; ++last) {
    state.nodes[node].last = last;
    begin_with(state, node + 1, last, found);
  }
}

void RedlockTokens::go_on(const State& state, const Found& found) const {
  for (std::size_t a = 0; a < rules_.attempts; ++a) {
    if (state.attempts[a].phase == idle) {
      invoke(state, a, found);
      break;  // they differ in nothing but their order
    }
    if (state.attempts[a].phase == asking) decide(state, a, found);
    for (std::size_t i = 0; i < rules_.nodes; ++i) {
      ask(state, a, i, found);
      write_back(state, a, i, found);
    }
  }
  for (std::size_t i = 0; i < rules_.nodes; ++i) lose(state, i, found);
}

void RedlockTokens::invoke(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  attempt.phase = asking;
  std::uint8_t greatest = 0;
  for (std::size_t b = 0; b < rules_.attempts; ++b) {
    if (state.attempts[b].phase != granted) continue;
    attempt.after = static_cast<std::uint8_t>(attempt.after | 1U << b);
    greatest = std::max(greatest, state.attempts[b].number);
  }
  for (std::uint8_t more = 1; more <= rules_.proposals; ++more) {
    attempt.proposal = static_cast<std::uint8_t>((rules_.clock ? greatest : 0) + more);
    tell(state, {"proposes", a + 1, attempt.proposal}, found);
  }
}

void RedlockTokens::ask(State state, std::size_t a, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  if (node.owner != 0 || node.tries[a] == rules_.tries) return;
  ++node.tries[a];
  node.owner = static_cast<std::uint8_t>(a + 1);
  ++node.last;
  node.last = std::max(node.last, state.attempts[a].proposal);
  // Where it comes too late it takes the node all the same.
  if (state.attempts[a].phase == asking) node.answer[a] = node.last;
  tell(state, {"takes node", a + 1, i}, found);
}

// Any majority, or more, may have answered first.
void RedlockTokens::decide(const State& state, std::size_t a, const Found& found) const {
  for (unsigned some = 1; some < 1U << rules_.nodes; ++some) {
    std::size_t answers = 0;
    bool all = true;
    for (std::size_t i = 0; i < rules_.nodes; ++i) {
      if (!has(some, i)) continue;
      ++answers;
      all = all && state.nodes[i].answer[a] != 0;
    }
    if (all && answers >= rules_.quorum) decide_by(some, state, a, found);
  }
}

void RedlockTokens::decide_by(unsigned some, State state, std::size_t a, const Found& found) const {
  std::uint8_t least = room;
  std::uint8_t greatest = 0;
  for (std::size_t i = 0; i < rules_.nodes; ++i) {
    if (!has(some, i)) continue;
    least = std::min(least, state.nodes[i].answer[a]);
    greatest = std::max(greatest, state.nodes[i].answer[a]);
  }
  const bool agree = least == greatest || !rules_.writes_back;
  for (std::size_t i = 0; i < rules_.nodes; ++i) {
    Node& node = state.nodes[i];
    node.stored[a] = !agree && has(some, i) && node.answer[a] == greatest ? 1 : 0;
    node.answer[a] = 0;  // nothing depends on it any more
  }
  state.attempts[a].number = greatest;
  state.attempts[a].phase = agree ? granted : writing;
  tell(state, {agree ? "is granted" : "writes back", a + 1, greatest}, found);
}

void RedlockTokens::write_back(State state, std::size_t a, std::size_t i,
                               const Found& found) const {
  const Attempt& attempt = state.attempts[a];
  if (attempt.phase != writing || state.nodes[i].stored[a] != 0) return;
  if (rules_.writes_only_to_its_own && state.nodes[i].owner != a + 1) return;
  if (rules_.counts_only_what_it_raised && state.nodes[i].last > attempt.number) return;
  state.nodes[i].last = std::max(state.nodes[i].last, attempt.number);
  state.nodes[i].stored[a] = 1;
  std::size_t count = 0;
  for (const Node& node : state.nodes) count += node.stored[a];
  if (count >= (rules_.writes_to == 0 ? rules_.quorum : rules_.writes_to)) {
    state.attempts[a].phase = granted;
    for (Node& node : state.nodes) node.stored[a] = 0;
  }
  tell(state, {"has written back to node", a + 1, i}, found);
}

void RedlockTokens::lose(State state, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  const std::uint8_t owner = node.owner;
  node.owner = 0;
  if (owner != 0) tell(state, {"loses node", owner, i}, found);
  if (state.forgot == rules_.forgets) return;
  node.last = 0;
  ++state.forgot;
  tell(state, {"is the owner when everything is forgotten by node", owner, i}, found);
}

std::optional<std::string> RedlockTokens::fault(const State& state) const {
  for (const Node& node : state.nodes) {
    if (node.last >= room) return "a number that the model has no room for";
  }
  for (std::size_t a = 0; a < rules_.attempts; ++a) {
    const Attempt& one = state.attempts[a];
    for (std::size_t b = 0; b < rules_.attempts; ++b) {
      const Attempt& other = state.attempts[b];
      if (a == b || one.phase != granted || other.phase != granted) continue;
      const std::string both = std::to_string(a + 1) + " has " + std::to_string(one.number) + ", " +
                               std::to_string(b + 1) + " has " + std::to_string(other.number);
      const bool later = (one.after >> b & 1U) != 0;
      if (later && one.number <= other.number) return "a token did not grow: " + both;
      if (!rules_.only_order && one.number == other.number) return "a token came twice: " + both;
    }
  }
  return std::nullopt;
}

}  // namespace mortise::model
