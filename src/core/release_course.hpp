// SPDX-License-Identifier: MIT
// One call of unlock() as a machine: what happened goes in, what is to be done comes out. It needs
// no thread's frame, and nothing in it waits. runtime/release_call carries its actions out.
#pragma once

#include <mortise/operation.hpp>

#include "core/name_state.hpp"

#include <cstdint>

namespace mortise::core {

/// `start()` is the first action, and each event the answer to the action before it.
class ReleaseCourse {
 public:
  /// The subject of the call.
  struct Plan {
    bool concludes = false;  ///< it records the outcome of a run
    /// The runner has written the outcome itself: it may stand although the hold is over.
    bool written = false;
    Nanos lease{};  ///< of the run; 0 for a lock
  };

  enum class Do : std::uint8_t {
    leave,    ///< end the hold in the client -> Left
    release,  ///< send a release, or the outcome of a run -> Looked
    keep,     ///< report to the store how long the name stays reserved -> Looked
    confirm,  ///< ask whether the outcome stands that the runner has written -> Looked
    repeat,   ///< send the last request again -> Looked
    await,    ///< sleep until the request has news, or `until` -> Looked
    settle,   ///< take the answer -> Answered
    entrust,  ///< leave the request to the client, which repeats it -> `step()`
    end,      ///< report `outcome()`
  };
  struct Action {
    Do what = Do::leave;
    Instant until = never;
  };

  struct Left {
    NameState::Exit exit = NameState::Exit::not_owner;
    bool keeps = false;  ///< the hold is younger than its `min_hold`
    Nanos lease{};       ///< of the hold that ended
  };
  struct Looked {
    enum class Request : std::uint8_t {
      pending,
      unanswered,  ///< it is over without an answer
      over,        ///< answered, or never sent for want of memory
    };
    Request request = Request::pending;
    bool impatient = false;   ///< the caller may wait no longer
    bool sent_again = false;  ///< after `repeat`: a second copy of the request has left
    Instant now{};            ///< unused if it is over
  };
  struct Answered {
    enum class By : std::uint8_t { nothing, failure, released, was_lost };
    By by = By::nothing;
    bool gone = false;          ///< nothing of the request is left to be repeated
    bool lease_stands = false;  ///< by the client's clock
  };

  explicit ReleaseCourse(const Plan& plan) noexcept : plan_(plan) {}
  [[nodiscard]] static Action start() noexcept { return {}; }
  Action step(const Left& event) noexcept;
  Action step(const Looked& event) noexcept;
  Action step(const Answered& event) noexcept;
  Action step() noexcept { return {.what = Do::end}; }

  /// @return what the call has found.
  [[nodiscard]] Released outcome() const noexcept { return outcome_; }
  /// @return whether a missing answer is the fault of the store: the call has waited for it.
  [[nodiscard]] bool had_its_time() const noexcept { return had_its_time_; }

 private:
  [[nodiscard]] Released released_or_lost(const Answered& event) const noexcept;

  const Plan plan_;
  Nanos patience_{};  // for one request
  Instant until_ = never;
  bool keeps_ = false;
  bool ends_hold_ = false;
  bool may_repeat_ = true;
  bool repeated_ = false;
  bool had_its_time_ = true;
  Released outcome_ = Released::unknown;
};

}  // namespace mortise::core
