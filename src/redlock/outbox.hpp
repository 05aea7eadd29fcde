// SPDX-License-Identifier: MIT
// What is still to be sent to servers: the undos and releases that they could not be told, or have
// not answered.
#pragma once

#include "redis/call.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// An entry is for one server, and is sent by whatever address leads there. A server that is
/// started anew has another name; so any server met since the request was made is told as well, and
/// the entry stays for the other case, that this is a stranger.
/// @thread_safety every member may be called concurrently; it calls nobody but `look_at`.
class Outbox {
 public:
  /// Once for each server and operation: the newer one takes the place of the older.
  /// @param server that of the call, or the one that refused it in its place
  /// @param not_before when its own server is to be told
  void put(std::uint64_t server, redis::Call call, Instant not_before = Instant::min()) {
    const std::lock_guard lock(mutex_);
    Recipient& its = outbox_[server];
    const auto [place, is_new] = its.places.try_emplace(call.operation.get(), its.next);
    if (is_new) {
      if (its.calls.size() >= most_entries) its.drop(its.calls.begin());
      ++its.next;
    }
    its.calls[place->second] = {.call = std::move(call), .not_before = not_before};
    any_.store(true);
  }
  /// What is to be known of an entry.
  struct Look {
    bool over = false;         ///< nobody but its own server is told any more, nor later
    bool told_to_all = false;  ///< once another server was told in that one's place, it is done
  };
  /// What a server is to be told. It stays here until that was `sent()`.
  struct Due {
    redis::Call call{};
    std::uint64_t recipient = 0;
    std::uint64_t place = 0;
    std::uint64_t taken = 0;  ///< 0 = it stays here in any case
  };
  /// A server can be told now. @param met when it was met for the first time; long ago where
  /// others' do not concern it
  /// @param look says of an entry what is to be known of it
  /// @return what it is to be told, nothing of which is taken by anybody else meanwhile
  template <class LookAt>
  [[nodiscard]] std::vector<Due> take(std::uint64_t server, Instant met, Instant now,
                                      LookAt look_at) {
    std::vector<Due> due;
    if (!any_.load()) return due;
    const std::lock_guard lock(mutex_);
    due.reserve(most_locked(server, met));  // or nothing is taken
    for (auto each = outbox_.begin(); each != outbox_.end();) {
      Recipient& its = each->second;
      const bool own = each->first == server;
      for (auto one = its.calls.begin(); one != its.calls.end();) {
        Entry& entry = one->second;
        const Look look = look_at(entry.call);
        const bool due_now = entry.not_before <= now;
        const bool its_own = own && due_now;
        const bool may_be_its =
            due_now && !look.over && each->first == entry.call.server && met >= entry.call.since;
        const bool goes = (its_own || may_be_its) && entry.taken == 0;
        const bool last = its_own || (may_be_its && look.told_to_all);
        if (goes && last) entry.taken = ++takes_;
        if (goes) due.push_back({entry.call, each->first, one->first, last ? entry.taken : 0});
        const bool finished = look.over && entry.taken == 0;
        one = finished ? its.drop(one) : std::next(one);
      }
      each = its.calls.empty() ? outbox_.erase(each) : std::next(each);
    }
    any_.store(!outbox_.empty());
    return due;
  }
  /// @param left false: it could not be sent, and waits on
  void sent(const Due& due, bool left) noexcept {
    if (due.taken == 0) return;
    const std::lock_guard lock(mutex_);
    const auto recipient = outbox_.find(due.recipient);
    if (recipient == outbox_.end()) return;
    Recipient& its = recipient->second;
    const auto one = its.calls.find(due.place);
    // A newer one has its place, perhaps: the server has refused this one.
    if (one == its.calls.end() || one->second.taken != due.taken) return;
    one->second.taken = 0;
    if (!left) return;
    its.drop(one);
    if (its.calls.empty()) outbox_.erase(recipient);
    any_.store(!outbox_.empty());
  }
  /// @return when a server is to be told next of what it cannot be told yet; `never` = nothing.
  [[nodiscard]] Instant next(std::uint64_t server, Instant now) const {
    const std::lock_guard lock(mutex_);
    Instant next = never;
    const auto recipient = outbox_.find(server);
    if (recipient == outbox_.end()) return next;
    for (const auto& [place, entry] : recipient->second.calls) {
      if (entry.not_before > now) next = std::min(next, entry.not_before);
    }
    return next;
  }
  /// @return all of them, which are to be sent to nobody any more
  [[nodiscard]] std::vector<redis::Call> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<redis::Call> all;
    for (auto& each : outbox_) {
      for (auto& entry : each.second.calls) all.push_back(std::move(entry.second.call));
    }
    outbox_.clear();
    any_.store(false);
    return all;
  }
  [[nodiscard]] bool any() const noexcept { return any_.load(); }

 private:
  // What waits for a server that never comes back is worth no memory without end. Then the oldest
  // go, whose votes end first as a rule: docs/stores/redlock.md says so.
  static constexpr std::size_t most_entries = 4096;
  struct Entry {
    redis::Call call{};
    Instant not_before = Instant::min();
    std::uint64_t taken = 0;  // by whom it is being sent; 0 = by nobody
  };
  struct Recipient {
    using Calls = std::map<std::uint64_t, Entry>;  // as they came
    Calls::iterator drop(Calls::iterator one) noexcept {
      places.erase(one->second.call.operation.get());
      return calls.erase(one);
    }
    Calls calls{};
    std::unordered_map<const Operation*, std::uint64_t> places{};
    std::uint64_t next = 0;
  };

  [[nodiscard]] std::size_t most_locked(std::uint64_t server, Instant met) const noexcept {
    std::size_t most = 0;
    for (const auto& [recipient, its] : outbox_) {
      if (recipient == server || met > Instant::min()) most += its.calls.size();
    }
    return most;
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Recipient> outbox_;  // by server
  std::uint64_t takes_ = 0;
  std::atomic<bool> any_{false};
};

}  // namespace mortise::redlock
