// SPDX-License-Identifier: MIT
// What is asked of all servers for one request of the library, and how far it has come. Plain
// records: RedlockBackend acts on them.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "redis/call.hpp"
#include "redlock/quorum.hpp"
#include "redlock/roll.hpp"
#include "redlock/trail.hpp"
#include "redlock/vote.hpp"
#include "redlock/vote_round.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::redlock {

/// What one command asks of one server.
enum class Ask : std::uint32_t {
  take,    ///< a vote for an attempt
  settle,  ///< to note the number of a hold
  undo,    ///< to take a vote back, whatever came of it
  free,    ///< to end a hold
  renew,
  relock,  ///< a vote for a hold that a majority has renewed
  look,
};

/// A call's tag: what is asked, and in which step of its quorum request.
[[nodiscard]] constexpr std::uint32_t tag_of(Ask ask, std::uint32_t step = 0) noexcept {
  return (step << 3U) | static_cast<std::uint32_t>(ask);
}
[[nodiscard]] inline Ask ask_of(const redis::Call& call) noexcept {
  return static_cast<Ask>(call.tag & 7U);
}
[[nodiscard]] inline std::uint32_t step_of(const redis::Call& call) noexcept {
  return call.tag >> 3U;
}

/// The steps of a hold come after those of its attempt, which is not asked for any more.
constexpr std::uint32_t step_of_hold = (1U << 29U) - 2;
constexpr std::uint32_t step_of_end = step_of_hold + 1;

/// For the answer to what has no lease of its own.
constexpr std::chrono::seconds patience{1};
/// @return how long the answer to a call may take that is sent now.
[[nodiscard]] inline std::chrono::nanoseconds time_of(const redis::Call& call) noexcept {
  // What waits in the outbox was asked long ago.
  const bool from_outbox = ask_of(call) == Ask::undo || ask_of(call) == Ask::free;
  return from_outbox ? patience : call.deadline - call.asked;
}

/// Counts a quorum request among those whose answers somebody waits for.
class Awaited {
 public:
  Awaited() = default;
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;
  ~Awaited() { end(); }
  void begin(std::atomic<int>& count) noexcept {
    if (count_ == nullptr) (count_ = &count)->fetch_add(1);
  }
  void end() noexcept {
    if (count_ != nullptr) std::exchange(count_, nullptr)->fetch_sub(1);
  }

 private:
  std::atomic<int>* count_ = nullptr;
};

/// The common part. As an operation it is never waited for; calls carry it.
struct QuorumRequest : Operation {
  /// The client is closed: whoever waits is told.
  virtual void give_up(const Failure& why) = 0;

  std::mutex mutex{};
  Awaited awaited{};  ///< under the mutex
};

/// An attempt, over all its rounds.
struct QuorumAttempt final : QuorumRequest {
  enum class Phase {
    unreachable,  ///< too few servers can be reached
    asking,       ///< a round is under way
    settling,     ///< the same: a majority voted for us, with different numbers
    waiting,      ///< for a hint, or for its time
    won,          ///< it is a hold
    cancelled,    ///< it is taken back, until a majority for it is impossible
    over,         ///< completed, otherwise than by a grant
  };
  QuorumAttempt(std::shared_ptr<Acquisition> wanted, Quorum quorum)
      : operation(std::move(wanted)), round(quorum), failures(quorum.nodes) {}
  void give_up(const Failure& why) override { operation->failed(why); }
  [[nodiscard]] const Acquisition::Request& request() const noexcept {
    return operation->request();
  }

  const std::shared_ptr<Acquisition> operation;
  /// Grows when what was asked before is not wanted any more. Each command carries its step, by
  /// which a server knows what comes late, whatever address that comes by.
  std::atomic<std::uint32_t> step{0};
  std::atomic<std::uint64_t> proposal{0};  ///< of this round
  std::atomic<std::uint64_t> number{0};    ///< what the votes were settled on
  std::atomic<bool> polite{false};         ///< this round steps back for others
  std::atomic<bool> bold{false};           ///< it steps back for nobody
  std::atomic<bool> leaves{false};         ///< it is cancelled, and wants no more hints

  // Under the mutex.
  Phase phase = Phase::unreachable;
  VoteRound round;
  Roll roll{};                    ///< of this round
  NodeSet late = 0;               ///< servers that came up since
  NodeSet again = 0;              ///< servers that were asked twice: the first request came late
  std::vector<Failure> failures;  ///< of servers that refused to answer in this round
  std::optional<Holder> holder{};
  std::uint64_t holder_number = 0;
  Trail maybe{};         ///< servers that may have it as the owner
  Trail spoke{};         ///< servers that have answered since the round began
  Trail polled{};        ///< servers that were asked for a vote under these names, in any round
  Trail listed{};        ///< servers that it asked for hints
  NodeSet hinted = 0;    ///< servers that have told that the lock may be free
  NodeSet hears = 0;     ///< of these, those that it listened to when it asked them in this round
  Instant asked{};       ///< when the round began
  Instant next = never;  ///< when `waiting` ends by itself
  bool untold = false;   ///< not every server was told of the last step that takes votes back
  std::uint32_t won_step = 0;
  int splits = 0;  ///< rounds in a row that nobody won
};

/// The end of a hold.
struct Freeing final : QuorumRequest {
  Freeing(std::shared_ptr<Release> wanted, bool ours, Instant end)
      : release(std::move(wanted)), known(ours), until(end) {}
  void give_up(const Failure& why) override { release->failed(why); }

  const std::shared_ptr<Release> release;
  const bool known;                ///< its attempt has no other hold, or loses that as well
  const Instant until;             ///< when it ends by itself; long ago where that is not known
  std::atomic<bool> untold{true};  ///< a server that it concerns was not told, nor is owed it
  Tally tally{};                   // under the mutex, as what follows
  Roll roll{};                     // newcomers count: the outbox is sent on later connections
  NodeSet refused = 0;             // servers that answered with an error
  Trail unheard{};                 // servers that may have freed it: the reply was lost
};

/// @tparam Request what such a call carries, as its `ask_of()` says
template <class Request>
[[nodiscard]] Request& request_in(const redis::Call& call) noexcept {
  return static_cast<Request&>(*call.operation);
}
template <class Request>
[[nodiscard]] std::shared_ptr<Request> shared_request_in(const redis::Call& call) noexcept {
  return std::static_pointer_cast<Request>(call.operation);
}

/// @return when the vote that an undo or a release would free has ended by itself.
[[nodiscard]] inline Instant end_of_vote(const redis::Call& call) {
  if (ask_of(call) == Ask::free) return request_in<Freeing>(call).until;
  return call.asked + request_in<QuorumAttempt>(call).request().lease;
}

/// An entry of the outbox is forgotten so long after the end of the vote that it would free: by
/// then nothing of it is on its way to the server either (see LateDuplicates).
constexpr std::chrono::minutes kept_after_its_end{2};
/// The same where that end is not known.
constexpr std::chrono::hours kept_without_end{1};
[[nodiscard]] inline Instant end_of_entry(const redis::Call& call) {
  const bool known = ask_of(call) != Ask::free || request_in<Freeing>(call).known;
  return known ? end_of_vote(call) + kept_after_its_end : call.asked + kept_without_end;
}

/// A batch of renewals.
struct Renewing final : QuorumRequest {
  explicit Renewing(std::shared_ptr<Renewal> asked_for)
      : renewal(std::move(asked_for)),
        tallies(renewal->items().size()),
        free(tallies.size()),
        wanted(tallies.size()) {}
  void give_up(const Failure& why) override { renewal->failed(why); }

  const std::shared_ptr<Renewal> renewal;
  Instant asked{};
  NodeSet open = 0;  // under the mutex, as what follows
  Roll roll{};
  std::vector<Tally> tallies;
  std::vector<NodeSet> free;  ///< servers where nobody holds the lock who would exclude it
  std::vector<bool> wanted;   ///< a server says that somebody waits whom it keeps out
  Failure refusal{};          ///< of a server that did not execute it
  bool apart = false;         ///< one of them was refused for the sake of one name
  bool over = false;
};

/// A vote that a hold is to have once more.
struct Relocking final : QuorumRequest {
  Relocking(HoldId wanted, std::chrono::nanoseconds time) : hold(std::move(wanted)), lease(time) {}
  void give_up(const Failure& /*why*/) override {}

  const HoldId hold;
  const std::chrono::nanoseconds lease;
};

/// @return the attempt that a call concerns; null = none, or many.
[[nodiscard]] inline const AttemptId* attempt_of(const redis::Call& call) {
  switch (ask_of(call)) {
    case Ask::take:
    case Ask::settle:
    case Ask::undo: return &request_in<QuorumAttempt>(call).request().attempt;
    case Ask::free: return &request_in<Freeing>(call).release->hold().attempt;
    case Ask::relock: return &request_in<Relocking>(call).hold.attempt;
    case Ask::renew:
    case Ask::look: break;
  }
  return nullptr;
}

/// @return whether it asks for a vote, which the server then gives or has given.
[[nodiscard]] inline bool asks_for_a_vote(const redis::Call& call) noexcept {
  return ask_of(call) == Ask::take || ask_of(call) == Ask::relock;
}
/// @return whether it takes a vote back.
[[nodiscard]] inline bool takes_back(const redis::Call& call) noexcept {
  return ask_of(call) == Ask::undo || ask_of(call) == Ask::free;
}

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

  /// @return whether nobody waits for it any more.
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
  std::vector<Failure> failures{};  ///< what those have said; empty = none has
  Roll roll{};
  std::vector<std::pair<std::size_t, VoteReply>> answers{};
  /// What one server tells of a hold.
  struct Vote {
    std::size_t node = 0;
    HoldId hold{};
    std::string label{};
  };
  std::vector<Vote> votes{};  ///< `queue`: whose they are
};

/// @return what the script that does it is known by on a connection (see redis::LoadedScripts).
[[nodiscard]] inline std::uint8_t script_of(const redis::Call& call) noexcept {
  constexpr std::uint8_t acquire = 0;
  constexpr std::uint8_t share = 1;
  constexpr std::uint8_t settle = 2;
  constexpr std::uint8_t release = 3;
  constexpr std::uint8_t renew = 4;
  constexpr std::uint8_t inspect = 5;
  const auto by_mode = [](Mode mode) { return mode == Mode::shared ? share : acquire; };
  switch (ask_of(call)) {
    case Ask::take: return by_mode(request_in<QuorumAttempt>(call).request().mode);
    case Ask::relock: return by_mode(request_in<Relocking>(call).hold.mode);
    case Ask::settle: return settle;
    case Ask::undo:
    case Ask::free: return release;
    case Ask::renew: return renew;
    case Ask::look: break;
  }
  return inspect;
}

}  // namespace mortise::redlock
