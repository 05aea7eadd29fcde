// SPDX-License-Identifier: MIT
// Which servers may know something of an attempt.
#pragma once

#include <mortise/clock.hpp>

#include "redlock/quorum.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mortise::redlock {

/// @return a server's name, to tell it from others.
[[nodiscard]] inline std::uint64_t server_of(const std::string& run_id) {
  return std::hash<std::string>()(run_id);
}
/// @return the name of whichever server an address leads to that has led nowhere yet.
[[nodiscard]] constexpr std::uint64_t unmet(std::size_t address) noexcept { return address + 1; }

/// A vote lies at a server, whatever address has led there, and whichever leads there later; so
/// servers are noted here and not addresses.
class Trail {
 public:
  struct Stop {
    std::uint64_t server = 0;
    std::size_t node = 0;  ///< the address that led there, last
    /// When it was asked for the first time. A server that was met later may be this one, started
    /// anew under another name.
    Instant since{};
    Instant asked{};  ///< the same for the last time
    /// Addresses by which it was asked, of which not each has brought an answer.
    NodeSet ways = 0;
  };

  /// @return whether it is new here.
  bool add(const Stop& stop) {
    if (Stop* const known = find(stop.server)) {
      known->node = stop.node;
      known->asked = std::max(known->asked, stop.asked);
      known->ways |= stop.ways;
      return false;
    }
    if (stops_.empty()) stops_.reserve(few);
    stops_.push_back(stop);
    return true;
  }
  void add(const Trail& others) {
    for (const Stop& stop : others.stops_) static_cast<void>(add(stop));
  }
  void remove(std::uint64_t server) {
    std::erase_if(stops_, [server](const Stop& stop) { return stop.server == server; });
  }
  /// What was noted for that moment has not left. Asked again since, it may know something all the
  /// same.
  void not_asked(std::uint64_t server, Instant asked) {
    std::erase_if(stops_,
                  [&](const Stop& stop) { return stop.server == server && stop.asked == asked; });
  }
  /// It has refused what came by that address. What is under way to it by another one it may grant
  /// yet.
  void refused(std::uint64_t server, std::size_t node) {
    Stop* const known = find(server);
    if (known == nullptr) return;
    known->ways &= ~only(node);
    if (known->ways == 0) remove(server);
  }
  /// The vote for what was asked last before then has ended by itself.
  void forget_before(Instant then) {
    std::erase_if(stops_, [&](const Stop& stop) { return stop.asked < then; });
  }
  void clear() noexcept { stops_.clear(); }

  [[nodiscard]] bool has(std::uint64_t server) const noexcept {
    return std::any_of(stops_.begin(), stops_.end(),
                       [server](const Stop& stop) { return stop.server == server; });
  }
  [[nodiscard]] bool meets(const Trail& other) const noexcept {
    return std::any_of(stops_.begin(), stops_.end(),
                       [&other](const Stop& stop) { return other.has(stop.server); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return stops_.size(); }
  [[nodiscard]] bool empty() const noexcept { return stops_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return stops_.begin(); }
  [[nodiscard]] auto end() const noexcept { return stops_.end(); }

  /// @return as many addresses as there are servers that know nothing: they were not asked.
  [[nodiscard]] NodeSet rest(Quorum quorum) const noexcept {
    NodeSet asked = 0;
    for (const Stop& stop : stops_) asked |= only(stop.node);
    NodeSet others = 0;
    for (std::size_t i = 0; i < quorum.nodes; ++i) {
      if ((asked & only(i)) == 0 && count(others) + size() < quorum.nodes) others |= only(i);
    }
    return others;
  }

 private:
  [[nodiscard]] Stop* find(std::uint64_t server) noexcept {
    const auto found = std::find_if(stops_.begin(), stops_.end(),
                                    [server](const Stop& stop) { return stop.server == server; });
    return found == stops_.end() ? nullptr : &*found;
  }

  static constexpr std::size_t few = 5;
  std::vector<Stop> stops_;
};

}  // namespace mortise::redlock
