// SPDX-License-Identifier: MIT
#include "file/entries.hpp"

#include <algorithm>
#include <new>

namespace mortise::file {

Entries::Use Entries::use(Slot& slot) noexcept {
  ++slot.users;
  if (slot.idle_since != 0) --idle_;
  slot.idle_since = 0;
  return {*this, slot};
}

Entries::Use Entries::get(const std::string& name) {
  const std::lock_guard hold(mutex_);
  if (closed_) return {};
  if (room_.capacity() <= slots_.size()) room_.reserve(2 * slots_.size() + 8);
  const auto [found, added] = slots_.try_emplace(name);
  if (added) {
    try {
      found->second.entry = std::make_shared<Entry>(directory_, name, flush_);
    } catch (const std::bad_alloc&) {
      slots_.erase(found);
      throw;
    }
  }
  return use(found->second);
}

Entries::Use Entries::find(const std::string& name) {
  const std::lock_guard hold(mutex_);
  const auto found = slots_.find(name);
  return found == slots_.end() ? Use{} : use(found->second);
}

void Entries::put(Slot& slot) noexcept {
  Victims victims;  // closed after the mutex is free
  const std::lock_guard hold(mutex_);
  if (--slot.users > 0 || !slot.entry->idle()) return;
  slot.idle_since = ++clock_;
  if (++idle_ <= most_idle_) return;
  try {
    // Half of them at once, so that looking for the oldest is paid for by many calls.
    victims = trim(most_idle_ / 2);
  } catch (const std::bad_alloc&) {
    // They stay open; the next call tries again.
  }
}

Entries::Victims Entries::trim(std::size_t keep) {
  if (idle_ <= keep) return {};
  std::vector<std::uint64_t> ages;
  ages.reserve(idle_);
  for (const auto& [name, slot] : slots_) {
    if (slot.idle_since != 0) ages.push_back(slot.idle_since);
  }
  const auto drop = static_cast<std::ptrdiff_t>(ages.size() - keep);
  std::nth_element(ages.begin(), ages.begin() + drop - 1, ages.end());
  const std::uint64_t youngest = ages[static_cast<std::size_t>(drop - 1)];
  Victims out;
  out.reserve(static_cast<std::size_t>(drop));
  for (auto it = slots_.begin(); it != slots_.end();) {
    const Slot& slot = it->second;
    if (slot.idle_since != 0 && slot.idle_since <= youngest) {
      out.push_back(slot.entry);
      it = slots_.erase(it);
    } else {
      ++it;
    }
  }
  idle_ -= out.size();
  return out;
}

std::size_t Entries::drop_idle() {
  Victims victims;
  const std::lock_guard hold(mutex_);
  victims = trim(0);
  return victims.size();
}

std::vector<std::shared_ptr<Entry>> Entries::all() const {
  const std::lock_guard hold(mutex_);
  std::vector<std::shared_ptr<Entry>> out;
  out.reserve(slots_.size());
  for (const auto& [name, slot] : slots_) out.push_back(slot.entry);
  return out;
}

std::vector<std::shared_ptr<Entry>> Entries::close() noexcept {
  const std::lock_guard hold(mutex_);
  closed_ = true;
  for (const auto& [name, slot] : slots_) room_.push_back(slot.entry);
  return std::move(room_);
}

std::size_t Entries::size() const {
  const std::lock_guard hold(mutex_);
  return slots_.size();
}

}  // namespace mortise::file
