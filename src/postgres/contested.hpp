// SPDX-License-Identifier: MIT
// The names for which others waited when we freed them last. Those are told behind our release, and
// what we ask for next would come before that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently.
class Contested {
 public:
  /// @return whether others waited for it, or for a name of the same hash: then we are kinder than
  /// need be.
  [[nodiscard]] bool has(const std::string& name) const noexcept {
    return others_[place(name)].load(std::memory_order_relaxed);
  }
  void freed(const std::string& name, bool others) noexcept {
    others_[place(name)].store(others, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::size_t place(const std::string& name) const noexcept {
    return std::hash<std::string>{}(name) % others_.size();
  }
  std::array<std::atomic<bool>, 1024> others_{};
};

}  // namespace mortise::postgres
