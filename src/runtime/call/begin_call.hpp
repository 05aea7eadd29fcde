// SPDX-License-Identifier: MIT
// One call of `Once::begin()`: what a caller may know without asking, what it asks the store, and
// what it gets in the end. A thread carries the call out, or a call without a thread steps it.
#pragma once

#include <mortise/operation.hpp>
#include <mortise/options.hpp>
#include <mortise/run.hpp>

#include "core/figures.hpp"
#include "runtime/call/acquire_call.hpp"
#include "runtime/call/asking.hpp"
#include "runtime/call/key_talk.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace mortise::runtime {

class OpenRun;
class Slot;

/// The key that a call begins, and how.
struct Beginning {
  std::shared_ptr<Slot> slot;
  std::shared_ptr<const core::Terms> terms;
  std::shared_ptr<const Memory> memory;
  core::Nanos wait{};
  std::stop_token stop{};
};

/// Lives in the frame of the calling thread, or in a `PendingBegin`. From the grant on, the run in
/// it has the key, and gives it back if no caller takes the run.
class BeginCall {
 public:
  /// @param waker of a call without a thread, which is stepped by `advance()` alone; null for a
  /// thread
  BeginCall(Beginning what, Grace& grace, Waker* waker);
  BeginCall(const BeginCall&) = delete;
  BeginCall& operator=(const BeginCall&) = delete;
  ~BeginCall();
  /// The whole call. @param run gets what `end()` returns
  void run(Run& run);

  // The same in parts: `sleep()` as long as `advance()` says so, then `end()`.

  /// Does what can be done now. @return whether it has to sleep before it goes on; false = it is
  /// over
  [[nodiscard]] bool advance();
  void sleep();
  /// @return for how long at most.
  [[nodiscard]] core::Nanos sleeps_for() noexcept;
  /// Reports to the observer, once, that the call waits for the key.
  void report_wait() noexcept;
  /// Reports the end to the observer. @return the run, open or not
  [[nodiscard]] Run end();
  /// Leaves whatever it takes part in, after one of those has thrown.
  void forsake();

 private:
  enum class Phase : std::uint8_t { learn, recall, ask, wait, over };

  // Each carries a phase out. @return the next one
  Phase learn();
  Phase ask();
  Phase recalled();
  Phase asked();

  void begin_to_recall(core::Nanos at_most);
  void end_recall() noexcept;
  [[nodiscard]] bool waits_for_record() const noexcept;
  void take_answer();
  void told(const std::shared_ptr<const Record>& record);
  void begun() noexcept;
  [[nodiscard]] bool may_wait() const noexcept { return what_.wait > core::Nanos(0); }
  /// @return what is left of the wait; a little if nothing is: it waits, if not for long.
  [[nodiscard]] core::Nanos left() const noexcept;

  /// The question what the store remembers.
  struct Recall {
    std::shared_ptr<Recollection> asked{};
    std::optional<std::stop_callback<std::function<void()>>> on_stop{};
    std::optional<Question> question{};
    Instant until{};
    Failure silence{};  ///< why there is no answer, if the thread knows
  };
  /// The request for the key.
  struct Request {
    AcquireOptions options{};
    KeyCall key{};
    std::optional<AcquireCall> call{};
  };

  Beginning what_;
  Grace& grace_;
  Waker* const waker_;
  const Instant began_;
  std::shared_ptr<OpenRun> open_;
  const Owner asker_;
  Phase phase_ = Phase::learn;
  Recall recall_;
  Request request_;
  Run run_;
};

}  // namespace mortise::runtime
