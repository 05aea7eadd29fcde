// SPDX-License-Identifier: MIT
// What is remembered of a key, and what is asked for: who runs, who waits, who is told.
#pragma once

#include <mortise/record.hpp>

#include "base/mutant.hpp"

#include <cstdint>

namespace mortise::core {

enum class Verdict : std::uint8_t {
  run,       ///< the caller is to run the key
  wait,      ///< somebody runs it
  replay,    ///< the caller is told the recorded outcome
  mismatch,  ///< the key is remembered for another request
};

/// The one rule for it. A backend that decides at its server says the same there. The order of the
/// questions matters: whose key it is comes before whether it is busy, so that a caller with
/// another request never waits for what it could not be given. In here, since libraries of backends
/// ask it.
[[nodiscard]] inline Verdict judge(const Memory& asked, const Record& remembered) noexcept {
  if (remembered.state == KeyState::absent) return remembered.held ? Verdict::wait : Verdict::run;
  const bool differs = remembered.fingerprint != asked.fingerprint;
  if (differs && !base::mutant("core.another_request_is_answered")) return Verdict::mismatch;
  if (remembered.held) return Verdict::wait;
  switch (remembered.state) {
    case KeyState::succeeded:
      return asked.repeat == Repeat::always ? Verdict::run : Verdict::replay;
    case KeyState::failed: return asked.repeat == Repeat::never ? Verdict::replay : Verdict::run;
    case KeyState::absent:
    case KeyState::pending: break;
  }
  return Verdict::run;
}

}  // namespace mortise::core
