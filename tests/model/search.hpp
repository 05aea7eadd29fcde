// SPDX-License-Identifier: MIT
// An exhaustive search: every state that a small model can get into, breadth first, so that the way
// to a fault that it finds is a shortest one. What the states and the faults are, the model says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mortise::model {

// Who does what, where. Nodes are told apart by what they know, not by numbers: `where` counts in
// the state before.
struct Step {
  constexpr Step() = default;
  constexpr Step(const char* does, std::size_t one, std::size_t place)
      : what(does), who(static_cast<std::uint8_t>(one)), where(static_cast<std::uint8_t>(place)) {}

  const char* what = "";
  std::uint8_t who = 0;  // small, since there are millions
  std::uint8_t where = 0;

  [[nodiscard]] std::string text() const {
    return std::to_string(who) + " " + what + " " + std::to_string(where);
  }
};

struct Verdict {
  std::optional<std::string> fault;  // nothing: there is none in any state
  std::vector<Step> way;             // that leads to it
  std::size_t states = 0;            // that were looked at
  bool whole = true;                 // false: it was ended before all had been

  [[nodiscard]] std::string text() const {
    std::string words = std::to_string(states) + " states" + (whole ? "" : ", not all");
    for (const Step& step : way) words += "\n  " + step.text();
    return fault ? words + "\n  " + *fault : words;
  }
};

// In order, by insertion: std::sort of so few, in a part of an array, has GCC 12 warn at -O3 of
// places behind the array that it never reaches.
template <class Few>
void sort_few(Few few) {
  for (auto each = few.begin(); each != few.end(); ++each) {
    std::rotate(std::upper_bound(few.begin(), each, *each), each, each + 1);
  }
}

// The states seen so far, each once, in the order in which they were found.
template <class State>
class Seen {
 public:
  static_assert(std::has_unique_object_representations_v<State>);

  // False: it was there.
  bool add(const State& state, std::uint32_t from, const Step& step) {
    if (2 * (states_.size() + 1) > table_.size()) grow();
    std::uint32_t& entry = find(state);
    if (entry != none) return false;
    entry = static_cast<std::uint32_t>(states_.size());
    states_.push_back(state);
    from_.push_back(from);
    steps_.push_back(step);
    return true;
  }
  [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }
  [[nodiscard]] const State& operator[](std::size_t index) const { return states_[index]; }
  [[nodiscard]] std::vector<Step> way_to(std::uint32_t index) const {
    std::vector<Step> way;
    for (; from_[index] != none; index = from_[index]) way.push_back(steps_[index]);
    return {way.rbegin(), way.rend()};
  }

  static constexpr std::uint32_t none = ~std::uint32_t{0};

 private:
  static std::size_t hash(const State& state) {
    const auto* const bytes = reinterpret_cast<const char*>(&state);
    return std::hash<std::string_view>{}({bytes, sizeof state});
  }
  // The entry of this state, or the empty one where it belongs.
  std::uint32_t& find(const State& state) {
    std::size_t at = hash(state) & (table_.size() - 1);
    while (table_[at] != none && !(states_[table_[at]] == state)) {
      at = (at + 1) & (table_.size() - 1);
    }
    return table_[at];
  }
  void grow() {
    table_.assign(table_.empty() ? 1024 : 2 * table_.size(), none);
    for (std::uint32_t i = 0; i < states_.size(); ++i) find(states_[i]) = i;
  }
  std::vector<State> states_;
  std::vector<std::uint32_t> from_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> table_;
};

// A model has a State of plain bytes, `begin(found)` and `go_on(state, found)`, which call
// `found(state, step)` for each state that comes first or next, and `fault(state)`, in words.
template <class Model>
[[nodiscard]] Verdict search(const Model& model, std::size_t most_states = 6'000'000) {
  Seen<typename Model::State> seen;
  Verdict verdict;
  std::uint32_t at = Seen<typename Model::State>::none;
  const auto found = [&](const typename Model::State& state, const Step& step) {
    seen.add(state, at, step);
  };
  model.begin(found);
  for (at = 0; at < seen.size() && !verdict.fault; ++at) {
    const typename Model::State state = seen[at];
    verdict.fault = model.fault(state);
    if (verdict.fault) {
      verdict.way = seen.way_to(at);
    } else if (seen.size() > most_states) {
      verdict.whole = false;
      break;
    } else {
      model.go_on(state, found);
    }
  }
  verdict.states = seen.size();
  return verdict;
}

}  // namespace mortise::model
