// SPDX-License-Identifier: MIT
// The names of a client, or its keys: one slot each, as long as somebody refers to it.
#pragma once

#include <mortise/operation.hpp>

#include "runtime/reader_role.hpp"

#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace mortise::runtime {

class ClientState;
class Slot;

/// @thread_safety every member may be called concurrently. The mutex guards the table and the list,
/// and is not held while a slot is visited or given up.
class SlotTable {
 public:
  /// @param mode what all slots of this table are of
  explicit SlotTable(Mode mode) noexcept : mode_(mode) {}
  /// @return the one slot of a name, made where there is none.
  [[nodiscard]] std::shared_ptr<Slot> slot(ClientState& client, std::string_view name);
  /// @return it, or null where there is none.
  [[nodiscard]] std::shared_ptr<Slot> find(std::string_view name);
  /// A slot is being destroyed.
  void forget(Slot& slot) noexcept;
  /// Needs no memory: where there is none, whoever is not visited may wait for ever.
  template <class Visit>
  void each(Visit visit) {
    for (auto slot = next(nullptr); slot; slot = next(slot.get())) visit(*slot);
  }

 private:
  const Mode mode_;
  /// @param slot where to go on, kept by the caller; null = from the first one
  [[nodiscard]] std::shared_ptr<Slot> next(const Slot* slot) noexcept;

  std::mutex mutex_;
  // The keys are the slots' own names. One that is being destroyed stays until it is forgotten, or
  // until a successor takes its place.
  std::unordered_map<std::string_view, Slot*> table_;
  List<Slot> slots_;  // all of them, to be visited without memory
};

}  // namespace mortise::runtime
