// SPDX-License-Identifier: MIT
// The order of the questions matters: whose key it is comes before whether it is busy, so that a
// caller with another request never waits for what it could not be given.
#include "core/verdict.hpp"

#include "base/mutant.hpp"

namespace mortise::core {

Verdict judge(const Memory& asked, const Record& remembered) noexcept {
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
