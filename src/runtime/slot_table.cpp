// SPDX-License-Identifier: MIT
// A slot leaves the table while somebody else may be asking for its name.
#include "runtime/slot_table.hpp"

#include "runtime/client_state.hpp"
#include "runtime/slot.hpp"

#include <string>

namespace mortise::runtime {

std::shared_ptr<Slot> SlotTable::slot(ClientState& client, std::string_view name) {
  std::shared_ptr<Slot> slot;  // given up after the mutex, which its end takes
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(name);
  if (found != table_.end()) {
    slot = found->second->weak_from_this().lock();
    if (slot) return slot;
    table_.erase(found);  // its key ends with it
  }
  slot = std::make_shared<Slot>(client.shared_from_this(), std::string(name), mode_);
  slots_.push_back(*slot);
  table_.emplace(slot->name(), slot.get());
  return slot;
}

std::shared_ptr<Slot> SlotTable::find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(name);
  return found == table_.end() ? nullptr : found->second->weak_from_this().lock();
}

void SlotTable::forget(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slots_.remove(slot);
  const auto found = table_.find(slot.name());
  // A successor of the same name may have taken the place already.
  if (found != table_.end() && found->second == &slot) table_.erase(found);
}

std::shared_ptr<Slot> SlotTable::next(const Slot* slot) noexcept {
  const std::lock_guard lock(mutex_);
  Slot* next = slot == nullptr ? slots_.first() : slot->after;
  for (; next != nullptr; next = next->after) {
    if (std::shared_ptr<Slot> kept = next->weak_from_this().lock()) return kept;
  }
  return nullptr;
}

}  // namespace mortise::runtime
