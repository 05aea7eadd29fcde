// SPDX-License-Identifier: MIT
// The stores that URLs name: all clients of a process with one URL have one store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace mortise::memory {

class Store;

/// @thread_safety every member may be called concurrently; the object must outlive the stores.
class NamedStores {
 public:
  /// @return the store of that name, which lasts as long as a client refers to it. A forked child
  /// has stores of its own, because a thread of its parent may have been inside of one.
  [[nodiscard]] std::shared_ptr<Store> get(const std::string& name);
  /// @return how many there are.
  [[nodiscard]] std::size_t size() const;

 private:
  using Key = std::pair<std::uint32_t, std::string>;
  void forget(const Key& key) noexcept;

  std::map<Key, std::weak_ptr<Store>> stores_;  // under `NoFork`
};

}  // namespace mortise::memory
