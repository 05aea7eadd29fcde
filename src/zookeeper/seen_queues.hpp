// SPDX-License-Identifier: MIT
// Recent knowledge of queues, so that a client saves requests. Nothing depends on it: what
// is forgotten costs a request. Pure: the time is an argument.
#pragma once

#include <mortise/clock.hpp>

#include "zookeeper/queue.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace mortise::zookeeper {

class SeenQueues {
 public:
  /// The queue was listed.
  void add(const std::string& path, Instant now) { entry_of(there_, path) = now; }
  /// It was held when it was listed.
  void add_held(const std::string& path, const Place& place, Instant now) {
    Held& held = entry_of(held_, path);
    held.at_all = now;
    // Readers wait behind a writer that waits.
    if (!place.head_is_shared || place.waiters() > 0) held.alone = now;
  }
  /// @return true if a list is likely to show that the name is not free.
  [[nodiscard]] bool is_held(const std::string& path, bool for_reader, Instant now) const {
    const auto found = held_.find(path);
    if (found == held_.end()) return false;
    return now - (for_reader ? found->second.alone : found->second.at_all) < memory_of_holders;
  }
  /// @return true if its parents are likely to be there.
  /// @param stays no server removes it when it is empty
  [[nodiscard]] bool is_there(const std::string& path, bool stays, Instant now) const {
    const auto found = there_.find(path);
    return found != there_.end() && (stays || now - found->second < memory_of_queues);
  }
  [[nodiscard]] bool empty() const noexcept { return there_.empty(); }

 private:
  /// A try first looks at a queue that was held within this time.
  static constexpr std::chrono::seconds memory_of_holders{2};
  /// The servers remove an empty queue after about a minute.
  static constexpr std::chrono::seconds memory_of_queues{30};
  static constexpr std::size_t most_remembered = 4'096;

  struct Held {
    Instant at_all{};
    Instant alone{};  ///< by a client that wants it alone
  };
  template <class Map>
  static typename Map::mapped_type& entry_of(Map& map, const std::string& path) {
    if (map.size() >= most_remembered) map.clear();
    return map[path];
  }

  std::unordered_map<std::string, Held> held_;
  std::unordered_map<std::string, Instant> there_;
};

}  // namespace mortise::zookeeper
