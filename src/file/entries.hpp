// SPDX-License-Identifier: MIT
// The names that one client uses or has used lately. A name that nobody owns or waits for stays
// open for a while, so that the next lock on it costs no open; how many such, is bounded.
#pragma once

#include "file/directory.hpp"
#include "file/entry.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::file {

/// @thread_safety every member may be called concurrently.
class Entries {
  struct Slot {
    std::shared_ptr<Entry> entry;
    std::size_t users = 0;
    std::uint64_t idle_since = 0;  // 0 = in use, or owned, or waited for
  };

 public:
  /// The use of an entry by one call, during which the entry is not closed.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept
        : entries_(std::exchange(other.entries_, nullptr)), slot_(other.slot_) {}
    Use& operator=(Use&& other) = delete;
    ~Use() {
      if (entries_ != nullptr) entries_->put(*slot_);
    }
    explicit operator bool() const noexcept { return entries_ != nullptr; }
    Entry* operator->() const noexcept { return slot_->entry.get(); }

   private:
    friend class Entries;
    Use(Entries& entries, Slot& slot) noexcept : entries_(&entries), slot_(&slot) {}
    Entries* entries_ = nullptr;
    Slot* slot_ = nullptr;
  };

  /// @param directory outlives this
  Entries(const Directory& directory, bool flush, std::size_t most_idle = 256)
      : directory_(directory), flush_(flush), most_idle_(most_idle) {}

  /// @return the entry of a name, a new one where there is none; empty after `close()`.
  [[nodiscard]] Use get(const std::string& name);
  /// @return the entry of a name, or an empty use.
  [[nodiscard]] Use find(const std::string& name);
  /// @return all, at this moment.
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> all() const;
  /// Closes all idle entries. @return how many
  std::size_t drop_idle();
  /// Makes no entries from now on. @return all that there are; needs no memory for that
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> close() noexcept;
  /// @return how many names are open or known, for tests.
  [[nodiscard]] std::size_t size() const;

 private:
  using Victims = std::vector<std::shared_ptr<Entry>>;
  [[nodiscard]] Use use(Slot& slot) noexcept;
  void put(Slot& slot) noexcept;
  /// Takes out idle entries until at most `keep` are left, those used last. Under the mutex.
  [[nodiscard]] Victims trim(std::size_t keep);

  const Directory& directory_;
  const bool flush_;
  const std::size_t most_idle_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Slot> slots_;
  std::vector<std::shared_ptr<Entry>> room_;  // empty, with room for all entries: for close()
  bool closed_ = false;
  std::size_t idle_ = 0;
  std::uint64_t clock_ = 0;  // counts puts: the order of last use
};

}  // namespace mortise::file
