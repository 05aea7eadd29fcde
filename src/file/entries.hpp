// SPDX-License-Identifier: MIT
// The names, of locks, semaphores or keys, that one client uses or has used lately. A name that
// nobody owns or waits for stays open for a while, so that the next lock on it costs no open; how
// many such, is bounded.
#pragma once

#include "file/directory.hpp"
#include "file/entry.hpp"
#include "file/number_floor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::file {

/// @thread_safety every member may be called concurrently.
class Entries {
 public:
  /// Of locks, or semaphores. @param directory outlives this
  Entries(const Directory& directory, bool flush, std::size_t most_idle,
          Mode mode = Mode::exclusive)
      : common_{.directory = directory, .flush = flush, .mode = mode}, most_idle_(most_idle) {}
  /// Of keys. @param floor outlives this, too
  Entries(const Directory& directory, NumberFloor& floor, std::size_t most_idle)
      : common_{.directory = directory, .flush = true, .mode = Mode::once, .floor = &floor},
        most_idle_(most_idle) {}

  /// @return the entry of a name, a new one where there is none; null after `close()`. One that was
  /// retired meanwhile says so when it is asked.
  [[nodiscard]] std::shared_ptr<Entry> get(const std::string& name);
  /// @return the entry of a name, or null.
  [[nodiscard]] std::shared_ptr<Entry> find(const std::string& name);
  /// @return all, at this moment.
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> all() const;

  /// Closes those idle entries that were used least lately, where there are too many. Costs nothing
  /// where there are not.
  void trim() noexcept;
  /// Closes all idle entries. @return how many
  std::size_t drop_idle();
  /// Makes no entries from now on. @return all that there are; needs no memory for that
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> close() noexcept;

 private:
  struct Slot {
    std::shared_ptr<Entry> entry;
    std::uint64_t last_use = 0;
  };
  using Slots = std::unordered_map<std::string, Slot>;
  [[nodiscard]] std::size_t retire_all_but(std::size_t keep);

  Common common_;
  const std::size_t most_idle_;
  std::atomic<std::size_t> known_{0};  // entries; how many of them are in use, `common_` counts
  mutable std::mutex mutex_;           // comes before the entries' own
  Slots slots_;
  std::vector<std::shared_ptr<Entry>> room_;  // empty, with room for all entries: for close()
  std::uint64_t clock_ = 0;                   // counts uses
  bool closed_ = false;
};

}  // namespace mortise::file
