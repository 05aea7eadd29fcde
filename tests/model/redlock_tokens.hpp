// SPDX-License-Identifier: MIT
// A model of how a quorum numbers its grants, without time: a lease may end at any moment, also
// much too early, as after a pause or a step of the clock. What must hold all the same is that the
// numbers, and so the fencing tokens, of grants differ and grow.
#pragma once

#include "model/search.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mortise::model {

// An attempt is asked of the nodes: a request arrives at any time, or never, or its answer is lost,
// which is the same as one that is not taken into account. A node that nobody owns takes the
// attempt for its owner, and answers max(its last number + 1, the proposal). When a majority has
// answered, the greatest answer is the number; where they differ, it is first written back to a
// majority, to each node only while the attempt owns it there, and has no greater number there: a
// request that comes after the decision may have brought one. Nodes forget owners, when leases end
// or are given back, but no numbers.
class RedlockTokens {
 public:
  static constexpr std::size_t most_nodes = 5;
  static constexpr std::size_t most_attempts = 3;
  static constexpr std::uint8_t room = 15;  // no sequence of so few attempts gets there

  struct Rules {
    std::size_t nodes = 3;
    std::size_t attempts = 3;
    std::size_t quorum = 2;
    std::uint8_t earlier = 0;    // nodes begin with any numbers up to this, left by others
    std::uint8_t proposals = 2;  // each attempt proposes a number from 1 to this
    std::uint8_t tries = 1;      // so often a node may take an attempt: requests are repeated
    bool writes_back = true;
    bool writes_only_to_its_own = true;
    // Or counts a node that has meanwhile given this very attempt a greater number.
    bool counts_only_what_it_raised = true;
    std::size_t writes_to = 0;  // so many nodes; 0 = a quorum
    std::uint8_t forgets = 0;   // so often a node forgets its number, too
    // An attempt that begins after a grant proposes a greater number: all clients' clocks agree.
    bool clock = false;
    bool only_order = false;  // attempts that overlap may have the same number
  };

  struct Node {
    std::uint8_t last = 0;
    std::uint8_t owner = 0;  // attempts count from 1
    std::array<std::uint8_t, most_attempts> tries{};
    std::array<std::uint8_t, most_attempts> answer{};
    std::array<std::uint8_t, most_attempts> stored{};  // 1: has had the decided number, and said so
    friend auto operator<=>(const Node&, const Node&) = default;
  };
  enum Phase : std::uint8_t { idle, asking, writing, granted };
  struct Attempt {
    std::uint8_t phase = idle;
    std::uint8_t proposal = 0;
    std::uint8_t number = 0;  // once it is decided
    std::uint8_t after = 0;   // bits: the attempts that had been granted when it began
    friend auto operator<=>(const Attempt&, const Attempt&) = default;
  };
  // The order of the nodes means nothing: they are kept sorted.
  struct State {
    std::array<Node, most_nodes> nodes{};
    std::array<Attempt, most_attempts> attempts{};
    std::uint8_t forgot = 0;
    friend auto operator<=>(const State&, const State&) = default;
  };
  using Found = std::function<void(const State&, const Step&)>;

  explicit RedlockTokens(const Rules& rules) : rules_(rules) {}

  void begin(const Found& found) const { begin_with({}, 0, 0, found); }
  void go_on(const State& state, const Found& found) const;
  [[nodiscard]] std::optional<std::string> fault(const State& state) const;

 private:
  void begin_with(State state, std::size_t node, std::uint8_t least, const Found& found) const;
  void invoke(State state, std::size_t a, const Found& found) const;
  void ask(State state, std::size_t a, std::size_t i, const Found& found) const;
  void decide(const State& state, std::size_t a, const Found& found) const;
  void decide_by(unsigned some, State state, std::size_t a, const Found& found) const;
  void write_back(State state, std::size_t a, std::size_t i, const Found& found) const;
  void lose(State state, std::size_t i, const Found& found) const;
  void tell(State state, const Step& step, const Found& found) const;

  const Rules rules_;
};

}  // namespace mortise::model
