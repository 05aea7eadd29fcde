// SPDX-License-Identifier: MIT
// A slot leaves the table while somebody else may be asking for its name.
#include "runtime/slot_table.hpp"

#include "runtime/client_state.hpp"
#include "runtime/slot.hpp"

#include <utility>

namespace mortise::runtime {

std::shared_ptr<Slot> SlotTable::slot(ClientState& client, std::string_view name) {
  std::string key(name);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Slot>& entry = table_[key];
  std::shared_ptr<Slot> slot = entry.lock();
  if (!slot) {
    slot = std::make_shared<Slot>(client.shared_from_this(), std::move(key));
    slots_.push_back(slot->listed);
    entry = slot;
  }
  return slot;
}

std::shared_ptr<Slot> SlotTable::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(name);
  return found == table_.end() ? nullptr : found->second.lock();
}

void SlotTable::forget(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slots_.remove(slot.listed);
  const auto found = table_.find(slot.name());
  // A successor of the same name may have taken the place already.
  if (found != table_.end() && found->second.expired()) table_.erase(found);
}

std::shared_ptr<Slot> SlotTable::next(const Slot* slot) noexcept {
  const std::lock_guard lock(mutex_);
  const ListedSlot* next = slot == nullptr ? slots_.first() : slot->listed.after;
  for (; next != nullptr; next = next->after) {
    if (std::shared_ptr<Slot> kept = next->slot->weak_from_this().lock()) return kept;
  }
  return nullptr;
}

}  // namespace mortise::runtime
