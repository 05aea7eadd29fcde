// SPDX-License-Identifier: MIT
// The requests that the library hands to a backend. Each is an object that the backend completes,
// at once or later, from any thread; the calling thread sleeps on it, or helps the backend.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/error.hpp>
#include <mortise/export.hpp>
#include <mortise/holder.hpp>
#include <mortise/mode.hpp>
#include <mortise/record.hpp>
#include <mortise/token.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise {

/// Names one acquisition attempt for ever: 128 random bits of the client and a counter. A request
/// that is repeated carries the same id, so that the server sees that it is the same one.
struct AttemptId {
  std::uint64_t client_high = 0;
  std::uint64_t client_low = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
  /// @return 48 hexadecimal digits.
  [[nodiscard]] MORTISE_API std::string text() const;
};

/// A lease without end.
inline constexpr std::chrono::nanoseconds no_lease = std::chrono::nanoseconds::max();

/// What a server granted.
struct Grant {
  std::uint64_t number = 0;  ///< grows at each change of owner of the name; 1 to 2^53 - 1
  /// A moment that is not later than the one from which the server counts the lease: the clock
  /// before the request was *first* sent, never the clock at its reply.
  Instant counted_from{};
  std::chrono::nanoseconds lease = no_lease;  ///< as the server counts it, from then on
  bool fixed = false;  ///< the backend decides the lease: no renewal brings the one that was asked
  std::uint64_t run =
      0;  ///< `Mode::once`: the number of the run, from 1; the same when asked again
};

/// @return the token of a hold with that grant number, as `Holder::token` has it. (The library
/// gives those that follow, up to the next grant's, to the threads of a client that pass the hold
/// on.)
[[nodiscard]] constexpr Token token_of(std::uint64_t number) noexcept {
  return Token(number * 1024);
}

/// The exact hold that a renewal or a release acts for.
struct HoldId {
  std::string name{};
  AttemptId attempt{};
  std::uint64_t number = 0;
  Mode mode = Mode::exclusive;
};

/// What all requests share: done or not, and a word to sleep on.
///
/// @thread_safety every member may be called concurrently.
class MORTISE_API Operation : public std::enable_shared_from_this<Operation> {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation();

  /// @return whether it was completed; its result may be read then.
  [[nodiscard]] bool done() const noexcept { return (signal_.load() & done_bit) != 0; }
  /// @return a number that changes when the operation completes or is poked. Read it *before* the
  /// conditions that you wait for, and hand it to `sleep()`.
  [[nodiscard]] std::uint32_t signal() const noexcept { return signal_.load(); }
  /// The word behind `signal()`, for backends that sleep on more than one (`futex_waitv`). Ask for
  /// it before each sleep, and before the last look at `signal()`.
  [[nodiscard]] const std::atomic<std::uint32_t>& word() const noexcept {
    slept_on_.store(true);
    return signal_;
  }
  /// Sleeps until the signal is not `seen`, or the time is up. May return early.
  void sleep(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept;
  /// Wakes whoever sleeps, without completing the operation.
  void poke() noexcept;

  /// Also writes to an eventfd at completion and at each poke, for a caller that polls; -1 = not.
  /// Set it, then compare `signal()` again, then poll.
  void nudge_through(int eventfd) noexcept { nudge_.store(eventfd); }

  /// @return whether every reply has come that was asked for, so that only a push can complete it:
  /// whoever waits for it then leaves the reading of replies to those who await one.
  [[nodiscard]] virtual bool awaits_push() const noexcept { return false; }

  /// Tells the library what keeps the request from being answered ("connection refused"), so that
  /// the caller gets it as the reason when its time is up. `Failure{}` = no trouble any more.
  void trouble(Failure why);
  /// @return the trouble reported last, if there is one now.
  [[nodiscard]] std::optional<Failure> trouble() const;
  /// @return whether there is one now.
  [[nodiscard]] bool in_trouble() const noexcept { return in_trouble_.load(); }

  /// Completes the operation with a failure. A second completion of any kind is ignored.
  void failed(Failure why);
  /// @return the failure it was completed with, if any.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 protected:
  /// Claims the right to complete; only the first caller gets it and may write the result.
  [[nodiscard]] bool begin_completion() noexcept { return !completing_.exchange(true); }
  /// Publishes the result and wakes the sleeper.
  void finish() noexcept;
  /// Runs once, after completion, on the completing thread. Must be short.
  virtual void finished() noexcept {}

 private:
  void wake() noexcept;

  static constexpr std::uint32_t done_bit = 1;
  std::atomic<std::uint32_t> signal_{0};
  // Whether anybody ever slept: most requests are answered first, and then need no system call.
  mutable std::atomic<bool> slept_on_{false};
  std::atomic<int> nudge_{-1};
  std::atomic<bool> completing_{false};
  Failure failure_;
  std::atomic<bool> in_trouble_{false};
  mutable std::mutex trouble_mutex_;
  std::optional<Failure> trouble_;
};

/// "Make this attempt the owner of the name." Pending until granted, busy, or failed; of a key,
/// also until it is told what is remembered.
///
/// A reader (`Mode::shared`) is granted the name beside other readers, where nobody holds it
/// exclusively and nobody who wants that waits before it: each mode waits behind the other in order
/// of arrival. When the name becomes free for readers, all that lead the queue are granted it. Each
/// of their grants has a number of its own, so that a reader's is larger than that of every writer
/// before it, and smaller than the next one's; but whoever goes on from its own exclusive hold may
/// have the number of that. A client has one shared hold of a name at a time, but for the moment in
/// which a release is under way.
///
/// A permit (`Mode::permit`) is granted while fewer than `Request::permits` are held, and nobody
/// waits before it; each is a hold of its own, by an attempt of its own, and a client may have
/// several. One that comes free is granted to the first who waits.
///
/// A key (`Mode::once`) is judged by `Request::memory` and its record, each time that it is asked
/// for, and again for each waiter when the key becomes free (`core::judge` is the rule in C++):
/// - another fingerprint than the record's: `recorded()`, whoever holds the key, without the bytes;
/// - held: as a lock: the waiter is queued, or told `busy`;
/// - an outcome that the request does not repeat: `recorded()`, and it is not (or no longer)
/// queued;
/// - else granted as a lock is: the record becomes `pending`, with `Record::run` one more (from 1),
///   and is kept until `Memory::keep` from then on, and as long as it is held.
/// So a conclusion wakes every waiter that it answers, and one waiter with a grant at most.
class MORTISE_API Acquisition : public Operation {
 public:
  struct Request {
    AttemptId attempt{};
    std::string name{};
    Mode mode = Mode::exclusive;
    std::chrono::nanoseconds lease{};  ///< what the caller asked for
    std::string label{};
    bool wait = false;  ///< queue at the server until granted; otherwise answer at once
    /// `Mode::permit`: how many there are, from 1; 0 for every other. While somebody holds or waits
    /// at the server, whoever asks with another number is answered `misconfigured`, with both.
    std::uint32_t permits = 0;
    std::shared_ptr<const Memory> memory{};  ///< `Mode::once`; null for every other
    /// `Mode::shared`: the attempt of an exclusive hold of the same client. Where that stands at
    /// the server, it does not exclude this request, nor does whoever waits behind it: the owner of
    /// both goes on as a reader (a downgrade). Where it does not, it is as if it had not been
    /// named.
    std::optional<AttemptId> beside{};
  };
  /// How far it got, for an honest answer when the caller's time is up first.
  enum class Progress : std::uint8_t {
    unsent,  ///< no byte left this process: the attempt has no effect
    sent,    ///< it may have reached the server
    queued,  ///< the server answered that somebody else holds the name
  };

  explicit Acquisition(Request request) : request_(std::move(request)) {}
  [[nodiscard]] const Request& request() const noexcept { return request_; }

  /// Notes that the request leaves now, each time. @return when it *first* left: the base of its
  /// lease.
  Instant sent(Instant now) noexcept;
  /// Notes the answer "held by somebody else, you wait".
  void queued(std::optional<Holder> holder);
  /// @return how far it got.
  [[nodiscard]] Progress progress() const noexcept { return progress_.load(); }
  /// @return whether it is queued, and was not asked again since that was told.
  [[nodiscard]] bool awaits_push() const noexcept override { return queued_.load(); }
  /// @return who held the name when that was last told.
  [[nodiscard]] std::optional<Holder> holder() const;

  /// Completes it: the attempt owns the name.
  void granted(const Grant& grant);
  /// Completes it: somebody else holds the name, and the attempt is not queued (or no longer).
  void busy(std::optional<Holder> holder);
  /// Completes it: an administrator has ended what the servers were granting it, before its client
  /// knew, and they take nothing more of this attempt. It has no effect, and is not queued (or no
  /// longer); whoever waits for it asks anew, as another attempt.
  void forced_out();
  /// @return whether it was completed so.
  [[nodiscard]] bool was_forced_out() const noexcept { return forced_out_; }
  /// @return the grant; its number is 0 where there was none.
  [[nodiscard]] const Grant& grant() const noexcept { return grant_; }
  /// Completes it: no grant is needed, or none can be had, by what is remembered of the key. The
  /// attempt has no effect, and is not queued (or no longer).
  void recorded(std::shared_ptr<const Record> record);
  /// @return that record; null where it was completed otherwise.
  [[nodiscard]] const std::shared_ptr<const Record>& record() const noexcept { return record_; }

 private:
  Request request_;
  Grant grant_;
  std::shared_ptr<const Record> record_;
  bool forced_out_ = false;
  std::atomic<Instant::rep> first_sent_{0};
  std::atomic<Progress> progress_{Progress::unsent};
  std::atomic<bool> queued_{false};  // and no reply is under way
  mutable std::mutex holder_mutex_;
  std::optional<Holder> holder_;
};

/// "Move the deadlines of these holds." Up to 128 at once.
///
/// Each ends when the lease that is asked for here has passed, also where that is sooner than it
/// would have ended, or much later: up to 24 h. A backend whose server does so says
/// `Capabilities::min_hold`; the client may be gone by then.
class MORTISE_API Renewal : public Operation {
 public:
  enum class Answer : std::uint8_t {
    unknown,  ///< not learned: tried again inside the lease
    renewed,  ///< counted from `counted_from`
    lost,     ///< the server does not know this hold any more
  };
  struct Item {
    HoldId hold{};
    std::chrono::nanoseconds lease{};     ///< the lease that is asked for
    Answer answer = Answer::unknown;      ///< set by the backend before `answered()`
    Instant counted_from{};               ///< the clock before the request was sent
    std::chrono::nanoseconds granted{0};  ///< the lease that the server set
    /// Of a shared hold that stands: somebody waits at the server whom it keeps out, so that no
    /// further reader of its client may join it.
    bool wanted = false;
  };
  explicit Renewal(std::vector<Item> items) : items_(std::move(items)) {}
  /// The holds; the backend fills in each answer.
  [[nodiscard]] std::vector<Item>& items() noexcept { return items_; }
  /// Completes it; items left `unknown` are repeated by the library.
  void answered();

 private:
  std::vector<Item> items_;
};

/// "Free this hold", and, where a successor is given, in the same request: hand over to the next
/// waiter at the server and queue the successor at the tail; or, where nobody waits, grant it.
///
/// A release of a key (`HoldId::mode` once) has no successor. With a conclusion it writes that into
/// the record in the same atomic step, where exactly this hold is live (attempt and number match,
/// and its lease is not over by the server's clock), and the key is kept for `Memory::keep` from
/// then on. The record remembers the attempt and the number of who wrote it, so that the same
/// release, said again because its reply was lost, is answered `released` as long as the record
/// stands, and changes nothing. Without a conclusion the key is freed and stays pending.
///
/// Where the runner has written an outcome by itself (`Conclusion::written`), and that stands, it
/// stays, and this ends with `stands()`. Where it does not, a conclusion of another state is
/// written, as ever; one of the same state is not: the key is freed, stays pending, and the answer
/// is `was_lost`. It is asked for also by a runner whose lease is over.
class MORTISE_API Release : public Operation {
 public:
  explicit Release(HoldId hold, std::shared_ptr<Acquisition> successor = nullptr)
      : hold_(std::move(hold)), successor_(std::move(successor)) {}
  Release(HoldId hold, std::shared_ptr<const Conclusion> conclusion)
      : hold_(std::move(hold)), conclusion_(std::move(conclusion)) {}
  [[nodiscard]] const HoldId& hold() const noexcept { return hold_; }
  /// The attempt of this process that takes the next turn (a *yield*), or null.
  [[nodiscard]] const std::shared_ptr<Acquisition>& successor() const noexcept {
    return successor_;
  }
  /// What is written about a key, or null.
  [[nodiscard]] const std::shared_ptr<const Conclusion>& conclusion() const noexcept {
    return conclusion_;
  }
  /// Completes it. With a conclusion: `released` = it is recorded, `was_lost` = nothing is. A
  /// backend that has sent it more than once, and finds neither the hold nor its own record, fails
  /// it with `in_doubt`: the first one may have been recorded, and a later run have replaced that.
  /// So does one that finds neither its hold nor what its runner has written by itself.
  void answered(Released outcome);
  /// Completes it: `released`, and what is recorded is `Conclusion::written`.
  void stands();
  /// @return whether that is so.
  [[nodiscard]] bool stood() const noexcept { return stood_; }
  /// @return the outcome; `unknown` until it is done, and where it failed.
  [[nodiscard]] Released outcome() const noexcept { return outcome_; }

 private:
  HoldId hold_;
  std::shared_ptr<Acquisition> successor_;
  std::shared_ptr<const Conclusion> conclusion_;
  Released outcome_ = Released::unknown;
  bool stood_ = false;
};

/// "Who holds this name?"
class MORTISE_API Inspection : public Operation {
 public:
  explicit Inspection(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Completes it; empty = free.
  void answered(std::optional<Holder> holder);
  /// @return the answer.
  [[nodiscard]] const std::optional<Holder>& holder() const noexcept { return holder_; }

 private:
  std::string name_;
  std::optional<Holder> holder_;
};

/// "What is remembered of this key?", or "forget it".
class MORTISE_API Recollection : public Operation {
 public:
  enum class Kind : std::uint8_t {
    look,
    forget,  ///< unless it is held: then nothing changes. Said again, it finds nothing to forget
  };
  Recollection(Kind kind, std::string key) : kind_(kind), key_(std::move(key)) {}
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  /// Completes it, with the record as it was found, `Record::held` included.
  void answered(std::shared_ptr<const Record> record);
  /// @return the answer; null until it is done, and where it failed.
  [[nodiscard]] const std::shared_ptr<const Record>& record() const noexcept { return record_; }

 private:
  Kind kind_;
  std::string key_;
  std::shared_ptr<const Record> record_;
};

/// "Can locks be taken?" Completed with success, or with the failure that prevents it.
class MORTISE_API Check : public Operation {
 public:
  /// Completes it with success.
  void answered();
};

}  // namespace mortise
