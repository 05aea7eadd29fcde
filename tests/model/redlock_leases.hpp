// SPDX-License-Identifier: MIT
// A model of who holds a lock by a quorum, in steps of time that all clocks agree about: messages
// come late, clients give up, nodes die and come back with nothing. Whoever may believe that it
// holds must be the one who was granted last; numbers are another model's business.
#pragma once

#include "model/search.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mortise::model {

// A request may arrive at any time after it was sent, also when its attempt has long been given up.
// An attempt that was given up may be made anew under its old id, in another round.
// A node counts the lease from then on, the client from the moment before it sent the first one. A
// renewal takes a node that nobody owns as well: it was restarted. A node that dies remembers
// nothing, and answers again a lease later.
class RedlockLeases {
 public:
  static constexpr std::size_t most_nodes = 5;
  static constexpr std::size_t most_attempts = 3;

  struct Rules {
    std::size_t nodes = 3;
    std::size_t attempts = 2;
    std::size_t quorum = 2;
    std::uint8_t lease = 2;
    std::uint8_t rounds = 1;  // that an attempt may ask
    std::uint8_t deaths = 0;  // of nodes
    bool delayed_restart = true;
    bool counts_from_first_request = true;     // or from the answer that makes the majority
    bool counts_from_renewals_request = true;  // or from the answer
    bool renews_only_in_time = true;           // or also what has lapsed
    bool counts_votes_of_round = true;         // or also those of the rounds before
    bool undoes_only_its_round = true;         // or what comes late frees the vote of a later one
    bool begins_lease_in_round = true;         // or lets an owner that asks again keep what is left
  };

  struct Node {
    std::uint8_t owner = 0;                             // attempts count from 1
    std::uint8_t left = 0;                              // of the owner's lease
    std::uint8_t down = 0;                              // for so long
    std::array<std::uint8_t, most_attempts> voted{};    // 1: for it, in the round that goes on
    std::array<std::uint8_t, most_attempts> renewed{};  // 1: in the renewal that goes on
    friend auto operator<=>(const Node&, const Node&) = default;
  };
  enum Phase : std::uint8_t { idle, asking, holding, ended };
  struct Attempt {
    std::uint8_t phase = idle;
    std::uint8_t age = 0;   // since its first request; no more than a lease
    std::uint8_t left = 0;  // until its deadline
    std::uint8_t rounds = 0;
    std::uint8_t renewing = 0;  // 1: a renewal goes on
    std::uint8_t renewal_age = 0;
    friend auto operator<=>(const Attempt&, const Attempt&) = default;
  };
  struct State {
    std::array<Node, most_nodes> nodes{};  // sorted: their order means nothing
    std::array<Attempt, most_attempts> attempts{};
    std::uint8_t latest = 0;  // who was granted last
    std::uint8_t deaths = 0;
    friend auto operator<=>(const State&, const State&) = default;
  };
  using Found = std::function<void(const State&, const Step&)>;

  explicit RedlockLeases(const Rules& rules) : rules_(rules) {}

  void begin(const Found& found) const { found({}, {}); }
  void go_on(const State& state, const Found& found) const;
  [[nodiscard]] std::optional<std::string> fault(const State& state) const;

 private:
  void pass_time(State state, const Found& found) const;
  void begin_round(State state, std::size_t a, const Found& found) const;
  void take(State state, std::size_t a, std::size_t i, const Found& found) const;
  void decide(State state, std::size_t a, const Found& found) const;
  void end(State state, std::size_t a, const Found& found) const;
  void begin_renewal(State state, std::size_t a, const Found& found) const;
  void renew(State state, std::size_t a, std::size_t i, const Found& found) const;
  void end_renewal(State state, std::size_t a, const Found& found) const;
  void give_back(State state, std::size_t a, std::size_t i, const Found& found) const;
  void die(State state, std::size_t i, const Found& found) const;
  void tell(State state, const Step& step, const Found& found) const;

  const Rules rules_;
};

}  // namespace mortise::model
