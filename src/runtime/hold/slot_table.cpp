// SPDX-License-Identifier: MIT
// A slot leaves the table while somebody else may be asking for its name.
#include "runtime/hold/slot_table.hpp"

#include "runtime/client/client_state.hpp"
#include "runtime/hold/slot.hpp"

#include <functional>
#include <string>

namespace mortise::runtime {

SlotTable::Key SlotTable::key_of(const Slot* slot) noexcept {
  return {.name = slot->name(), .owner = slot->owner()};
}

std::size_t SlotTable::Hash::hash(const Key& key) noexcept {
  // Owners are counted: their numbers differ in the lowest bits, as those of the buckets do.
  return std::hash<std::string_view>{}(key.name) + static_cast<std::size_t>(key.owner.id());
}

std::shared_ptr<Slot> SlotTable::slot(ClientState& client, std::string_view name, Owner owner) {
  std::shared_ptr<Slot> slot;  // given up after the mutex, which its end takes
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(Key{.name = name, .owner = owner});
  if (found != table_.end()) {
    slot = (*found)->weak_from_this().lock();
    if (slot) return slot;
    table_.erase(found);  // its key ends with it
  }
  slot = std::make_shared<Slot>(client.shared_from_this(), std::string(name), mode_, owner);
  slots_.push_back(*slot);
  table_.insert(slot.get());
  return slot;
}

std::shared_ptr<Slot> SlotTable::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(key);
  return found == table_.end() ? nullptr : (*found)->weak_from_this().lock();
}

void SlotTable::forget(Slot& slot) noexcept {
  const std::lock_guard lock(mutex_);
  slots_.remove(slot);
  const auto found = table_.find(&slot);
  // A successor of the same name may have taken the place already.
  if (found != table_.end() && *found == &slot) table_.erase(found);
}

std::shared_ptr<Slot> SlotTable::next(const Slot* slot) noexcept {
  const std::lock_guard lock(mutex_);
  Slot* next = slot == nullptr ? slots_.first() : slot->after;
  for (; next != nullptr; next = next->after) {
    if (std::shared_ptr<Slot> kept = next->weak_from_this().lock()) return kept;
  }
  return nullptr;
}

void Names::poke_waiters() noexcept {
  each([](Slot& slot) { slot.poke_waiters(); });
}

}  // namespace mortise::runtime
