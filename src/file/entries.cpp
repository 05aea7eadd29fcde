// SPDX-License-Identifier: MIT
// The table of names. An idle entry is kept open for speed, and closed when there are too many.
#include "file/entries.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace mortise::file {

std::shared_ptr<Entry> Entries::get(const std::string& name) {
  const std::lock_guard hold(mutex_);
  if (closed_) return nullptr;
  auto found = slots_.find(name);
  if (found == slots_.end()) {
    // `close()` must not need memory.
    if (room_.capacity() <= slots_.size()) room_.reserve(2 * slots_.size() + 8);
    auto entry = std::make_shared<Entry>(common_, name);
    found = slots_.emplace(name, Slot{.entry = std::move(entry)}).first;
    known_.store(slots_.size());
  }
  found->second.last_use = ++clock_;
  return found->second.entry;
}

std::shared_ptr<Entry> Entries::find(const std::string& name) {
  const std::lock_guard hold(mutex_);
  const auto found = slots_.find(name);
  if (found == slots_.end()) return nullptr;
  found->second.last_use = ++clock_;
  return found->second.entry;
}

std::vector<std::shared_ptr<Entry>> Entries::all() const {
  const std::lock_guard hold(mutex_);
  std::vector<std::shared_ptr<Entry>> out;
  out.reserve(slots_.size());
  for (const auto& [name, slot] : slots_) out.push_back(slot.entry);
  return out;
}

void Entries::trim() noexcept {
  // The two are not read at one moment: a trim may come a little early or late.
  if (known_.load() <= common_.in_use.load() + most_idle_) return;
  try {
    // Half of them at once, so that looking for the oldest is paid for by many calls.
    static_cast<void>(retire_all_but(most_idle_ / 2));
  } catch (const std::bad_alloc&) {
    return;  // they stay open; the next call tries again
  }
}

std::size_t Entries::drop_idle() { return retire_all_but(0); }

std::size_t Entries::retire_all_but(std::size_t keep) {
  std::vector<std::shared_ptr<Entry>> retired;  // closed when the mutex is free again
  const std::lock_guard hold(mutex_);
  std::vector<std::pair<std::uint64_t, Slots::const_iterator>> idle;
  for (auto slot = slots_.cbegin(); slot != slots_.cend(); ++slot) {
    if (slot->second.entry->idle()) idle.emplace_back(slot->second.last_use, slot);
  }
  if (idle.size() <= keep) return 0;
  const auto end = idle.begin() + static_cast<std::ptrdiff_t>(idle.size() - keep);
  std::nth_element(idle.begin(), end - 1, idle.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  retired.reserve(idle.size() - keep);
  for (auto old = idle.begin(); old != end; ++old) {
    const Slots::const_iterator slot = old->second;
    if (!slot->second.entry->retire()) continue;  // somebody came for it
    retired.push_back(slot->second.entry);
    slots_.erase(slot);
  }
  known_.store(slots_.size());
  return retired.size();
}

std::vector<std::shared_ptr<Entry>> Entries::close() noexcept {
  const std::lock_guard hold(mutex_);
  closed_ = true;
  for (const auto& [name, slot] : slots_) room_.push_back(slot.entry);
  return std::move(room_);
}

}  // namespace mortise::file
