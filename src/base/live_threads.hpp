// SPDX-License-Identifier: MIT
// Whether an owner is a thread that has ended: nobody is left then who could unlock what it holds.
#pragma once

#include <mortise/owner.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mortise::base {

/// The numbers of owners that are threads are odd, all others even.
[[nodiscard]] constexpr bool is_thread(Owner owner) noexcept { return (owner.id() & 1U) != 0; }

/// Which numbers are those of threads that live: a table of words, each taken and given back by one
/// atomic exchange. No mutex, so that a child forked in between finds none locked; no memory, so
/// that a thread can always ask for its number; and nothing to destroy, so that threads may end,
/// and be asked for, while the program ends.
/// @thread_safety every member may be called concurrently.
template <std::size_t Size, std::size_t Reach>
class LiveThreads {
 public:
  /// @return false: no room within reach. Then the thread needs a number that is no thread's.
  [[nodiscard]] bool enter(std::uint64_t id) noexcept {
    for (std::size_t i = 0; i < Reach; ++i) {
      std::uint64_t none = 0;
      if (place(id, i).compare_exchange_strong(none, id)) return true;
    }
    return false;
  }
  void leave(std::uint64_t id) noexcept {
    for (std::size_t i = 0; i < Reach; ++i) {
      std::uint64_t own = id;
      if (place(id, i).compare_exchange_strong(own, 0)) return;
    }
  }
  [[nodiscard]] bool has(std::uint64_t id) noexcept {
    for (std::size_t i = 0; i < Reach; ++i) {
      if (place(id, i).load() == id) return true;
    }
    return false;
  }

 private:
  // Numbers are drawn one after the other: threads that live are spread over all of it.
  [[nodiscard]] std::atomic<std::uint64_t>& place(std::uint64_t id, std::size_t i) noexcept {
    return words_[((id >> 1U) + i) % Size];
  }

  std::array<std::atomic<std::uint64_t>, Size> words_{};
};

/// @return whether that is a thread, and one that has ended. Its destructors of thread_local
/// variables may still be running.
[[nodiscard]] bool has_ended(Owner owner) noexcept;

}  // namespace mortise::base
