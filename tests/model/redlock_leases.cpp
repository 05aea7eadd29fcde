// SPDX-License-Identifier: MIT
#include "model/redlock_leases.hpp"

#include <algorithm>
#include <span>

namespace mortise::model {

namespace {

void fall(std::uint8_t& time) {
  if (time > 0) --time;
}

}  // namespace

void RedlockLeases::tell(State state, const Step& step, const Found& found) const {
  sort_few(std::span(state.nodes).first(rules_.nodes));
  found(state, step);
}

void RedlockLeases::go_on(const State& state, const Found& found) const {
  pass_time(state, found);
  for (std::size_t a = 0; a < rules_.attempts; ++a) {
    const bool idle_yet = state.attempts[a].phase == idle;
    begin_round(state, a, found);
    if (idle_yet) break;  // they differ in nothing but their order
    decide(state, a, found);
    end(state, a, found);
    begin_renewal(state, a, found);
    end_renewal(state, a, found);
    for (std::size_t i = 0; i < rules_.nodes; ++i) {
      take(state, a, i, found);
      renew(state, a, i, found);
      give_back(state, a, i, found);
    }
  }
  for (std::size_t i = 0; i < rules_.nodes; ++i) die(state, i, found);
}

void RedlockLeases::pass_time(State state, const Found& found) const {
  for (Node& node : state.nodes) {
    fall(node.left);
    fall(node.down);
    if (node.left == 0) node.owner = 0;
  }
  for (Attempt& attempt : state.attempts) {
    fall(attempt.left);
    if (attempt.phase == asking) ++attempt.age;
    attempt.age = std::min(attempt.age, rules_.lease);
    if (attempt.renewing != 0) ++attempt.renewal_age;
    attempt.renewal_age = std::min(attempt.renewal_age, rules_.lease);
  }
  tell(state, {"= the clock: time passes, by", 0, 1}, found);
}

void RedlockLeases::begin_round(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  if (attempt.phase != idle && attempt.phase != ended) return;
  if (attempt.rounds == rules_.rounds) return;
  attempt.phase = asking;
  ++attempt.rounds;
  for (Node& node : state.nodes) {
    if (rules_.counts_votes_of_round) node.voted[a] = 0;
  }
  tell(state, {"begins round", a + 1, attempt.rounds}, found);
}

void RedlockLeases::take(State state, std::size_t a, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  const bool owns = node.owner == a + 1;
  if ((node.owner != 0 && !owns) || node.down != 0 || node.voted[a] != 0) return;
  if (!owns || rules_.begins_lease_in_round) node.left = rules_.lease;
  node.owner = static_cast<std::uint8_t>(a + 1);
  node.voted[a] = 1;
  tell(state, {"takes node", a + 1, i}, found);
}

void RedlockLeases::decide(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  if (attempt.phase != asking) return;
  std::size_t votes = 0;
  for (const Node& node : state.nodes) votes += node.voted[a];
  if (votes < rules_.quorum) return;
  const std::uint8_t gone = rules_.counts_from_first_request ? attempt.age : std::uint8_t{0};
  if (gone >= rules_.lease) return;  // a quorum that was reached too late is no lock
  attempt.phase = holding;
  attempt.left = static_cast<std::uint8_t>(rules_.lease - gone);
  attempt.age = 0;
  state.latest = static_cast<std::uint8_t>(a + 1);
  tell(state, {"is granted, for", a + 1, attempt.left}, found);
}

// It gives up, or gives back.
void RedlockLeases::end(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  if (attempt.phase != asking && attempt.phase != holding) return;
  attempt = {.phase = ended, .rounds = attempt.rounds};
  for (Node& node : state.nodes) node.renewed[a] = 0;
  tell(state, {"ends", a + 1, 0}, found);
}

void RedlockLeases::begin_renewal(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  if (attempt.phase != holding || attempt.renewing != 0) return;
  if (rules_.renews_only_in_time && attempt.left == 0) return;
  attempt.renewing = 1;
  tell(state, {"begins to renew", a + 1, 0}, found);
}

void RedlockLeases::renew(State state, std::size_t a, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  const bool owns = node.owner == a + 1;
  if (state.attempts[a].renewing == 0 || node.renewed[a] != 0) return;
  if (node.down != 0 || (node.owner != 0 && !owns)) return;
  node.owner = static_cast<std::uint8_t>(a + 1);
  node.left = rules_.lease;
  node.renewed[a] = 1;
  tell(state, {owns ? "renews node" : "takes again node", a + 1, i}, found);
}

void RedlockLeases::end_renewal(State state, std::size_t a, const Found& found) const {
  Attempt& attempt = state.attempts[a];
  if (attempt.renewing == 0) return;
  std::size_t votes = 0;
  for (const Node& node : state.nodes) votes += node.renewed[a];
  if (votes < rules_.quorum || (rules_.renews_only_in_time && attempt.left == 0)) return;
  const std::uint8_t gone =
      rules_.counts_from_renewals_request ? attempt.renewal_age : std::uint8_t{0};
  attempt.left = std::max(attempt.left, static_cast<std::uint8_t>(rules_.lease - gone));
  attempt.renewing = 0;
  attempt.renewal_age = 0;
  for (Node& node : state.nodes) node.renewed[a] = 0;
  tell(state, {"has renewed, and holds for", a + 1, attempt.left}, found);
}

void RedlockLeases::give_back(State state, std::size_t a, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  const bool late = !rules_.undoes_only_its_round && state.attempts[a].rounds > 1;
  if ((state.attempts[a].phase != ended && !late) || node.owner != a + 1) return;
  node.owner = 0;
  node.left = 0;
  tell(state, {"gives back node", a + 1, i}, found);
}

void RedlockLeases::die(State state, std::size_t i, const Found& found) const {
  Node& node = state.nodes[i];
  if (state.deaths == rules_.deaths || node.down != 0) return;
  ++state.deaths;
  node.owner = 0;
  node.left = 0;
  node.down = rules_.delayed_restart ? rules_.lease : std::uint8_t{0};
  tell(state, {"= nobody: everything is forgotten by node", 0, i}, found);
}

std::optional<std::string> RedlockLeases::fault(const State& state) const {
  for (std::size_t a = 0; a < rules_.attempts; ++a) {
    const Attempt& attempt = state.attempts[a];
    if (attempt.phase != holding || attempt.left == 0 || state.latest == a + 1) continue;
    return std::to_string(a + 1) + " believes that it holds, and " + std::to_string(state.latest) +
           " was granted after it";
  }
  return std::nullopt;
}

}  // namespace mortise::model
