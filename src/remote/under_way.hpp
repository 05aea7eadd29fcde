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
#include <iterator>
#include <list>
#include <utility>

namespace mortise::remote {

/// @tparam Call has a `number`, which is given to it here, and a `deadline`
/// @thread_safety for one thread at a time, but for `generation()`.
template <class Call>
class UnderWay {
 public:
  /// Calls go from hand to hand without memory: what becomes of them when there is none is told all
  /// the same.
  using Calls = std::list<Call>;
  /// Where a call stands.
  struct Place {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
  };

  /// @param generations draws the numbers of all connections that share it: each is larger than
  /// those before, whichever connection had them; null = its own. Must outlive it
  explicit UnderWay(std::atomic<std::uint64_t>* generations = nullptr) noexcept
      : generations_(generations) {
    renew();
  }

  /// @return the number of the connection; grows, and begins with 1 where it shares them with none.
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

  /// The next `add()` needs no memory.
  void make_room() {
    if (spare_.empty()) spare_.emplace_back();
  }
  Place add(Call call) {
    call.number = numbers_ + 1;
    if (spare_.empty()) {
      calls_.push_back(std::move(call));
    } else {
      spare_.front() = std::move(call);
      calls_.splice(calls_.end(), spare_, spare_.begin());
    }
    return {generation_.load(), ++numbers_};
  }
  /// A reply came. @return the call that it answers, alone; none = nobody asked
  [[nodiscard]] Calls answered() noexcept {
    Calls oldest;
    if (!calls_.empty()) oldest.splice(oldest.begin(), calls_, calls_.begin());
    return oldest;
  }
  /// Whoever asked could not be told the answer: it is the oldest that is not answered again, for
  /// the `end()`, which has to come next, since the next reply is not its own (S1).
  void put_back(Calls& oldest) noexcept { calls_.splice(calls_.begin(), oldest); }
  /// Calls that are over, and empty: their memory is that of those to come.
  void reuse(Calls& over) noexcept {
    spare_.splice(spare_.begin(), over);
    while (spare_.size() > most_spare) spare_.pop_back();
  }
  /// Exactly that call was never sent. @return it, alone; none = it is not here: its connection
  /// broke, and whoever was told of that has it
  [[nodiscard]] Calls take_back(const Place& place) noexcept {
    Calls taken;
    // The write failed, the thread stood still, and the connection was made anew: the newest call
    // is another one's, and each reply goes to the call behind its own (S1).
    if (base::mutant("redis.take_back_from_another_connection") && !calls_.empty()) {
      taken.splice(taken.begin(), calls_, std::prev(calls_.end()));
      return taken;
    }
    if (place.generation != generation_.load()) return taken;
    const auto mine = std::find_if(calls_.rbegin(), calls_.rend(),
                                   [&](const Call& other) { return other.number == place.number; });
    if (mine != calls_.rend()) taken.splice(taken.begin(), calls_, std::prev(mine.base()));
    return taken;
  }
  /// The connection broke; the next one begins.
  /// @return what was not answered
  [[nodiscard]] Calls end() noexcept {
    renew();
    return std::exchange(calls_, {});
  }
  /// What is sent from now on has a larger number than anything before, on any connection.
  void renew() noexcept {
    std::atomic<std::uint64_t>& last = generations_ != nullptr ? *generations_ : own_;
    generation_.store(last.fetch_add(1) + 1);
  }

 private:
  static constexpr std::size_t most_spare = 64;

  Calls calls_;
  Calls spare_;  // each an empty call
  std::uint64_t numbers_ = 0;
  std::atomic<std::uint64_t>* const generations_;
  std::atomic<std::uint64_t> own_{0};
  std::atomic<std::uint64_t> generation_{0};
};

}  // namespace mortise::remote
