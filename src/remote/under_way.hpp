// SPDX-License-Identifier: MIT
// The calls that were sent on a connection and are not answered, where answers come in the order of
// the calls. A connection breaks and is made anew while a thread stands between two steps of a
// send, so each connection is a generation of its own, and what a thread learned of one is never
// applied to another.
#pragma once

#include <mortise/clock.hpp>

#include "base/mutant.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

namespace mortise::remote {

/// @tparam Call has a `number`, which is given to it here, and a `deadline`
/// @thread_safety for one thread at a time, but for `generation()`.
template <class Call>
class UnderWay {
 public:
  /// Where a call stands.
  struct Place {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
  };

  /// @return the number of the connection; grows, and begins with 1.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_.load(); }
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }
  /// @return the oldest; there must be one.
  [[nodiscard]] const Call& oldest() const noexcept { return calls_.front(); }

  /// @return until when the oldest has to be answered.
  [[nodiscard]] Instant deadline() const noexcept {
    return calls_.empty() ? never : calls_.front().deadline;
  }

  /// @return whether there is one of that kind.
  template <class Which>
  [[nodiscard]] bool any(Which which) const {
    return std::any_of(calls_.begin(), calls_.end(), which);
  }

  Place add(Call call) {
    call.number = ++numbers_;
    calls_.push_back(std::move(call));
    return {generation_.load(), numbers_};
  }
  /// A reply came. @return the call that it answers; nothing = nobody asked
  std::optional<Call> answered() {
    if (calls_.empty()) return std::nullopt;
    Call call = std::move(calls_.front());
    calls_.pop_front();
    return call;
  }
  /// Exactly that call was never sent. @return false: it is not here; its connection broke, and
  /// whoever was told of that has it
  bool take_back(const Place& place) {
    // The write failed, the thread stood still, and the connection was made anew: the newest call
    // is another one's, and each reply goes to the call behind its own (S1).
    if (base::mutant("redis.take_back_from_another_connection") && !calls_.empty()) {
      calls_.pop_back();
      return true;
    }
    if (place.generation != generation_.load()) return false;
    const auto mine = std::find_if(calls_.rbegin(), calls_.rend(),
                                   [&](const Call& other) { return other.number == place.number; });
    if (mine == calls_.rend()) return false;
    calls_.erase(std::prev(mine.base()));
    return true;
  }
  /// The connection broke; the next one begins.
  /// @param unanswered empty: takes what was not answered. An empty list needs memory, too; it is
  /// made before anything else is given up, or these would be given the next one's replies (S1)
  void end(std::deque<Call>& unanswered) noexcept {
    generation_.fetch_add(1);
    unanswered.swap(calls_);
  }

 private:
  std::deque<Call> calls_;
  std::uint64_t numbers_ = 0;
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace mortise::remote
