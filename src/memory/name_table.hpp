// SPDX-License-Identifier: MIT
// The names of one kind (locks, semaphores or keys) at the memory server, and what administrators
// see of them. A look changes nothing, not even a hold whose lease has ended.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>

#include "memory/name.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::memory {

/// @thread_safety none: part of the store, under its mutex.
class NameTable {
 public:
  /// @return the name, a new one if the server does not know it.
  [[nodiscard]] Name& at(const std::string& name) { return names_[name]; }
  /// @return null: the server does not know it.
  [[nodiscard]] Name* find(const std::string& name) noexcept;
  [[nodiscard]] const Name* find(const std::string& name) const noexcept;
  void erase_if_idle(const std::string& name);
  void clear() noexcept { names_.clear(); }
  /// @return the number of waiters of all names.
  [[nodiscard]] std::size_t waiters() const noexcept;

  /// @return one page of the names that are held. Two pages have no name in common.
  /// @param lock of the store's mutex; a long pass unlocks it in between
  [[nodiscard]] NamePage list(const Listing& asked, const Clock& clock,
                              std::unique_lock<std::mutex>& lock) const;
  /// @param marks receives a mark of each holder
  [[nodiscard]] NameQueue queue(const QueueLook& asked, Instant now,
                                std::vector<HoldMark>& marks) const;

 private:
  std::unordered_map<std::string, Name> names_;
};

}  // namespace mortise::memory
