// SPDX-License-Identifier: MIT
// The waiters of one name in one client, in order of arrival. To add, remove or find a waiter takes
// the same time for any number of them.
#pragma once

#include <mortise/owner.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mortise::core {

struct Terms;
struct Waiter;

/// The links of one waiter in a `WaitQueue`.
struct QueuePlace {
  Waiter* before = nullptr;
  Waiter* after = nullptr;
  // In the chain of the waiters whose owners have the same hash, in order of arrival.
  Waiter* before_in_chain = nullptr;
  Waiter* after_in_chain = nullptr;
  bool queued = false;
};

/// A caller that wants the name. Lives in the caller's stack frame while it waits.
struct Waiter {
  enum class Wakeup : std::uint8_t {
    none,  ///< wait on
    ask,   ///< it is your turn to ask the server
    held,  ///< the name was passed to you: you hold it
    told,  ///< the answer to another waiter is yours, too: you have it
  };
  Owner owner;
  std::shared_ptr<const Terms> terms;
  Wakeup wakeup = Wakeup::none;
  QueuePlace place{};
};

/// An intrusive list of waiters. Two threads can wait with the same `Owner`, so an intrusive hash
/// table finds the waiters of an owner; a short queue has none.
class WaitQueue {
 public:
  class Iterator {
   public:
    explicit Iterator(Waiter* at) noexcept : at_(at) {}
    [[nodiscard]] Waiter* operator*() const noexcept { return at_; }
    Iterator& operator++() noexcept {
      at_ = at_->place.after;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) noexcept = default;

   private:
    Waiter* at_;
  };
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(first_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(nullptr); }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// @return the waiter that came first; null if the queue is empty.
  [[nodiscard]] Waiter* front() const noexcept { return first_; }
  /// Adds a waiter that is in no queue.
  /// @throws std::bad_alloc; the queue is then unchanged
  void push_back(Waiter& waiter);
  /// Removes the waiter, if it is in the queue.
  void remove(Waiter& waiter) noexcept;
  /// @return the first waiter of that owner that wants the name shared, or does not; null if there
  /// is none.
  [[nodiscard]] Waiter* find(Owner owner, bool shared) const noexcept;
  /// Removes the waiters for which `matches` returns true.
  template <class Matches>
  void remove_if(Matches matches) {
    for (Waiter* at = first_; at != nullptr;) {
      Waiter* const next = at->place.after;
      if (matches(*at)) remove(*at);
      at = next;
    }
  }

 private:
  /// The waiters whose owners have the same hash.
  struct Chain {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
  };
  /// @return the index of the chain that has the waiters of that owner.
  [[nodiscard]] std::size_t chain_of(Owner owner) const noexcept;
  void grow();
  static void add_to(Chain& chain, Waiter& waiter) noexcept;

  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::size_t size_ = 0;
  // Null in a short queue; their number is a power of two. A held lock pays for one pointer.
  std::unique_ptr<std::vector<Chain>> chains_;
};

}  // namespace mortise::core
