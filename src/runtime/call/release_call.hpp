// SPDX-License-Identifier: MIT
// One call of unlock(): carries out what core/release_course decides. It passes the name to the
// next waiter of this client, or frees it at the server. A key is never passed, because the store
// counts and fences each run. Several calls can be carried out in turns, each until it would sleep.
#pragma once

#include <mortise/error.hpp>
#include <mortise/operation.hpp>
#include <mortise/owner.hpp>

#include "core/release_course.hpp"
#include "runtime/call/release_request.hpp"
#include "runtime/client/closing.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace mortise::runtime {

class Attempt;
class ClientState;
struct KeyEnding;
class Slot;

/// The caller that unlocks.
enum class Unlocking : std::uint8_t {
  owner,
  guard,      ///< one of the guards of the hold
  backs_out,  ///< a caller that got only some of its names: `min_hold` does not apply
};

/// One unlock.
struct Unlock {
  Owner owner;
  Mode mode = Mode::exclusive;  ///< `shared` = of a reader
  Unlocking by = Unlocking::owner;
  KeyEnding* ending = nullptr;  ///< of a run that has an outcome: its record becomes what stands
  /// Of a caller without a thread, which steps the call by `advance()` alone; null for a thread.
  Waker* waker = nullptr;
  bool is_reported = true;  ///< false: the observer never learned of the hold
};

/// Takes the slot's mutex to end the hold, and once more when the release has left: only then may
/// this client ask for the name again, so that its request cannot overtake its release.
class ReleaseCall {
  using Machine = core::ReleaseCourse;
  using Action = Machine::Action;

 public:
  ReleaseCall(Slot& slot, const Unlock& what) noexcept;
  ReleaseCall(const ReleaseCall&) = delete;
  ReleaseCall& operator=(const ReleaseCall&) = delete;
  /// The whole call. @return as `end()`
  Released run(Failure& failure);

  // The same in parts: `sleep()` as long as `advance()` says so, then `end()`.

  /// Does what can be done now. @return whether it has to sleep before it goes on; false = it is
  /// over, and `close()` does not wait for it, because an observer may call `close()`
  [[nodiscard]] bool advance() noexcept;
  /// @return how long it has to sleep at most, in real time.
  [[nodiscard]] core::Nanos sleeps_for() const noexcept { return action_.until - BootClock::now(); }
  /// Not longer than it has to, nor than that. It may end early.
  void sleep(core::Nanos at_most) noexcept;
  /// The caller can wait no longer: the client finishes a request without an answer.
  void hurry() noexcept { hurries_ = true; }
  /// Reports the end to the observer.
  /// @param failure receives `not_owner`; of a key also why the answer is `unknown`
  Released end(Failure& failure);

 private:
  // Each carries an action out. @return the next one
  Action carry_out(Machine::Do what) noexcept;
  Action leave() noexcept;
  Action release() noexcept;
  Action keep() noexcept;
  Action confirm() noexcept;
  /// Looks at the request that has left just now.
  Action look_at_sent() noexcept;
  /// @param sent_again see `Looked`
  Action look(bool sent_again = false) noexcept;
  Action judge(Machine::Looked event) noexcept;
  Action settle() noexcept;
  Action entrust() noexcept;

  void look_after_readers_locked(Instant now) noexcept;
  /// The release has left: the next attempt of this client comes after it.
  /// @param yielded the attempt that left with it, for the next waiter; may be null
  void release_sent(std::shared_ptr<Attempt> yielded) noexcept;
  /// The waiters for a key get the outcome, if it is an answer for them.
  void tell_waiters() noexcept;
  void note_failure(const Machine::Answered& answered) noexcept;
  /// @return why the outcome of a run is unknown.
  [[nodiscard]] Failure why_unknown(Machine::Answered::By by) const;
  [[nodiscard]] ClientState& client() const noexcept;

  /// The state of the name as the call ended the hold.
  struct Seen {
    std::shared_ptr<const core::Terms> successor{};  ///< the terms of the next waiter
    std::uint64_t asked_at = 0;                      ///< `KeyTalk::arrivals`
    Instant at{};                                    ///< by the client's clock
    bool is_misuse = false;                          ///< the owner had nothing to unlock
    bool other_holds = false;                        ///< another owner of the client has the name
  };

  std::shared_ptr<Slot> unpinned_;  // destroyed last: it may be the last reference to the slot
  Slot& slot_;
  const Unlock what_;
  Machine machine_;
  Action action_ = Machine::start();
  bool asleep_ = false;
  bool hurries_ = false;
  std::optional<core::Hold> ended_;  // passed on or freed
  Seen seen_;
  std::optional<Closing::Inside> freeing_;  // the second
  // Most unlocks send nothing, and nearly none fails.
  std::optional<ReleaseRequest> request_;
  std::optional<Failure> failure_;  // why the outcome of a run is unknown
};

}  // namespace mortise::runtime
