// SPDX-License-Identifier: MIT
// The names of a client: one slot each, as long as an object refers to it.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/owner.hpp>

#include "runtime/engine/reader_role.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_set>

namespace mortise::runtime {

class ClientState;
class Slot;

/// @thread_safety every member may be called concurrently. The mutex guards the table and the list,
/// and is not held while a slot is visited or given up.
class SlotTable {
 public:
  /// A name, and the owner if it is a semaphore's.
  struct Key {
    std::string_view name{};
    Owner owner{};
  };
  /// @param mode what all slots of this table are of; `exclusive` = locks, of either mode
  explicit SlotTable(Mode mode) noexcept : mode_(mode) {}
  /// @param owner whose permit it is for; empty for all others
  /// @return the one slot of a name, which is made if there is none.
  [[nodiscard]] std::shared_ptr<Slot> slot(ClientState& client, std::string_view name,
                                           Owner owner = {});
  /// @return the slot, or null if there is none.
  [[nodiscard]] std::shared_ptr<Slot> find(const Key& key);
  /// @param visit is handed the slot of a name, or, of a semaphore, those of all owners
  template <class Visit>
  void each_of(std::string_view name, Visit visit) {
    if (mode_ != Mode::permit) {
      if (const auto slot = find({.name = name})) visit(*slot);
      return;
    }
    each([&](Slot& slot) {
      if (key_of(&slot).name == name) visit(slot);
    });
  }
  /// A slot is being destroyed.
  void forget(Slot& slot) noexcept;
  /// Needs no memory: a caller whose slot is not visited may wait without end.
  template <class Visit>
  void each(Visit visit) {
    for (auto slot = next(nullptr); slot; slot = next(slot.get())) visit(*slot);
  }

 private:
  const Mode mode_;
  /// @param slot where to go on, kept by the caller; null = from the first one
  [[nodiscard]] std::shared_ptr<Slot> next(const Slot* slot) noexcept;

  static Key key_of(const Slot* slot) noexcept;
  static Key key_of(const Key& key) noexcept { return key; }
  struct Hash {
    using is_transparent = void;
    template <class T>
    std::size_t operator()(const T& one) const noexcept {
      return hash(key_of(one));
    }
    static std::size_t hash(const Key& key) noexcept;
  };
  struct Equal {
    using is_transparent = void;
    template <class T, class U>
    bool operator()(const T& one, const U& other) const noexcept {
      const Key a = key_of(one);
      const Key b = key_of(other);
      return a.owner == b.owner && a.name == b.name;
    }
  };

  std::mutex mutex_;
  // One that is being destroyed stays until it is forgotten, or until a successor takes its place.
  std::unordered_set<Slot*, Hash, Equal> table_;
  List<Slot> slots_;  // all of them, to be visited without memory
};

/// The names of a client. A lock, a key and a semaphore of the same name are different names.
/// @thread_safety every member may be called concurrently.
class Names {
 public:
  /// @param mode of a hold; the readers of a lock are in the table of the locks
  [[nodiscard]] SlotTable& table(Mode mode = Mode::exclusive) noexcept {
    if (mode == Mode::permit) return permits_;
    return mode == Mode::once ? keys_ : locks_;
  }
  template <class Visit>
  void each(Visit visit) {
    locks_.each(visit);
    keys_.each(visit);
    permits_.each(visit);
  }
  /// Has every caller that waits for a name look again, at the clock and at the client.
  void poke_waiters() noexcept;

 private:
  SlotTable locks_{Mode::exclusive};
  SlotTable keys_{Mode::once};
  SlotTable permits_{Mode::permit};
};

}  // namespace mortise::runtime
