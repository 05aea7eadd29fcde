// SPDX-License-Identifier: MIT
// One call of lock() as a machine: what happened goes in, what is to be done comes out. It needs no
// thread's frame; runtime/acquire_call carries its actions out in the calling thread.
#pragma once

#include <mortise/operation.hpp>

#include "core/ask_schedule.hpp"
#include "core/name_state.hpp"

#include <optional>

namespace mortise::core {

/// `start()` is the first action, and each event the answer to the action before it.
class Acquire {
 public:
  /// What the call asks for.
  struct Plan {
    Instant began{};
    Nanos wait{};     ///< zero or less: one try
    Nanos give_up{};  ///< how long it bears trouble where it would wait without end; 0 = for ever
    Nanos lease{};
    bool queues = true;  ///< false: it waits for an answer, and for nobody who holds the name
  };

  enum class Do : std::uint8_t {
    enter,      ///< the name's state -> Entered
    look,       ///< whether it is called; note first what ends the next sleep -> Turn
    park,       ///< sleep until it is called, or `until`; then look
    take_over,  ///< the hold that it was passed, if that stands -> Passed
    begin,      ///< to be one of those who ask the server -> Begun
    ask,        ///< hand over an attempt, a new one where there is none -> Asked
    check,      ///< how the attempt stands; note first what ends the next sleep -> Standing
    await,      ///< sleep until the attempt has news, or `until`; then check
    ask_again,  ///< for the same attempt -> AskedAgain
    settle,     ///< the attempt is decided -> Decided
    accept,     ///< make a hold of the grant, or give it back -> Accepted
    pass_on,    ///< the attempt, to the next waiter of this process -> PassedOn
    take_back,  ///< the attempt, in the time that there is for it -> TakenBack
    leave,      ///< give up its place, and end
    end,        ///< say `end`
  };
  enum class End : std::uint8_t {
    reentered,   ///< success
    granted,     ///< success, to be told
    lost,        ///< an earlier hold of the owner is not unlocked
    upgrade,     ///< the owner is a reader, and would wait for itself
    differs,     ///< the owner asks for one of another number of permits
    closed,      ///< the client was
    cannot_ask,  ///< what `begin` has failed with
    failed,      ///< what the attempt has failed with
    contended,   ///< somebody else holds the name; `why` ended the wait
    trouble,     ///< what keeps the server from answering
    no_answer,   ///< the same, where nobody knows what
    in_doubt,    ///< sent, and neither answered nor known to be gone
    nonsense,    ///< a number that no server may grant
    too_late,    ///< grants come after their lease has ended
    recorded,    ///< no hold: it has what is remembered of the key
  };
  /// Why a caller stops waiting.
  enum class Why : std::uint8_t { none, closed, cancelled, timeout };
  struct Action {
    Do what = Do::end;
    Instant until = never;
    End end = End::closed;
    Why why = Why::none;
  };

  /// What can be seen at any moment.
  struct View {
    Instant now{};
    bool alive = true;     ///< the client
    bool stopped = false;  ///< by the caller's stop token
  };
  struct Entered {
    NameState::Entry entry = NameState::Entry::ask;
    bool requester_in_trouble = false;
  };
  /// With a reason to leave it has left the local queue, unless it was called before that.
  struct Turn {
    Waiter::Wakeup wakeup = Waiter::Wakeup::none;
    Why why = Why::none;
    bool requester_in_trouble = false;
  };
  struct Passed {
    bool stands = false;
    View view{};
  };
  struct Begun {
    bool may_ask = true;
    bool asked = false;  ///< the attempt was sent by whoever had it before
    View view{};
  };
  struct Asked {
    Instant last{};  ///< for that attempt, by whoever had it
    std::uint64_t seed = 0;
  };
  struct Standing {
    bool done = false;
    bool in_trouble = false;
    Acquisition::Progress progress = Acquisition::Progress::unsent;
    View view{};
  };
  struct AskedAgain {
    Instant now{};
  };
  enum class Decided : std::uint8_t { failed, busy, granted, recorded };
  struct Accepted {
    enum class As : std::uint8_t { hold, closed, nonsense, late };
    As as = As::hold;
    View view{};
  };
  struct PassedOn {
    enum class To : std::uint8_t {
      nobody,
      successor,
      itself,  ///< it is decided, or what ends the wait is a trouble that is over
    };
    To to = To::nobody;
    bool trouble = false;
    bool queued = false;  ///< the server has said that somebody else holds the name
    Instant now{};
  };
  struct TakenBack {
    bool granted = false;  ///< it was too late
    bool recorded = false;
    bool gone = false;  ///< nothing of it is left at the server
    bool trouble = false;
    Acquisition::Progress progress = Acquisition::Progress::unsent;  ///< before that
    Instant now{};
  };

  explicit Acquire(const Plan& plan) noexcept;
  [[nodiscard]] bool may_wait() const noexcept { return may_wait_; }
  [[nodiscard]] Instant began() const noexcept { return plan_.began; }
  /// @return when its time is up.
  [[nodiscard]] Instant until() const noexcept { return until_; }
  /// @return why it is not to wait any longer for its turn.
  [[nodiscard]] Why reason_to_leave(const View& view) const noexcept;

  [[nodiscard]] static Action start() noexcept { return {.what = Do::enter}; }
  Action step(const Entered& event) noexcept;
  Action step(const Turn& event) noexcept;
  Action step(const Passed& event) noexcept;
  Action step(const Begun& event) noexcept;
  Action step(const Asked& event) noexcept;
  Action step(const Standing& event) noexcept;
  Action step(const AskedAgain& event) noexcept;
  Action step(Decided event) noexcept;
  Action step(const Accepted& event) noexcept;
  Action step(const PassedOn& event) noexcept;
  Action step(const TakenBack& event) noexcept;

  /// It goes on with the attempt of a caller that has been in trouble since then.
  void inherit(std::optional<Instant> trouble_since) noexcept;
  [[nodiscard]] std::optional<Instant> trouble_since() const noexcept { return trouble_since_; }

 private:
  [[nodiscard]] Why reason_to_give_up(const View& view) const noexcept;
  void note_trouble(bool in_trouble, Instant now) noexcept;
  [[nodiscard]] Action ends_waiting(Do what) const noexcept;
  [[nodiscard]] Action ends_unanswered(Do what, Instant now) const noexcept;

  const Plan plan_;
  const bool may_wait_;
  const Instant until_;
  Instant asks_since_{};  // the server; before that it waited for others of this process
  std::optional<AskSchedule> schedule_;
  std::optional<Instant> trouble_since_;
  Why why_ = Why::none;  // it gives up
};

}  // namespace mortise::core
