// SPDX-License-Identifier: MIT
// What is asked of all servers for one request of the library, and how far it has come. Plain
// records.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "redis/store/call.hpp"
#include "redlock/ballot.hpp"
#include "redlock/quorum.hpp"
#include "redlock/roll.hpp"
#include "redlock/vote.hpp"
#include "redlock/vote_round.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// For the answer to a call that has no lease of its own.
constexpr std::chrono::seconds patience{1};

using Lock = std::unique_lock<std::mutex>;

/// An attempt over all its rounds, and the hold that it became until the release of that is
/// answered.
struct QuorumAttempt {
  enum class Phase {
    unreachable,  ///< too few servers can be reached
    asking,       ///< a round is under way
    settling,     ///< the same: a majority voted for it, with different numbers
    waiting,      ///< for a hint, or for its time
    won,          ///< it is a hold
    ended,        ///< the hold is being released
    cancelled,    ///< it is taken back, until a majority for it is impossible
    over,         ///< completed, otherwise than by a grant
  };
  /// Servers by their addresses.
  struct Nodes {
    explicit Nodes(std::size_t count) : failures(count) {}
    /// A round begins.
    void begin() {
      late = again = spoke = hinted = hears = 0;
      std::fill(failures.begin(), failures.end(), Failure{});
    }

    NodeSet late = 0;               ///< that came up since the round began
    NodeSet again = 0;              ///< that were asked twice: the first request came late
    NodeSet spoke = 0;              ///< that have answered since the round began
    NodeSet hinted = 0;             ///< that sent a hint that the lock may be free
    NodeSet hears = 0;              ///< whose hints came when they were asked in this round
    std::vector<Failure> failures;  ///< of servers that refused to answer in this round
  };
  struct Pace {
    Instant asked{};       ///< when the round began
    Instant next = never;  ///< when `waiting` ends by itself
    int splits = 0;        ///< rounds in a row that no client won
    bool polite = false;   ///< the next round steps back for other clients
  };

  QuorumAttempt(std::shared_ptr<Acquisition> wanted, Quorum quorum)
      : operation(std::move(wanted)), round(quorum), nodes(quorum.nodes) {}
  [[nodiscard]] const Acquisition::Request& request() const noexcept {
    return operation->request();
  }
  /// Under the mutex. @return true if that hold came of it.
  [[nodiscard]] bool is(const HoldId& hold) const noexcept {
    return ballot && ballot->number.load() == hold.number && request().name == hold.name;
  }

  const std::shared_ptr<Acquisition> operation;
  std::mutex mutex{};
  // Under the mutex.
  Phase phase = Phase::unreachable;
  std::shared_ptr<Ballot> ballot{};  ///< of the last round
  std::vector<AttemptId> lost{};     ///< ballots of earlier rounds that are not taken back yet
  VoteRound round;
  Roll roll{};  ///< of this round
  Nodes nodes;
  std::optional<Holder> holder{};
  std::shared_ptr<Ending> ending{};
  Pace pace{};
  Awaited awaited{};
};

/// Calls carry it; it is never waited for.
struct QuorumRequest : Operation {
  /// The client is closed.
  virtual void give_up(const Failure& why) = 0;

  std::mutex mutex{};
  Awaited awaited{};  ///< under the mutex
};

/// A batch of renewals.
struct Renewing final : QuorumRequest {
  /// The answers for one hold.
  struct Votes {
    Tally tally{};
    NodeSet free = 0;     ///< servers where no hold excludes it
    bool wanted = false;  ///< a server reported a waiter that the hold excludes
  };
  /// @param answer_in the time that a server has for its answer
  Renewing(std::shared_ptr<Renewal> asked_for, std::chrono::nanoseconds answer_in)
      : renewal(std::move(asked_for)), time(answer_in), votes(renewal->items().size()) {}
  void give_up(const Failure& why) override { renewal->failed(why); }

  const std::shared_ptr<Renewal> renewal;
  const std::chrono::nanoseconds time;
  Instant asked{};
  NodeSet open = 0;  // under the mutex, as what follows
  Roll roll{};
  std::vector<Votes> votes;  ///< by the holds
  Failure refusal{};         ///< of a server that did not execute it
  bool apart = false;        ///< one server refused it because of one name
  bool over = false;
};

/// "Who holds it?", "which holds are there?", or "can locks be taken?".
struct Looking final : QuorumRequest {
  explicit Looking(std::shared_ptr<Inspection> wanted) : inspection(std::move(wanted)) {}
  explicit Looking(std::shared_ptr<QueueLook> wanted) : queue(std::move(wanted)) {}
  explicit Looking(std::shared_ptr<Check> wanted) : check(std::move(wanted)) {}
  void give_up(const Failure& why) override { operation().failed(why); }
  [[nodiscard]] Operation& operation() const noexcept {
    if (inspection) return *inspection;
    return queue ? static_cast<Operation&>(*queue) : *check;
  }
  /// @return true if no caller waits for it any more.
  [[nodiscard]] bool abandoned() const noexcept {
    return operation().done() ||
           std::max({inspection.use_count(), queue.use_count(), check.use_count()}) == 1;
  }

  const std::shared_ptr<Inspection> inspection{};
  const std::shared_ptr<QueueLook> queue{};
  const std::shared_ptr<Check> check{};
  NodeSet asked = 0;                // under the mutex, as what follows
  NodeSet heard = 0;                // addresses that an answer came from
  NodeSet refused = 0;              // the same, of an error
  std::vector<Failure> failures{};  ///< those errors; empty = there is none
  Roll roll{};
  std::vector<std::pair<std::size_t, VoteReply>> answers{};
  /// The report of one server about a hold.
  struct Vote {
    std::size_t node = 0;
    VoteReply::Named its{};
  };
  std::vector<Vote> votes{};  ///< `queue`: whose they are
};

// The operation of a call. The kind of the call decides its type.

[[nodiscard]] inline Ballot& ballot_in(const redis::Call& call) noexcept {
  return static_cast<Ballot&>(*call.operation);
}
[[nodiscard]] inline Ending& ending_in(const redis::Call& call) noexcept {
  return static_cast<Ending&>(*call.operation);
}
template <class Request>
[[nodiscard]] Request& request_in(const redis::Call& call) noexcept {
  return static_cast<Request&>(*call.operation);
}
template <class Request>
[[nodiscard]] std::shared_ptr<Request> shared_in(const redis::Call& call) noexcept {
  return std::static_pointer_cast<Request>(call.operation);
}

}  // namespace mortise::redlock
