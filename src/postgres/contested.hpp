// SPDX-License-Identifier: MIT
// The names for which others waited when we freed them last. Those are told behind our release, and
// what we ask for next would come before that.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>

namespace mortise::postgres {

/// Remembers each name by its hash, and the last few of those that share a place: the waiters of
/// a name that was forgotten each time would starve.
/// @thread_safety every member may be called concurrently.
class Contested {
 public:
  /// @return whether others waited for it.
  [[nodiscard]] bool has(const std::string& name) const {
    const std::size_t hash = hash_of(name);
    const Place& place = places_[hash % places_.size()];
    const std::lock_guard lock(mutex_);
    return std::find(place.begin(), place.end(), hash) != place.end();
  }
  /// It was freed. @param others whether they waited for it just then
  void freed(const std::string& name, bool others) {
    const std::size_t hash = hash_of(name);
    Place& place = places_[hash % places_.size()];
    const std::lock_guard lock(mutex_);
    const auto found = std::find(place.begin(), place.end(), hash);
    if (!others) {
      if (found != place.end()) *found = 0;
      return;
    }
    // The latest in front; what was not freed for the longest time makes room.
    auto its = found != place.end() ? found : std::find(place.begin(), place.end(), 0U);
    if (its == place.end()) --its;
    std::rotate(place.begin(), its, std::next(its));
    place.front() = hash;
  }

 private:
  static std::size_t hash_of(const std::string& name) noexcept {
    return std::hash<std::string>{}(name) | 1U;  // 0 is nobody's
  }
  using Place = std::array<std::size_t, 4>;

  mutable std::mutex mutex_;
  // By odd hashes, so that an odd number of places uses all of them.
  std::array<Place, 257> places_{};
};

}  // namespace mortise::postgres
