// SPDX-License-Identifier: MIT
// What a client knows of its attempts: which the server was asked for and has not decided, which
// are holds, and which copies of requests may still be under way. Decides what a push means; sends
// nothing.
#pragma once

#include <mortise/operation.hpp>

#include "redis/answer.hpp"
#include "redis/reading.hpp"
#include "redis/void_moment.hpp"
#include "remote/timer.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mortise::redis {

/// One record an attempt, from the first request for it until it is over: as a failure, or, where
/// it became a hold, with the answer to its release. Replies and pushes travel by different
/// connections and are read in any order; so what either says of a grant is told apart by the
/// grant's number, which grows, and never by which of them came first.
///
/// The mutex is that of the connection for commands: an attempt is noted in the same step in which
/// its call takes its place among those under way, or leaves it.
/// @thread_safety every member may be called concurrently, but for those that say "under the
/// mutex".
class Attempts {
 public:
  using Operation = std::shared_ptr<Acquisition>;

  explicit Attempts(std::mutex& mutex);

  // Under the mutex: steps of the connection.

  /// It is asked for now, on this connection, unless it was taken back, or is over, or a hold.
  /// @param once not if it was asked for there before, either
  /// @return whether it is
  bool asked(const Operation& operation, std::uint64_t connection, bool once = false);
  /// The server has executed a request for the attempt that takes, or takes back.
  /// @param at when, by the clock of that number
  /// @return whether a late copy may still arrive: a look at it is due later
  bool answered(const AttemptId& attempt, ServerTime at, std::uint64_t clock, Instant now);
  /// @return whether `answered()` may have anything to note; it rarely has.
  [[nodiscard]] bool any_lost() const noexcept { return !lost_.empty(); }
  /// It is a hold since then, and not over before `until` unless it is released. Say so before its
  /// operation is completed: the release may be answered right afterwards.
  /// @return the number of its hold: where a push was quicker, perhaps another one
  std::uint64_t held(const AttemptId& attempt, std::uint64_t number, Instant since, Instant until);
  /// The server has answered the release of this hold.
  /// @return whether an earlier request to release it was not answered, and may have been executed
  bool released(const AttemptId& attempt, std::uint64_t number);

  // Any time.

  /// It is to be asked for as soon as there is a connection.
  void wanted(const Operation& operation);
  /// The server refused one request for it and has done nothing. Where that was the only one, it is
  /// as if none had been sent.
  void refused(const AttemptId& attempt);
  /// It is taken back. @return whether the server was ever asked; if not, it is forgotten
  bool cancelled(const Operation& operation);
  /// The same of one whose caller was told already that it failed: nobody else repeats that.
  bool taken_back(const Operation& operation, Instant now);
  /// @return those that are to be taken back by the next connection; not for ever. One that is
  /// decided was granted a hold that nobody wants, and that is not known to be released.
  [[nodiscard]] std::vector<Operation> to_take_back(Instant now);
  /// @return whether it is one of those.
  [[nodiscard]] bool is_to_be_taken_back(const AttemptId& attempt) const;
  /// @return whether it must not be asked for any more: it was taken back, or it is over, or a
  /// hold.
  [[nodiscard]] bool is_withdrawn(const AttemptId& attempt) const;

  /// A reply said that it waits. @param number the last that was granted: no grant up to that one
  /// is this attempt's any more; 0 = not known
  /// @return a push that came before that reply, can be read now, and is none of those
  std::optional<Push> waits(const AttemptId& attempt, const Reading& reading, std::uint64_t number);
  /// The same reply said that it has a place in the queue.
  void placed(const AttemptId& attempt, Instant now);
  /// @return whether any attempt may have a place.
  [[nodiscard]] bool any_places() const noexcept { return any_places_.load(); }
  /// It asks again. One request renews its place, and those of others that wait.
  /// @return all of them; none = it has to ask alone. Nothing = its place was renewed just now
  [[nodiscard]] std::optional<std::vector<Operation>> to_place(const Operation& asks, Instant now);
  /// @return when the first place is to be renewed whose turn was left out
  [[nodiscard]] Instant next_place() const noexcept { return places_due_.get(); }
  /// @return a waiter whose turn was left out, and whose place nobody has renewed since; null =
  /// none
  [[nodiscard]] Operation unplaced(Instant now);
  /// It waits for a key, and was told that this grant of the key has ended with a conclusion.
  void told(const AttemptId& attempt, std::uint64_t concluded);
  /// @return the conclusion that it was told of last; 0 = none.
  [[nodiscard]] std::uint64_t concluded(const AttemptId& attempt) const;
  /// The same reply, where the attempt is known to hold by then: whatever it held up to that number
  /// is over. @return the number of its hold, if it was thought to stand
  std::optional<std::uint64_t> ends(const AttemptId& attempt, std::uint64_t number, Instant now);
  /// Its operation is done. A reply and a push, read by two threads, may each have brought it a
  /// grant: which of them it took is known only now, and the record is of that one.
  void completed(const Acquisition& operation);
  /// @return whether a grant of it is known; its operation is done then, or will be at once.
  [[nodiscard]] bool is_decided(const AttemptId& attempt) const;
  /// The library says that those are renewed.
  void renewed(const std::vector<Renewal::Item>& items);
  /// It is over, and no hold. Say so after its operation was completed, or it could be asked for
  /// once more in between.
  void over(const AttemptId& attempt);
  /// Its release is about to be sent, and may take long.
  void leaves(const HoldId& hold);
  /// @return whether it is a hold, not over and not to be released, as far as is known.
  [[nodiscard]] bool stands(const HoldId& hold, Instant now) const;
  /// Replicas have what was granted (`replicas=n`). Of one grant more than one answer may tell, and
  /// of each they are asked; which of their words comes first, counts.
  /// @return whether it may be told: it stands, and was not given back
  [[nodiscard]] bool attested(const HoldId& hold, Instant now);
  /// They do not have it in time, or it is over: from now on it stands for nobody.
  /// @return whether it is to be given back: it was not told, and is not on its way back already
  [[nodiscard]] bool unattested(const HoldId& hold);
  /// Its release will not be said any more, and it is over at the server by now: its attempt may be
  /// asked for anew.
  void left(const HoldId& hold);
  /// @return the number of the attempt's hold; 0 = it is not decided.
  [[nodiscard]] std::uint64_t number_of(const AttemptId& attempt) const;
  /// The server does not know that hold any more.
  void gone(const HoldId& hold, Instant now);
  /// As if the release of that hold were answered (of a mutant only).
  void forget(const HoldId& hold);

  /// What a push means.
  struct Verdict {
    enum class Kind {
      believe,         ///< the operation has the lock, by that reading
      later,           ///< the reply that makes its time readable is under way
      unreadable,      ///< by the clock of a server of which no reply is: to be asked for
      known,           ///< told before, or of a grant that is over
      orphaned_grant,  ///< nobody wants it: to be released
    };
    Kind kind = Kind::orphaned_grant;
    Operation operation{};
    Reading reading{};
  };
  Verdict granted(const Push& push);
  /// @return the operation of an attempt that is not decided; null = none.
  [[nodiscard]] Operation find(const AttemptId& attempt) const;

  /// A connection broke while a request was unanswered that may have taken the lock for this one.
  /// @param due when a look at the server can show what it took, at the earliest
  void unanswered(const Operation& taker, const VoidMoment& moment, Instant due) noexcept;
  /// The same of a request to release that hold.
  void release_unanswered(const HoldId& hold, Instant now) noexcept;
  /// Attempts that are decided, and that no request asks for any more. A request that was lost may
  /// have taken the lock for them since. @return each once, if a look at it is due
  [[nodiscard]] std::vector<Operation> leftovers(Instant now);
  /// @return when the next of those is due; `never` = none is.
  [[nodiscard]] Instant next_leftover() const noexcept { return leftovers_due_.next(); }
  /// @return the same of this attempt; null = there is nothing to look at, or not yet.
  [[nodiscard]] Operation leftover(const AttemptId& attempt, Instant now);
  /// @return whether that is still to be looked at for this one, or it is to be taken back.
  [[nodiscard]] bool is_leftover(const AttemptId& attempt) const;
  /// The look failed: it is one of the `leftovers()` again.
  void put_back(const AttemptId& attempt);
  /// The look found no hold of it.
  void has_nothing(const AttemptId& attempt);
  /// No look at it will succeed: what it has, if anything, ends with its lease.
  void give_up_leftover(const AttemptId& attempt);
  /// The client closes: all leftovers are due, even if their requests may still arrive.
  void hurry(Instant now);
  /// @return whether one is being taken back of which its caller was told already that it failed,
  /// or whether there are leftovers that are looked at before `until`.
  [[nodiscard]] bool takes_back(Instant now, Instant until = never) const;
  /// @param newest those that were asked for on this connection are left out; 0 = none
  [[nodiscard]] std::vector<Operation> undecided(std::uint64_t newest = 0) const;

  /// The attempt is the first in its queue, and the holder's lease ends then.
  void look_at(const AttemptId& attempt, Instant when);
  /// @return when the first of those is due.
  [[nodiscard]] Instant next_look() const noexcept { return looks_.next(); }
  /// @return those that are due, once.
  [[nodiscard]] std::vector<Operation> looks(Instant now);
  /// @return how many attempts are remembered.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Record {
    std::weak_ptr<Acquisition> operation{};  // until it is decided
    std::uint64_t connection = 0;            // that it was asked on last
    int open = 0;                            // requests on their way
    bool cancelled = false;
    bool told = false;              // of the mutant only
    bool leaves = false;            // a hold whose release was asked for, or that is given back
    bool release_in_doubt = false;  // a request for that was not answered
    bool attested = false;          // ... that replicas have, and that is told
    Operation taken_back{};  // its caller has gone; kept until nothing of it is at the server
    Instant since{};         // ... and that was then
    std::optional<Reading> reading{};
    std::optional<Push> early{};
    std::uint64_t seen = 0;       // what was granted up to here is over
    std::uint64_t concluded = 0;  // the number of a conclusion that answers it
    std::uint64_t number = 0;     // of the hold; 0 = undecided
    Instant until{};              // of the hold, if nothing renews it
    Instant placed{};             // when its place in the queue was asked for; unset = it has none
    bool skipped = false;         // its last turn to ask was left out

    [[nodiscard]] bool decided() const noexcept { return number != 0; }
    /// It is a hold: nobody looks for its operation here any more, whose memory, in one piece with
    /// the count of its references, would stay as long as the weak one does.
    void decide(std::uint64_t grant, Instant end) noexcept;
    /// @return whether what it was told is of the server that this comes from.
    [[nodiscard]] bool is_of_its_server(const Push& push) const noexcept;
    [[nodiscard]] bool is_over(const Push& push) const noexcept;
    /// @return whether its time can be read, and it comes from whom that reading is of.
    [[nodiscard]] bool reads(const Push& push) const noexcept;
    /// It cannot be read yet.
    void keep(const Push& push);
    [[nodiscard]] bool tried_enough(Instant now) const noexcept;  // of `taken_back`
  };
  /// A lost request that may still take, or has taken.
  struct Lost {
    VoidMoment moment{};
    Instant due{};       // no look is of use earlier
    Operation taker{};   // it may have taken the lock for this one
    bool asked = false;  // a look is on its way
  };
  struct Hash {
    std::size_t operator()(const AttemptId& id) const noexcept { return id.sequence; }
  };
  using Records = std::unordered_map<AttemptId, Record, Hash>;

  [[nodiscard]] Record& record_of(const AttemptId& attempt);
  void erase(Records::iterator record) noexcept;
  void sweep(Instant now);
  [[nodiscard]] bool cancelled_locked(const Operation& operation);
  [[nodiscard]] bool is_to_be_taken_back_locked(const AttemptId& attempt) const;
  [[nodiscard]] bool is_undecided_locked(const AttemptId& attempt) const;
  [[nodiscard]] Operation leftover_locked(Lost& lost, Instant now) const;

  std::mutex& mutex_;
  Records records_;
  std::vector<Records::node_type> spare_;  // of records that are over: most live for one request
  std::size_t sweep_at_ = 1024;
  std::unordered_map<AttemptId, Lost, Hash> lost_;  // as nearly always empty
  remote::Timer<AttemptId> leftovers_due_;
  remote::Moment places_due_;
  std::atomic<bool> any_places_{false};
  remote::Timer<AttemptId> looks_;
};

}  // namespace mortise::redis
