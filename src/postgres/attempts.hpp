// SPDX-License-Identifier: MIT
// The attempts of a client: undecided ones, the names that they wait for, and requests of lost
// connections that may still take a hold, or have taken one. Sends nothing.
#pragma once

#include <mortise/operation.hpp>

#include "remote/timer.hpp"
#include "remote/void_moment.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::postgres {

/// @thread_safety every member may be called concurrently.
class Attempts {
 public:
  using Operation = std::shared_ptr<Acquisition>;

  /// @param tickets whether who waits has something at the server that must be taken back
  explicit Attempts(bool tickets);

  /// It is wanted. @return false: it is decided already
  bool wanted(const Operation& operation);
  /// A request for it leaves now.
  void sent(const AttemptId& attempt);
  /// The same, unless one is on its way already, behind which it would come.
  /// @return false: that one is answered, or told of as unanswered and sent once more
  [[nodiscard]] bool sent_alone(const AttemptId& attempt);
  /// One request for it is answered. @return whether the attempt is over
  bool answered(const AttemptId& attempt);
  /// One request for it did not leave.
  void not_sent(const AttemptId& attempt);
  /// It is not asked for once more. Whoever wanted it may have come when it was decided just then:
  /// nobody else forgets it.
  void not_wanted(const AttemptId& attempt);
  /// The connection broke while a request was unanswered that may take the lock for this one, or
  /// has taken it. @param due when a look at the server can show that, at the earliest
  void unanswered(const Operation& taker, const remote::VoidMoment& moment, Instant due) noexcept;
  /// A request for it is answered, and it, or one before it, was executed without an answer that
  /// counts: a look can show what it has taken.
  void executed_in_doubt(const Operation& taker, const remote::VoidMoment& moment) noexcept;
  /// The server has looked whether the attempt holds the lock. @param at when, at the earliest, by
  /// the clock of that number
  void executed(const Operation& taker, remote::ServerTime at, std::uint64_t clock, Instant now);
  /// @return whether a lost request may still take the lock for it, or has taken it.
  [[nodiscard]] bool is_in_doubt(const AttemptId& attempt) const;
  /// @return those that are decided, and that a lost request may have taken the lock for since;
  /// each once, if a look at it is due.
  [[nodiscard]] std::vector<Operation> looks(Instant now);
  /// @return when the next of those is due; `never` = none is.
  [[nodiscard]] Instant next_look() const noexcept { return looks_due_.next(); }
  /// Its look could not be sent: it is one of those again, whenever it is asked for all of them.
  void put_back(const AttemptId& attempt);
  /// The client closes: all are due, even if their requests may still arrive.
  void hurry(Instant now) noexcept;
  /// @return whether a look is due, or on its way.
  [[nodiscard]] bool any_looks(Instant now) const;
  /// The connection broke while a release of its hold was unanswered.
  void release_unanswered(const AttemptId& attempt, Instant now) noexcept;
  /// @return whether a release of its hold may have been executed without our knowing.
  [[nodiscard]] bool release_in_doubt(const AttemptId& attempt) const;

  /// It is taken back. @return whether the server has to be told; if not, it is forgotten
  bool cancelled(const Operation& operation);
  /// @return whether it was taken back, or is decided: it must not be asked for any more.
  [[nodiscard]] bool is_over(const AttemptId& attempt) const;
  void decided(const AttemptId& attempt);
  /// It is wanted, and others come first: it hears of no release before it is asked for.
  /// @return false: it is decided already
  bool gives_way(const Operation& operation);
  /// @return whether that is so still.
  [[nodiscard]] bool gives_way(const AttemptId& attempt) const;
  /// Its caller's time is up. @return whether it gave way until now, and may be asked for once
  [[nodiscard]] bool may_ask_last(const AttemptId& attempt);
  /// @return whether that is so: it does not wait any more.
  [[nodiscard]] bool asks_last(const AttemptId& attempt) const;
  /// Its name may be free. @return whether to ask at once; if not, a request is on its way, and
  /// `told_meanwhile()` says so when it has been answered
  [[nodiscard]] bool told(const AttemptId& attempt);
  [[nodiscard]] bool told_meanwhile(const AttemptId& attempt);
  enum class InVain {
    told_later,  ///< it is told when to come back
    held,        ///< it is not told, and it is not its turn
    locked,      ///< the row was locked: nothing is known
  };
  /// It was answered that it cannot have the lock yet. @return how often in a row it was so. Who
  /// looks by time, and seldom by now, may have met its turn when the row was locked: that counts
  /// by itself, or it would come as late again.
  unsigned looked_in_vain(const AttemptId& attempt, InVain why);

  /// @return whether any is being taken back, or was asked for a last time, and the server has not
  /// answered to that.
  [[nodiscard]] bool any_taken_back() const;
  /// @return whether a request for one that is decided is on its way: it may be granted what nobody
  /// wants any more.
  [[nodiscard]] bool any_left_over() const;
  /// @return whether anybody waits, for whatever name.
  [[nodiscard]] bool anybody_waits() const;
  /// @return those that are neither decided nor taken back.
  [[nodiscard]] std::vector<Operation> undecided() const;
  /// @return the same of one name; `first`: only that attempt, as its 24 bytes, if it is given.
  [[nodiscard]] std::vector<Operation> waiting(const std::string& name,
                                               std::string_view first) const;

 private:
  struct Pending {
    std::weak_ptr<Acquisition> operation;
    std::string name;    // empty: it does not wait
    int open = 0;        // requests on their way
    bool asked = false;  // ever
    bool cancelled = false;
    bool gives_way = false;
    bool asks_last = false;
    bool told = false;  // that the name is free, since the request on its way had left
    unsigned in_vain = 0;
    unsigned locked = 0;  // since then
  };
  /// Requests that were lost. They may still take a hold, or have taken one.
  struct Lost {
    remote::VoidMoment moment{};
    Instant due{};       // no look is of use earlier
    Operation taker{};   // it may have taken the lock for this one
    bool asked = false;  // a look is on its way
  };
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  using Table = std::unordered_map<AttemptId, Pending, Hash>;
  void sent_locked(const AttemptId& attempt);
  void forget_locked(Table::iterator place);
  void forget_done_locked(const AttemptId& attempt);
  /// One request less is on its way.
  void arrived_locked(const AttemptId& attempt);
  void note_lost(const Operation& taker, const remote::VoidMoment& moment, Instant due) noexcept;

  const bool tickets_;
  mutable std::mutex mutex_;
  Table pending_;
  std::unordered_map<AttemptId, int, Hash> left_over_;  // requests on their way, of decided ones
  std::unordered_map<AttemptId, Lost, Hash> lost_;
  std::atomic<bool> any_lost_{false};  // as nearly never
  Instant swept_{};
  remote::Timer<AttemptId> looks_due_;
  std::unordered_map<AttemptId, Instant, Hash> doubtful_releases_;  // since when
  std::uint64_t doubtful_below_ = 0;  // and releases of attempts with smaller sequences
  // From the first request on: a notification may overtake the reply.
  std::unordered_multimap<std::string, AttemptId> names_;
};

}  // namespace mortise::postgres
