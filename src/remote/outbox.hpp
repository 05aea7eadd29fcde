// SPDX-License-Identifier: MIT
// The outbox: calls that wait for a connection. And what every backend has to judge of them:
// whether a failure is the last word, and whether anybody still waits for the answer.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>

#include "base/farewell.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace mortise::remote {

/// @return whether asking again cannot help, whatever the caller's time.
[[nodiscard]] inline bool is_final(const Failure& why) noexcept {
  return why.code == Errc::denied || why.code == Errc::misconfigured ||
         why.code == Errc::unsupported || why.code == Errc::protocol;
}

/// What nobody waits for any more (an orphaned grant that has to be released, say) is tried for as
/// long as it would keep others out, and at least for this time.
inline constexpr std::chrono::minutes longest_unattended{1};

/// @param since when it was asked for first
/// @param lease how long what it frees would keep others out
/// @return whether it was tried for so long.
[[nodiscard]] inline bool was_tried_enough(Instant since, std::chrono::nanoseconds lease,
                                           Instant now) noexcept {
  return now - since > std::max<std::chrono::nanoseconds>(longest_unattended, lease);
}

/// The name that is looked at to see whether locks can be taken at all. No client locks it.
inline constexpr std::string_view probed_name = "mortise.check";

/// Does that with each call, whatever became of those before it.
/// @param work with one call, alone; may throw, and may put the call elsewhere
/// @param keep is given what it has thrown at, and not put elsewhere
/// @return whether it has thrown
template <class Calls, class Work, class Keep>
bool each_or_keep(Calls calls, Work work, Keep keep) noexcept {
  bool failed = false;
  while (!calls.empty()) {
    Calls alone;
    alone.splice(alone.begin(), calls, calls.begin());
    try {
      work(alone);
    } catch (const std::exception&) {
      failed = true;
      if (!alone.empty()) keep(std::move(alone));
    }
  }
  return failed;
}

/// @tparam Call has an `operation` and a `purpose()`
/// @return a key that calls share of which one is enough.
template <class Call>
[[nodiscard]] std::pair<const void*, int> key_of(const Call& call) noexcept {
  return {call.operation.get(), static_cast<int>(call.purpose())};
}
struct HashOfKey {
  std::size_t operator()(const std::pair<const void*, int>& key) const noexcept {
    return std::hash<const void*>()(key.first) + static_cast<std::size_t>(key.second);
  }
};

/// @tparam Call see `key_of()`
/// @thread_safety for one thread at a time, but for `empty()`
template <class Call>
class Outbox {
 public:
  /// They go from hand to hand without memory: see UnderWay.
  using Calls = std::list<Call>;

  /// Keeps at most one call per operation and purpose; a later duplicate is dropped.
  /// @param alone one call
  void add(Calls alone) noexcept {
    bool is_new = true;
    // Without memory a duplicate may be kept, which does no harm: every request may be repeated.
    base::without_memory([&] { is_new = keys_.insert(key_of(alone.front())).second; });
    if (is_new) calls_.splice(calls_.end(), alone);
    is_empty_.store(false);
  }
  [[nodiscard]] bool empty() const noexcept { return is_empty_.load(); }
  /// @return all of them, or the first, in the order in which they came.
  [[nodiscard]] Calls take(std::size_t most = SIZE_MAX) noexcept {
    if (calls_.size() <= most) {
      keys_.clear();
      is_empty_.store(true);
      return std::exchange(calls_, {});
    }
    Calls first;
    const auto end = std::next(calls_.begin(), static_cast<std::ptrdiff_t>(most));
    first.splice(first.end(), calls_, calls_.begin(), end);
    for (const Call& call : first) keys_.erase(key_of(call));
    return first;
  }

 private:
  Calls calls_;
  std::unordered_set<std::pair<const void*, int>, HashOfKey> keys_;
  std::atomic<bool> is_empty_{true};
};

/// @return the calls without later duplicates: see `Outbox::add()`.
template <class Call>
[[nodiscard]] std::list<Call> one_of_each(std::list<Call> calls) noexcept {
  if (calls.size() < 2) return calls;
  Outbox<Call> first;
  while (!calls.empty()) {
    std::list<Call> alone;
    alone.splice(alone.begin(), calls, calls.begin());
    first.add(std::move(alone));
  }
  return first.take();
}

}  // namespace mortise::remote
