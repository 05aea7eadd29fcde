// SPDX-License-Identifier: MIT
// Sleeping on a word with a time limit, which std::atomic::wait does not offer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace mortise::base {

/// Sleeps while `word` is `seen`, at most as long as said; may return early. Private to the
/// process.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::chrono::nanoseconds at_most) noexcept;

/// Wakes up to `count` sleepers of the word.
void futex_wake(const std::atomic<std::uint32_t>& word, int count = 1) noexcept;

/// A thread's own place to sleep: `unpark()` wakes it once, also when it comes first.
class Parker {
 public:
  [[nodiscard]] std::uint32_t ticket() const noexcept { return word_.load(); }
  /// Sleeps unless `unpark()` was called since `ticket()` was read.
  void park(std::uint32_t ticket, std::chrono::nanoseconds at_most) const noexcept {
    futex_wait(word_, ticket, at_most);
  }
  void unpark() noexcept {
    word_.fetch_add(1);
    futex_wake(word_);
  }
  /// The first half of `unpark()`, which the sleeper sees. It may be gone together with the word
  /// right afterwards; `futex_wake()` of the word is still right, because it only needs the
  /// address: whoever sleeps there by then is woken for nothing, and futex sleepers expect that.
  [[nodiscard]] const std::atomic<std::uint32_t>& mark() noexcept {
    word_.fetch_add(1);
    return word_;
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace mortise::base
