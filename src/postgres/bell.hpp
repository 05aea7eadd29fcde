// SPDX-License-Identifier: MIT
// The names that were freed and whose waiters are still to be told. A NOTIFY waits at commit for
// all others of the server, so that one request at a time tells of all that came together
// meanwhile.
#pragma once

#include <mortise/operation.hpp>

#include "base/mutant.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {

/// What was freed: the name of a lock, or a key.
struct Freed {
  Mode mode = Mode::exclusive;
  std::string name{};
  friend auto operator<=>(const Freed&, const Freed&) = default;
};

/// @thread_safety every member may be called concurrently.
class Bell {
 public:
  using Names = std::vector<Freed>;

  /// Somebody may wait for a name that was freed. @return what is to be told in one request now;
  /// none = one is under way, and the name goes with the next
  [[nodiscard]] Names freed(const Freed& name) {
    const std::lock_guard lock(mutex_);
    if (base::mutant("postgres.forget_names_freed_meanwhile") && under_way_) return {};
    names_.insert(name);
    return under_way_ ? Names() : next_locked();
  }
  /// The request was answered. @return the next one
  [[nodiscard]] Names told() {
    const std::lock_guard lock(mutex_);
    under_way_ = false;
    return next_locked();
  }
  /// @return whether names wait for the answer to the request that is under way.
  [[nodiscard]] bool keeps_some() const {
    const std::lock_guard lock(mutex_);
    return under_way_ && !names_.empty();
  }
  /// The request could not be made: there was no memory for it, say. Its names go with the next.
  void lost(const Names& names) noexcept {
    const std::lock_guard lock(mutex_);
    under_way_ = false;
    try {
      names_.insert(names.begin(), names.end());
    } catch (const std::bad_alloc&) {
      // Their waiters look by time.
    }
  }

 private:
  Names next_locked() {
    // In one statement; its transaction reads a row for each.
    constexpr std::size_t most = 256;
    Names names;
    names.reserve(std::min(names_.size(), most));  // or none of them is lost
    while (!names_.empty() && names.size() < most) {
      names.push_back(std::move(names_.extract(names_.begin()).value()));
    }
    under_way_ = !names.empty();
    return names;
  }

  mutable std::mutex mutex_;
  std::set<Freed> names_;
  bool under_way_ = false;
};

}  // namespace mortise::postgres
