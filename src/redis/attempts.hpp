// SPDX-License-Identifier: MIT
// What a client knows of its attempts: which the server was asked for and has not decided, how its
// clock reads beside ours, and which copies of requests may still be under way. Decides what a push
// means; sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "redis/answer.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mortise::redis {

/// A reply told the server's time `at`; our clock was not later than that when it read `asked`.
struct Reading {
  Instant asked{};
  ServerTime at{};

  /// @return a moment of ours that is not later than that one of the server's: the rates of the two
  /// clocks differ by at most 0.1 %.
  [[nodiscard]] Instant not_later_than(ServerTime moment) const noexcept;
};

/// @thread_safety every member may be called concurrently.
class Attempts {
 public:
  using Operation = std::shared_ptr<Acquisition>;

  /// It is asked for now, on this connection (0 = there is none yet).
  /// @return whether copies that were sent on older connections may be on their way
  bool asked(const Operation& operation, std::uint64_t epoch);
  /// The server refused one request for it and has done nothing. Where that was the only one, it is
  /// as if none had been sent.
  void refused(const AttemptId& attempt);
  /// It is taken back. @return whether the server was ever asked; if not, it is forgotten
  bool cancelled(const Operation& operation);
  /// @return whether it was taken back: it must not be asked for any more.
  [[nodiscard]] bool is_cancelled(const AttemptId& attempt) const;
  /// @return whether copies of it may be on their way on older connections.
  [[nodiscard]] bool has_copies(const AttemptId& attempt) const;

  /// A reply said that it waits. @return a push that came before that reply and can be read now
  std::optional<Push> waits(const AttemptId& attempt, const Reading& reading);
  /// It is decided. @param push_may_come a reply told of a grant that was also pushed
  void decided(const AttemptId& attempt, bool push_may_come);
  /// Its hold was released.
  void released(const AttemptId& attempt);

  /// What a push means.
  struct Verdict {
    enum class Kind {
      believe,  ///< the operation has the lock, by that reading
      later,    ///< the reply that makes its time readable is under way
      known,    ///< a reply has told it already
      ghost,    ///< nobody wants it: to be released
    };
    Kind kind = Kind::ghost;
    Operation operation{};
    Reading reading{};
  };
  Verdict granted(const Push& push);
  /// @return the operation of an attempt that is not decided; null = none.
  [[nodiscard]] Operation find(const AttemptId& attempt) const;

  /// The connection broke while a request for the attempt was unanswered.
  void unanswered(const AttemptId& attempt, bool release, Instant now);
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool release_in_doubt(const AttemptId& attempt) const;
  /// The server has been started anew: its clock has to be read anew.
  void forget_readings();
  /// @param newest those that were asked for on this connection are left out; 0 = none
  [[nodiscard]] std::vector<Operation> undecided(std::uint64_t newest = 0) const;

  /// The attempt is the first in its queue, and the holder's lease ends then.
  void look_at(const AttemptId& attempt, Instant when);
  /// @return when the first of those is due.
  [[nodiscard]] Instant next_look() const noexcept;
  /// @return those that are due, once.
  [[nodiscard]] std::vector<Operation> looks(Instant now);

 private:
  struct Pending {
    std::weak_ptr<Acquisition> operation;
    std::uint64_t epoch = 0;  // of the connection that it was asked on last
    int open = 0;             // requests on their way
    bool cancelled = false;
    std::optional<Reading> reading{};
    std::optional<Push> early{};
  };
  struct Stray {
    Instant since{};
    bool release = false;
  };
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  template <class Value>
  using Table = std::unordered_map<AttemptId, Value, Hash>;

  mutable std::mutex mutex_;
  Table<Pending> pending_;
  Table<Stray> strays_;
  Table<bool> told_;  // granted by a reply, and a push of that may yet come
  std::multimap<Instant, AttemptId> looks_;
  std::atomic<Instant::rep> next_look_{never.time_since_epoch().count()};
};

}  // namespace mortise::redis
