// SPDX-License-Identifier: MIT
// Until when a session surely lives, as the answers prove that came for it. Pure: no clock, no
// socket; the time is an argument.
//
// The leader alone ends sessions, and it counts from what it has heard of them. A follower tells it
// which sessions gave a sign of life only in its answers to the leader's pings, each half a tick
// (Learner.ping, LearnerHandler); a request that it passes on to the leader is no such sign
// (LeaderZooKeeperServer.submitLearnerRequest). So neither an answer nor a committed write proves
// that the leader counts from then. What does is a chain on the follower's one connection, which
// keeps its order both ways:
//   1. a request is answered: the follower knows of the sign of life, and tells it with its next
//   ping;
//   2. `report` later (a ping was sent since) another is sent that the leader answers, a sync or a
//      write: the follower has answered every ping that came before that answer;
//   3. after that a write is sent, and is committed: it came to the leader behind those, the
//   session
//      lived, and the leader was one.
// Then the leader counts the time-out from the first request, or from later. A connection that is
// made proves more: the leader itself is asked about the session, which needs no ping.
#pragma once

#include <mortise/clock.hpp>

#include <chrono>
#include <cstddef>
#include <deque>

namespace mortise::zookeeper {

class Life {
 public:
  /// @param report in which time a follower has surely answered a ping
  void set_report(std::chrono::nanoseconds report) noexcept { report_ = report; }
  [[nodiscard]] std::chrono::nanoseconds report() const noexcept { return report_; }

  /// A connection stands, which was asked for then.
  void connected(Instant asked);
  /// What was not proven by then no later answer proves.
  void disconnected() noexcept;
  /// Another session: nothing is known of it.
  void over() noexcept;

  /// @return what a write that is sent now proves when it is committed.
  [[nodiscard]] Instant known() const noexcept { return known_; }
  /// A request was answered, by whomever.
  void answered(Instant asked, Instant now);
  /// The answer came by way of the leader.
  void passed(Instant asked) noexcept;
  /// A write was committed. @param known what `known()` was when it was sent
  void committed(Instant known, Instant asked, Instant now) noexcept;

  /// @return the moment from which, or from later, the leader counts the session's time-out.
  [[nodiscard]] Instant proven() const noexcept { return proven_; }

 private:
  struct Sign {
    Instant asked{};
    Instant answered{};
  };

  std::chrono::nanoseconds report_{};
  std::deque<Sign> signs_;  // some of them, the oldest first
  Instant known_{};
  Instant proven_{};
};

}  // namespace mortise::zookeeper
