// SPDX-License-Identifier: MIT
// What servers are owed: the undos and releases that they could not be told, or have not answered.
#pragma once

#include "redis/call.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// A debt is a server's, and is paid by whatever address leads there. A server that is started anew
/// has another name; so whoever was met since the question was asked is told as well, and the debt
/// stays for the other case, that this is a stranger.
/// @thread_safety every member may be called concurrently; it calls nobody but `stays`.
class Debts {
 public:
  /// Once for each server and operation: the newer one takes the place of the older.
  /// @param server that of the call, or the one that refused it in its place
  void owe(std::uint64_t server, redis::Call call) {
    const std::lock_guard lock(mutex_);
    std::deque<redis::Call>& its = debts_[server];
    const auto found = std::find_if(its.begin(), its.end(), [&](const redis::Call& other) {
      return other.operation == call.operation;
    });
    if (found != its.end()) {
      *found = std::move(call);
    } else {
      if (its.size() >= most_debts) its.pop_front();
      its.push_back(std::move(call));
    }
    any_.store(true);
  }
  /// A server can be told now. @param met when it was met for the first time; long ago where
  /// others' do not concern it
  /// @param stays whether a debt of another server stays owed to that
  /// @return what it is to be told
  template <class Stays>
  [[nodiscard]] std::vector<redis::Call> take(std::uint64_t server, Instant met, Stays stays) {
    std::vector<redis::Call> due;
    if (!any_.load()) return due;
    const std::lock_guard lock(mutex_);
    for (auto each = debts_.begin(); each != debts_.end();) {
      std::deque<redis::Call>& its = each->second;
      const bool own = each->first == server;
      std::deque<redis::Call> left;
      for (redis::Call& debt : its) {
        const bool told = own || (each->first == debt.server && met >= debt.since);
        if (told) due.push_back(debt);
        if (!told || (!own && stays(debt))) left.push_back(std::move(debt));
      }
      its.swap(left);
      each = its.empty() ? debts_.erase(each) : std::next(each);
    }
    any_.store(!debts_.empty());
    return due;
  }
  /// @return all of them, which nobody is owed any more
  [[nodiscard]] std::vector<redis::Call> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<redis::Call> all;
    for (auto& each : debts_) {
      std::move(each.second.begin(), each.second.end(), std::back_inserter(all));
    }
    debts_.clear();
    any_.store(false);
    return all;
  }
  [[nodiscard]] bool any() const noexcept { return any_.load(); }

 private:
  // What a server that never comes back is owed is worth no memory without end.
  static constexpr std::size_t most_debts = 4096;

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::deque<redis::Call>> debts_;  // by server
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
