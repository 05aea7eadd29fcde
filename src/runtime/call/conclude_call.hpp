// SPDX-License-Identifier: MIT
// One call of `Run::succeed()` or `Run::fail()`: the release of the key, with an outcome.
#pragma once

#include <mortise/error.hpp>
#include <mortise/key.hpp>
#include <mortise/outcome.hpp>

#include "runtime/call/key_talk.hpp"
#include "runtime/call/release_call.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

namespace mortise::runtime {

class OpenRun;

/// Lives in the frame of the calling thread, or in a `PendingConclusion`.
class ConcludeCall {
 public:
  /// Takes all memory that the call needs. If this throws, the run stays open. Sends nothing yet.
  ConcludeCall(const std::shared_ptr<OpenRun>& open, KeyState state, std::string_view bytes);
  /// To be called once before all others. @param waker see `Unlock::waker`
  void begin(Waker* waker) noexcept;
  /// The whole call. @return as `end()`
  Outcome run(Failure& failure);

  // The same in parts, as of a `ReleaseCall`.

  [[nodiscard]] bool advance() noexcept { return release_->advance(); }
  [[nodiscard]] core::Nanos sleeps_for() const noexcept { return release_->sleeps_for(); }
  void hurry() noexcept { release_->hurry(); }
  /// Reports the end to the observer.
  /// @param failure receives why the outcome is unknown
  Outcome end(Failure& failure);
  /// @return an outcome of which nothing is known.
  [[nodiscard]] Outcome unknown(const std::error_code& why) const noexcept;

 private:
  [[nodiscard]] Outcome outcome_of(Released told, Failure& failure) const;

  const std::shared_ptr<OpenRun> open_;  // an observer may destroy whatever else keeps the slot
  KeyEnding ending_;
  const std::shared_ptr<const Record> unsaid_;
  std::optional<ReleaseCall> release_;
};

}  // namespace mortise::runtime
