// SPDX-License-Identifier: MIT
// What a client knows of its holds: until when each stands, and which servers may have voted for
// it. Decides nothing about the server side, and sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "redlock/quorum_request.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::redlock {

/// By the client's own number of an attempt, which few others share.
struct AttemptHash {
  std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
};

/// @return whether that code of renew.lua says so; 2 = and a writer waits whom it keeps out
[[nodiscard]] constexpr bool renews(int code) noexcept { return code == 1 || code == 2; }

/// A vote ends so much later than its hold, at most: the margin of a hold, and the way to the
/// server.
inline constexpr std::chrono::seconds end_at_the_servers{2};

/// @return the end of a hold as the library counts it (core/lease.cpp), with the usual margin.
[[nodiscard]] Instant end_of_hold(Instant counted_from, std::chrono::nanoseconds lease) noexcept;

/// @thread_safety every member may be called concurrently; it calls nobody.
class Holds {
 public:
  /// @param now when it was asked for
  /// @param maybe taken only where there is memory for the hold
  void add(const HoldId& hold, Instant until, Trail&& maybe, Instant now);
  /// @return whether exactly this hold stands: granted, not released, its end not come.
  [[nodiscard]] bool stands(const HoldId& hold, Instant now) const;
  /// It was renewed.
  void extend(const HoldId& hold, Instant until);
  /// A server is asked for a vote for it, or was.
  /// @return false: it is not known any more
  bool voted(const HoldId& hold, const Trail::Stop& stop);
  /// A server has answered a renewal, and for what it has renewed it has votes.
  /// @param answers one code for each, as renew.lua gives it
  /// @return the ends of those that were released meanwhile, and of which it was not told, perhaps
  std::vector<std::shared_ptr<Freeing>> renewed(const std::vector<Renewal::Item>& items,
                                                const std::vector<int>& answers,
                                                const Trail::Stop& stop);

  struct End {
    std::shared_ptr<Freeing> freeing{};
    Trail maybe{};       ///< who may have voted for it; of one that is not known, nothing
    bool known = false;  ///< it was granted here
    bool fresh = false;  ///< it is released for the first time
  };
  /// It ends now. Asked again for the same operation, it is the same end.
  End end(const std::shared_ptr<Release>& release);
  /// The servers have said what they had to.
  void forget(const AttemptId& attempt);

 private:
  struct Entry {
    HoldId hold{};
    Instant until{};
    Trail maybe{};
    std::shared_ptr<Freeing> freeing{};
  };
  [[nodiscard]] static bool same(const HoldId& a, const HoldId& b) noexcept {
    return a.number == b.number && a.name == b.name;
  }

  mutable std::mutex mutex_;
  std::unordered_map<AttemptId, Entry, AttemptHash> entries_;
  std::size_t sweep_at_ = 1024;
};

}  // namespace mortise::redlock
