// SPDX-License-Identifier: MIT
// No thread forks while another one is in here, so a child never finds the table half changed.
#include "memory/named_stores.hpp"

#include <mortise/clock.hpp>

#include "base/fork.hpp"
#include "memory/store.hpp"

#include <utility>

namespace mortise::memory {

std::shared_ptr<Store> NamedStores::get(const std::string& name) {
  Key key(base::fork_generation(), name);
  // The end of a store frees the table of it. A store that is not needed here ends the same way.
  auto end = [this, key](Store* ended) {
    delete ended;
    forget(key);
  };
  auto made = std::make_unique<Store>(Clock::real());
  const std::shared_ptr<Store> fresh(made.release(), std::move(end));
  const base::NoFork alone;
  std::weak_ptr<Store>& known = stores_[std::move(key)];
  std::shared_ptr<Store> store = known.lock();
  if (!store) known = store = fresh;
  return store;
}

// A store of the same name may have begun since the last reference to this one was given up.
void NamedStores::forget(const Key& key) noexcept {
  const base::NoFork alone;
  const auto found = stores_.find(key);
  if (found != stores_.end() && found->second.expired()) stores_.erase(found);
}

std::size_t NamedStores::size() const {
  const base::NoFork alone;
  return stores_.size();
}

}  // namespace mortise::memory
