// SPDX-License-Identifier: MIT
// The board that all processes see: shared memory with the counts of the run and the outcome of
// each submission. It only observes. It does not protect orders or customers.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace shop {

/// The outcome of a submission; open = not finished, even if its process died.
enum class Outcome : std::uint8_t {
  open,
  charged,
  replayed,  ///< a duplicate that got the recorded receipt of its order
  found,     ///< its order was already in the ledger
};

/// The counts of one process, restarts included.
struct Figures {
  std::atomic<std::uint64_t> charged{0};
  std::atomic<std::uint64_t> replayed{0};
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> repaired{0};      ///< charges of others that it completed
  std::atomic<std::uint64_t> started_over{0};  ///< after a lost lock or reply
  std::atomic<std::uint64_t> waits{0};         ///< locks that it got after more than a millisecond
  std::atomic<std::int64_t> longest_wait{0};   ///< nanoseconds
};

/// The crash of the run.
struct Crash {
  std::atomic<bool> taken{false};              ///< a thread has been chosen for the crash
  std::atomic<std::uint64_t> submission{0};    ///< the submission at which it stops, from 1
  std::atomic<std::uint64_t> completed_by{0};  ///< process (from 1) that completed its charge
  std::atomic<std::int64_t> completed_at{0};   ///< and when: nanoseconds of the steady clock
};

/// @return the steady clock in nanoseconds. All processes of a machine share this clock.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Board {
 public:
  static constexpr std::size_t most_processes = 32;
  struct Page {
    std::atomic<std::int64_t> started_at{0};  ///< `now_ns()`; 0 = not started yet
    Crash crash;
    std::array<Figures, most_processes> figures;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free,
                "atomics in shared memory must not use a lock");

  enum class How { create, join };
  /// @throws std::system_error
  Board(const std::filesystem::path& path, std::size_t submissions, How how);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board();

  [[nodiscard]] Page* operator->() const noexcept { return page_; }
  [[nodiscard]] std::atomic<Outcome>& outcome(std::size_t submission) const noexcept {
    return outcomes_[submission];
  }
  /// @return how many submissions are finished.
  [[nodiscard]] std::size_t finished() const noexcept;

 private:
  std::size_t submissions_;
  Page* page_ = nullptr;
  std::atomic<Outcome>* outcomes_ = nullptr;
};

}  // namespace shop
