// SPDX-License-Identifier: MIT
// Late duplicates: requests that may still be executed although the connection that carried them is
// gone. A server that was stopped, or is far away, may read an old connection after a newer one. So
// every request bears a number that grows (of its connection, or of its attempt), and once one was
// not answered, those that come after it tell the server to refuse older ones. Until the server has
// executed one of those, nothing that it says of the attempt is final.
#pragma once

#include <mortise/operation.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <unordered_map>

namespace mortise::remote {

/// A backend that remembers nothing more of a late duplicate.
struct NothingMore {
  [[nodiscard]] static constexpr bool needed() noexcept { return false; }
};

/// @tparam More what else a backend has to remember of them, as long as `More::needed()`
/// @thread_safety for one thread at a time
template <class More = NothingMore>
class LateCopies {
 public:
  struct Key {
    std::uint64_t server = 0;  ///< 0 where there is one only
    AttemptId attempt{};
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Late {
    Instant until{};           ///< then no copy of it exists any more
    std::uint64_t newest = 0;  ///< no late copy has a larger number
    bool copies = false;       ///< there may be some, and the server does not refuse them yet
    bool release = false;      ///< a release of its hold may have been executed without our knowing
    bool kept = false;         ///< the numbers of later requests depend on it
    More more{};
  };

  /// @param life how long after it was last sent a late copy may come; as long as the server
  /// refuses them
  explicit LateCopies(std::chrono::nanoseconds life) noexcept : life_(life) {}

  /// A request with that number was not answered before its connection broke.
  /// @param longer how much longer it may have an effect: a server that stood still all the while
  /// grants what it was asked for when it goes on
  /// @return what is known of this attempt; null = there is no memory for that. Then whatever is as
  /// old counts as in doubt for ever (`is_unnoted()`), which costs it time, and nobody a lock
  Late* unanswered(const Key& key, std::uint64_t number, Instant now,
                   std::chrono::nanoseconds longer = {}) noexcept {
    try {
      Late& late = touch(key, now, longer);
      late.newest = std::max(late.newest, number);
      late.copies = true;
      return &late;
    } catch (const std::bad_alloc&) {
      unnoted(key);
      return nullptr;
    }
  }
  /// Of this attempt, or of a newer one, there was something to be noted for which there was no
  /// memory. Attempts are numbered in the order in which they are made.
  void unnoted(const Key& key) noexcept { unnoted_ = std::max(unnoted_, key.attempt.sequence); }
  [[nodiscard]] bool is_unnoted(const Key& key) const noexcept {
    return key.attempt.sequence <= unnoted_;
  }
  /// @return what is known of this attempt, which is remembered for a whole life from now on.
  Late& touch(const Key& key, Instant now, std::chrono::nanoseconds longer = {}) {
    sweep(now);
    Late& late = all_[key];
    late.until = std::max(late.until, now + longer + life_);
    return late;
  }
  /// The server has executed a request that told it to refuse all with smaller numbers than this.
  /// @return what is known of that attempt; null = nothing. `settle()` it afterwards
  Late* refuses_below(const Key& key, std::uint64_t number) {
    Late* const late = find(key);
    if (late == nullptr || number <= late->newest) return nullptr;
    late->copies = false;
    return late;
  }
  /// The server has answered the release of its hold.
  void released(const Key& key) {
    Late* const late = find(key);
    if (late == nullptr) return;
    late->release = false;
    settle(key);
  }
  /// Forgets what nobody has to know any more of that attempt.
  void settle(const Key& key) {
    const auto found = all_.find(key);
    if (found == all_.end()) return;
    const Late& late = found->second;
    if (!late.copies && !late.release && !late.kept && !late.more.needed()) all_.erase(found);
  }

  /// @return what is known of that attempt; null = nothing.
  [[nodiscard]] const Late* find(const Key& key) const {
    if (all_.empty()) return nullptr;  // as nearly always
    const auto found = all_.find(key);
    return found == all_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] Late* find(const Key& key) {
    if (all_.empty()) return nullptr;
    const auto found = all_.find(key);
    return found == all_.end() ? nullptr : &found->second;
  }
  /// @return whether copies may come that the server does not refuse yet.
  [[nodiscard]] bool any_copies(const Key& key) const {
    const Late* const late = find(key);
    return is_unnoted(key) || (late != nullptr && late->copies);
  }
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool release_in_doubt(const Key& key) const {
    const Late* const late = find(key);
    return is_unnoted(key) || (late != nullptr && late->release);
  }
  /// @return whether no attempt is in doubt.
  [[nodiscard]] bool empty() const noexcept { return all_.empty() && unnoted_ == 0; }
  /// @return whether it is so old that no copy of it exists.
  [[nodiscard]] bool is_over(const Late& late, Instant now) const noexcept {
    return now > late.until;
  }
  /// Pairs of a key and what is known of it, also what is over and not swept yet.
  [[nodiscard]] auto begin() noexcept { return all_.begin(); }
  [[nodiscard]] auto end() noexcept { return all_.end(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }

  /// Forgets what is over; not for each of the thousands that a connection takes with it.
  void sweep(Instant now) {
    if (now - swept_ < std::chrono::seconds(1)) return;
    swept_ = now;
    std::erase_if(all_, [&](const auto& each) { return is_over(each.second, now); });
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return key.attempt.sequence ^ (key.server * 0x9e3779b97f4a7c15U);
    }
  };

  const std::chrono::nanoseconds life_;
  std::unordered_map<Key, Late, Hash> all_;
  Instant swept_{};
  std::uint64_t unnoted_ = 0;  // the newest attempt of which something is; none has number 0
};

}  // namespace mortise::remote
