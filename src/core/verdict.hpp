// SPDX-License-Identifier: MIT
// What is remembered of a key, and what is asked for: who runs, who waits, who is told.
#pragma once

#include <mortise/record.hpp>

#include <cstdint>

namespace mortise::core {

enum class Verdict : std::uint8_t {
  run,       ///< the caller is to run the key
  wait,      ///< somebody runs it
  replay,    ///< the caller is told the recorded outcome
  mismatch,  ///< the key is remembered for another request
};

/// The one rule for it. A backend that decides at its server says the same there.
[[nodiscard]] Verdict judge(const Memory& asked, const Record& remembered) noexcept;

}  // namespace mortise::core
