// SPDX-License-Identifier: MIT
// The attempts of one client that wait for a name: what they sleep on, and what other clients see
// of them.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/lock_file.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::file {

/// The word on which a waiter sleeps, and the value that it has read.
struct Nap {
  std::shared_ptr<WakeWord> sleepers;  ///< keeps the page mapped while a waiter sleeps on it
  std::uint32_t seen = 0;
  /// Until then it leaves the lock to the waiter that our own release woke.
  Instant polite_until{};
};

/// An attempt that waits for the name.
struct Waiter {
  std::shared_ptr<Acquisition> operation;
  Nap nap;
  /// Of a key: the record that stood when it came. Of a reader: `Header::turn` when it had to wait
  /// for a writer that waits.
  std::uint64_t since = has_not_asked;
  static constexpr std::uint64_t has_not_asked = ~std::uint64_t{0};
};

/// @thread_safety none: part of an entry, under its mutex.
class Waiters {
 public:
  /// @return null: the attempt does not wait here.
  [[nodiscard]] Waiter* find(const Acquisition& operation) noexcept;
  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  /// @return whether another attempt waits.
  [[nodiscard]] bool has_others(const Acquisition& operation) const noexcept;
  /// @return whether an attempt waits to be the owner.
  [[nodiscard]] bool has_writer() const noexcept;
  /// The next `add()` needs no memory.
  void make_room() { list_.reserve(list_.size() + 1); }
  void add(Waiter waiter) { list_.push_back(std::move(waiter)); }
  void erase(const Acquisition& operation) noexcept;
  /// @return all, which wait no longer.
  [[nodiscard]] std::vector<Waiter> take() noexcept;

  /// Other clients see from now on that an attempt of that mode waits here.
  void announce(const LockFile& file, Mode mode) noexcept;
  /// @return whether other clients may see that an attempt waits here.
  [[nodiscard]] bool announced() const noexcept { return announced_; }
  /// @return whether that is still true.
  [[nodiscard]] bool announces() const noexcept;
  /// Other clients see it no longer: its lock is freed with the rest, or of no use.
  void withdrawn() noexcept { announced_ = false; }
  /// The file was replaced: other clients look at another one.
  void file_replaced() noexcept;

 private:
  std::vector<Waiter> list_;
  bool announced_ = false;
  Instant asked_at_{};  // when a writer of ours has written that it waits
};

/// The waiter that a release of ours woke has the first try: how long our own attempts leave the
/// name to it. It needs a few microseconds; a stopped process must not cost us more than this.
/// @thread_safety none: part of an entry, under its mutex.
class Politeness {
 public:
  /// A waiter was woken. @param seen the word that our own attempts sleep on
  void begin(std::uint32_t seen) noexcept {
    seen_ = seen;
    until_ = BootClock::now() + std::chrono::milliseconds(1);
  }
  void end() noexcept { until_ = {}; }
  [[nodiscard]] bool lasts() const noexcept {
    return until_ != Instant{} && BootClock::now() < until_;
  }
  [[nodiscard]] Nap nap(const LockFile& file) const {
    return {.sleepers = file.sleepers(), .seen = seen_, .polite_until = until_};
  }

 private:
  std::uint32_t seen_ = 0;
  Instant until_{};
};

}  // namespace mortise::file
