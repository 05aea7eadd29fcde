// SPDX-License-Identifier: MIT
// The board that all processes see: shared memory with the figures of the run and the outcome of
// each submission. It observes; nothing that protects orders or customers is here.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace shop {

/// What became of a submission; open = not finished, also where its process died over it.
enum class Outcome : std::uint8_t {
  open,
  charged,
  told,   ///< a duplicate, which got the receipt of its order
  found,  ///< one whose order was found in the ledger
};

/// What one process did, over all its lives.
struct Figures {
  std::atomic<std::uint64_t> charged{0};
  std::atomic<std::uint64_t> told{0};
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> repaired{0};      ///< charges that it found half done, and completed
  std::atomic<std::uint64_t> started_over{0};  ///< a lock or an answer was lost
  std::atomic<std::uint64_t> waits{0};         ///< locks that it got after more than a millisecond
  std::atomic<std::int64_t> longest_wait{0};   ///< nanoseconds
};

/// The crash of the run.
struct Crash {
  std::atomic<bool> taken{false};              ///< a thread has been chosen to stand still
  std::atomic<std::uint64_t> submission{0};    ///< and does so at this one, counted from 1
  std::atomic<std::uint64_t> completed_by{0};  ///< process (from 1) that completed its charge
  std::atomic<std::int64_t> completed_at{0};   ///< and when: nanoseconds of the steady clock
};

/// @return the steady clock, which is the same for all processes of a machine, in nanoseconds.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Board {
 public:
  static constexpr std::size_t most_processes = 32;
  struct Page {
    std::atomic<std::int64_t> started_at{0};  ///< `now_ns()`; 0 = the doors are still closed
    Crash crash;
    std::array<Figures, most_processes> figures;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "else it would not work shared");

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
  /// @return how many submissions are not open any more.
  [[nodiscard]] std::size_t finished() const noexcept;

 private:
  std::size_t submissions_;
  Page* page_ = nullptr;
  std::atomic<Outcome>* outcomes_ = nullptr;
};

}  // namespace shop
