// SPDX-License-Identifier: MIT
// Notes of the threads that read answers, about attempts, without the mutex of their courses.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::remote {

/// News of one server. The thread that has its reader's role notes them. The next thread that locks
/// the courses brings them about before anything else, so no thread sees a course without them.
/// This saves the reader the mutex, which it would lock with every answer.
/// @thread_safety see each member
class CourseNews {
 public:
  struct Item {
    AttemptId attempt{};
    std::uint64_t number = 0;
    Instant now{};
    Instant until{};
    bool is_grant = false;  ///< false: the release of that hold is answered
  };

  /// @thread_safety one thread at a time, without the mutex
  /// @return false: there is no room, or the answer may concern a request that was lost. Nothing
  /// was noted
  [[nodiscard]] bool note(const Item& item) noexcept {
    if (looks_ == nullptr || looks_->load() != 0) return false;
    const std::size_t noted = noted_.load(std::memory_order_relaxed);
    if (noted - learned_.load(std::memory_order_acquire) == items_.size()) return false;
    items_[noted % items_.size()] = item;
    noted_.store(noted + 1, std::memory_order_release);
    return true;
  }

 private:
  friend class NewsBoard;

  // Each request that leaves locks the courses, so there are rarely more than two items.
  std::array<Item, 16> items_{};
  std::atomic<std::size_t> noted_{0};
  std::atomic<std::size_t> learned_{0};
  const std::atomic<std::size_t>* looks_ = nullptr;
};

/// The news of all servers of a client.
/// @thread_safety under the mutex of the courses
class NewsBoard {
 public:
  /// Its news are brought about from now on. @param news outlives it
  void follow(CourseNews& news) {
    all_.push_back(&news);
    news.looks_ = &looks_;
  }
  /// So many attempts are to be looked at, because a request for them was lost.
  void note_looks(std::size_t looks) noexcept { looks_.store(looks); }
  /// @return true if there is an item that `learn()` has not passed on. A caller that the item has
  /// served has gone before this is called.
  [[nodiscard]] bool has_more() const noexcept {
    std::atomic_thread_fence(std::memory_order_acquire);  // after the look at the caller
    return std::any_of(all_.begin(), all_.end(), [](const CourseNews* news) {
      return news->noted_.load(std::memory_order_acquire) !=
             news->learned_.load(std::memory_order_relaxed);
    });
  }
  /// Calls it with each item that it was not called with; those of one server in order.
  template <class Learn>
  void learn(Learn learn) noexcept {
    for (CourseNews* const news : all_) {
      const std::size_t noted = news->noted_.load(std::memory_order_acquire);
      std::size_t learned = news->learned_.load(std::memory_order_relaxed);
      if (learned == noted) continue;
      for (; learned != noted; ++learned) learn(news->items_[learned % news->items_.size()]);
      news->learned_.store(learned, std::memory_order_release);
    }
  }

 private:
  std::vector<CourseNews*> all_;
  std::atomic<std::size_t> looks_{0};
};

}  // namespace mortise::remote
