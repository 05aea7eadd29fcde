// SPDX-License-Identifier: MIT
// The servers of a cluster by their slots.
#pragma once

#include "redis/connection/server.hpp"
#include "redis/topology/slots.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// Every slot has a server at any time.
/// @thread_safety every member may be called concurrently
class SlotMap {
 public:
  using Slots = std::bitset<slot_count>;

  [[nodiscard]] Server& server_of(std::string_view name) const noexcept {
    return *servers_[slot_of(name)].load();
  }
  [[nodiscard]] bool has_slots(const Server& server) const noexcept {
    return std::any_of(servers_.begin(), servers_.end(),
                       [&](const auto& slot) { return slot.load() == &server; });
  }
  /// @return those that have slots, in the order of their addresses.
  [[nodiscard]] std::vector<Server*> masters() const {
    std::vector<Server*> all;
    for (const auto& slot : servers_) {
      if (all.empty() || slot.load() != all.back()) all.push_back(slot.load());
    }
    std::sort(all.begin(), all.end(), std::less<>());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::sort(all.begin(), all.end(), [](const Server* a, const Server* b) {
      return a->identity().address().text() < b->identity().address().text();
    });
    return all;
  }
  /// @return a number that is another one after each `note()` and each news of `move()`.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_.load(); }

  void fill(Server& server) noexcept {
    for (auto& slot : servers_) slot.store(&server);
  }
  /// @return true if that is news.
  bool move(std::uint16_t slot, Server& to) noexcept {
    if (servers_[slot].exchange(&to) == &to) return false;
    note();
    return true;
  }
  /// @param changed receives the slots for which that is news
  void learn(const SlotRange& range, Server& master, Slots& changed) noexcept {
    for (std::size_t slot = range.first; slot <= range.last; ++slot) {
      if (servers_[slot].exchange(&master) != &master) changed[slot] = true;
    }
  }
  void note() noexcept { version_.fetch_add(1); }

 private:
  std::array<std::atomic<Server*>, slot_count> servers_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace mortise::redis
