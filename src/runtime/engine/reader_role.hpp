// SPDX-License-Identifier: MIT
// What the engine knows of those who read for others and of those who wait for them. Everything is
// linked through the frames of the waiting threads: a role changes hands without an allocation, so
// that it cannot be lost where there is no memory.
#pragma once

#include <mortise/backend.hpp>

#include "base/tuned_source.hpp"
#include "base/unique_fd.hpp"
#include "runtime/engine/shortcut.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mortise::runtime {

/// A list of objects that are their own links. It never allocates.
template <class Node>
class List {
 public:
  void push_back(Node& node) noexcept {
    node.before = last_;
    node.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &node;
    last_ = &node;
    ++size_;
  }
  void remove(Node& node) noexcept {
    (node.before != nullptr ? node.before->after : first_) = node.after;
    (node.after != nullptr ? node.after->before : last_) = node.before;
    --size_;
  }
  /// @return the first one, of which there has to be one, and which is not in it any more.
  [[nodiscard]] Node& pop_front() noexcept {
    Node& node = *first_;
    first_ = node.after;
    (first_ != nullptr ? first_->before : last_) = nullptr;
    --size_;
    return node;
  }
  [[nodiscard]] Node* first() const noexcept { return first_; }
  [[nodiscard]] Node* last() const noexcept { return last_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t size_ = 0;
};

struct ReaderRole;

/// A caller inside of `Engine::wait()`.
struct Follower {
  Operation& operation;
  std::uint32_t seen = 0;
  Instant until;         // by the client's clock, which may be in a test's hand
  Instant back = never;  // in real time: it may stand still there, and whoever waits looks itself
  ReaderRole* role = nullptr;  // in whose list it is
  Follower* before = nullptr;
  Follower* after = nullptr;
};

// With so many callers waiting a thread that does nothing but read is cheaper than the role going
// from hand to hand: the crossover was measured between 64 and 256 callers.
constexpr std::size_t crowd = 128;

/// The right to poll a set of sources, and those who wait for what comes from them.
struct ReaderRole {
  std::vector<Source*> sources{};
  std::vector<base::TunedSource*> tuned{};  // those of them that are
  std::uint64_t version = 0;                // of the sources
  base::UniqueFd wake{};                    // eventfd: reaches the caller that reads
  bool taken = false;                       // a caller reads
  // Of the pushes: until when that caller sleeps; there is none: the smallest.
  std::atomic<Instant> asleep_until{Instant::min()};
  const Follower* called = nullptr;  // a follower that was woken to read, and has not come yet
  bool background = false;           // the background thread reads
  List<Follower> followers{};

  /// @return whether more wait than should pass the role from hand to hand.
  [[nodiscard]] bool crowded() const noexcept { return followers.size() >= crowd; }
  [[nodiscard]] bool may_be_taken() const noexcept { return !taken && !crowded(); }
  /// @return whether no caller reads, nor is about to.
  [[nodiscard]] bool unattended() const noexcept { return !taken && called == nullptr; }
  /// @return whether a caller that is alone may go by the shortcut: all sources are tuned, and few.
  [[nodiscard]] bool short_way() const noexcept {
    return !sources.empty() && tuned.size() == sources.size() &&
           tuned.size() <= Shortcut::most_sources;
  }
};

/// Room for as many items as most threads ever need, without the heap; for more with it.
template <class Item, std::size_t Here>
class Few {
 public:
  /// Makes room for so many; what was there before is gone.
  void resize(std::size_t size) {
    if (size > Here) many_.resize(size);
    size_ = size;
  }
  [[nodiscard]] std::span<Item> items() noexcept {
    return {size_ > Here ? many_.data() : few_.data(), size_};
  }
  [[nodiscard]] std::span<const Item> items() const noexcept {
    return {size_ > Here ? many_.data() : few_.data(), size_};
  }

 private:
  std::array<Item, Here> few_{};
  std::vector<Item> many_;
  std::size_t size_ = 0;
};

/// The sources that a thread polls at present: they stay until it has left.
struct Attendance {
  Few<Source*, 8> sources;
  Attendance* before = nullptr;
  Attendance* after = nullptr;
};

}  // namespace mortise::runtime
