// SPDX-License-Identifier: MIT
// The names of a client: one slot each, as long as somebody refers to it.
#pragma once

#include "runtime/reader_role.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace mortise::runtime {

class ClientState;
class Slot;

/// A slot in the list of its client.
struct ListedSlot {
  Slot* slot = nullptr;
  ListedSlot* before = nullptr;
  ListedSlot* after = nullptr;
};

/// @thread_safety every member may be called concurrently. The mutex guards the table and the list,
/// and is not held while a slot is visited or given up.
class SlotTable {
 public:
  /// @return the one slot of a name, made where there is none.
  [[nodiscard]] std::shared_ptr<Slot> slot(ClientState& client, std::string_view name);
  /// @return it, or null where there is none.
  [[nodiscard]] std::shared_ptr<Slot> find(const std::string& name);
  /// A slot is being destroyed.
  void forget(Slot& slot) noexcept;
  /// Needs no memory: where there is none, whoever is not visited may wait for ever.
  template <class Visit>
  void each(Visit visit) {
    for (auto slot = next(nullptr); slot; slot = next(slot.get())) visit(*slot);
  }

 private:
  /// @param slot where to go on, kept by the caller; null = from the first one
  [[nodiscard]] std::shared_ptr<Slot> next(const Slot* slot) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<Slot>> table_;
  List<ListedSlot> slots_;  // of the table, to be visited without memory
};

}  // namespace mortise::runtime
