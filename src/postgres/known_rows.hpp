// SPDX-License-Identifier: MIT
// The names that are known to have a row. Rows stay, so that to know it once is enough; where one
// is gone all the same, the server's answer shows it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace mortise::postgres {

/// Remembers some of the names that were seen last, each by its hash: a wrong yes costs a statement
/// that finds nothing, a wrong no nothing but the time that knowing saves.
/// @thread_safety every member may be called concurrently.
class KnownRows {
 public:
  [[nodiscard]] bool has(const std::string& name) const noexcept {
    const std::size_t hash = hash_of(name);
    return places_[hash % places_.size()].load(std::memory_order_relaxed) == hash;
  }
  void seen(const std::string& name) noexcept { put(name, hash_of(name)); }
  void missed(const std::string& name) noexcept { put(name, 0); }

 private:
  static std::size_t hash_of(const std::string& name) noexcept {
    return std::hash<std::string>{}(name) | 1U;  // 0 is nobody's
  }
  void put(const std::string& name, std::size_t hash) noexcept {
    places_[hash_of(name) % places_.size()].store(hash, std::memory_order_relaxed);
  }
  std::array<std::atomic<std::size_t>, 257> places_{};
};

}  // namespace mortise::postgres
