// SPDX-License-Identifier: MIT
// What a call has learned on its way, and what it reports to its caller and to the observer.
#pragma once

#include <mortise/error.hpp>
#include <mortise/observer.hpp>
#include <mortise/options.hpp>

#include "core/acquire.hpp"

#include <cstdint>
#include <optional>

namespace mortise::runtime {

class AcquireCall;
class Slot;

/// Part of a call, for its own thread.
class AcquireReport {
 public:
  /// @param gives_up_by_contention false: its caller goes on, and contention is no news
  AcquireReport(Slot& slot, const AcquireCall& caller, bool gives_up_by_contention) noexcept
      : slot_(slot), caller_(caller), gives_up_by_contention_(gives_up_by_contention) {}
  AcquireReport(const AcquireReport&) = delete;
  AcquireReport& operator=(const AcquireReport&) = delete;
  /// A wait that was reported has an end, even if the call ends with an exception.
  ~AcquireReport();
  /// The call is about to sleep. Reports the beginning of the wait if this is the first time.
  /// @return whether it did, which may have taken the observer some time
  bool waits() noexcept;
  /// The caller that asks the server for all knows what is wrong, and who holds the name.
  /// @param requester null = there is none
  void learn_from_locked(const AcquireCall* requester);
  /// Reports the end of the call to the observer.
  /// @param now when it ended, as far as the call has looked
  /// @return what the caller receives: why the call failed, or no failure.
  Failure tell(const core::Acquire::Action& end, Instant now);
  /// @return the same, without a report.
  [[nodiscard]] Failure reason(const core::Acquire::Action& end) const;

  std::optional<Failure> trouble;  // that keeps the server from answering
  Failure failure;                 // why the call could not ask, or what it was answered with
  std::optional<Holder> holder;    // who was seen to hold the name
  std::uint32_t permits = 0;       // its owner asks for one of so many, and not of as many as here

 private:
  [[nodiscard]] Failure differs() const;
  [[nodiscard]] Event event() const noexcept;

  Slot& slot_;
  const AcquireCall& caller_;
  const bool gives_up_by_contention_;
  bool waits_ = false;  // the observer knows of a wait, and not of its end
};

}  // namespace mortise::runtime
