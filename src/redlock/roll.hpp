// SPDX-License-Identifier: MIT
// Which servers have answered one quorum request.
#pragma once

#include "base/mutant.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::redlock {

/// A server has one vote, whatever addresses lead to it: an address may lead to another one from
/// one connection to the next, also while a quorum request is under way. So it is the answer that
/// is looked at, and the server whose connection it came on.
///
/// A server that was started anew has another name, and nobody can tell that it has answered
/// already. So in what a hold rests on, a vote or a renewal, only those connections count that were
/// there when the quorum request began.
class Roll {
 public:
  /// No server has answered a new quorum request.
  void begin() noexcept {
    entries_.clear();
    epochs_.clear();
  }
  /// Before anything is asked, for each address in turn. @param epoch of its connection; 0 = none
  /// is up
  void connected(std::uint64_t epoch) {
    if (epochs_.empty()) epochs_.reserve(few);
    epochs_.push_back(epoch);
  }
  /// @return whether that connection came up since.
  [[nodiscard]] bool newcomer(std::size_t node, std::uint64_t epoch) const noexcept {
    return node < epochs_.size() && epochs_[node] != epoch &&
           !base::mutant("redlock.newcomer_votes");
  }
  /// An answer came. @return the address as whose the answers of that server count
  std::size_t answered(std::size_t node, std::uint64_t server) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.server == server; });
    if (found != entries_.end() && !base::mutant("redlock.one_server_votes_twice")) {
      return found->node;
    }
    if (entries_.empty()) entries_.reserve(few);
    entries_.push_back({node, server});
    return node;
  }
  /// The same. @return false: of that server there is one already, by another address
  [[nodiscard]] bool counts(std::size_t node, std::uint64_t server) {
    return answered(node, server) == node;
  }
  /// @return whether an answer of this server counted as this address's.
  [[nodiscard]] bool counted(std::size_t node, std::uint64_t server) const noexcept {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.node == node && entry.server == server;
    });
  }

 private:
  struct Entry {
    std::size_t node = 0;
    std::uint64_t server = 0;
  };
  static constexpr std::size_t few = 5;
  std::vector<Entry> entries_;
  std::vector<std::uint64_t> epochs_;  // by address; none = every connection counts
};

}  // namespace mortise::redlock
