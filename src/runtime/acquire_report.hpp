// SPDX-License-Identifier: MIT
// What a call has learned on its way, and what its caller and the observer are told in the end.
#pragma once

#include <mortise/error.hpp>
#include <mortise/options.hpp>

#include "core/acquire.hpp"

#include <cstdint>
#include <optional>

namespace mortise::runtime {

class Slot;

/// Part of a call, for its own thread.
class AcquireReport {
 public:
  /// @param gives_up_by_contention false: its caller goes on, and contention is no news
  AcquireReport(Slot& slot, const core::Waiter& caller, bool gives_up_by_contention) noexcept
      : slot_(slot), caller_(caller), gives_up_by_contention_(gives_up_by_contention) {}
  /// Tells the observer. @return what the caller is told: why the call failed, or no failure.
  Failure tell(const core::Acquire::Action& end, core::Nanos took);

  std::optional<Failure> trouble;  // that keeps the server from answering
  Failure failure;                 // why the call could not ask, or what it was answered with
  std::optional<Holder> holder;    // who was seen to hold the name
  std::uint32_t permits = 0;       // its owner asks for one of so many, and not of as many as here

 private:
  Failure contended(Errc code);
  [[nodiscard]] Failure differs() const;
  void tell_granted(core::Nanos took);

  Slot& slot_;
  const core::Waiter& caller_;
  const bool gives_up_by_contention_;
};

}  // namespace mortise::runtime
