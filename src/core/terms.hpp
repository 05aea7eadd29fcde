// SPDX-License-Identifier: MIT
// What a handle asks for, checked once, and shared by every hold that it takes.
#pragma once

#include <mortise/error.hpp>
#include <mortise/options.hpp>

#include "core/figures.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::core {

/// Checked `LockOptions`.
struct Terms {
  Nanos lease{};
  bool renew = true;
  Nanos max_hold = Nanos::max();
  std::string label;
  Nanos min_hold{};
  Mode mode = Mode::exclusive;
  std::uint32_t permits = 0;  // of a semaphore

  /// Whether a hold taken under these terms may be passed to somebody who asked for others: they
  /// must not notice the difference.
  [[nodiscard]] bool agrees_with(const Terms& other) const noexcept {
    return lease == other.lease && renew == other.renew && max_hold == other.max_hold &&
           label == other.label && min_hold == other.min_hold && mode == other.mode &&
           permits == other.permits;
  }
};

/// @return what is wrong with the options, naming the field; empty failure = nothing.
[[nodiscard]] Failure check(const LockOptions& options);
[[nodiscard]] Failure check(const OnceOptions& options);
/// Of a semaphore.
[[nodiscard]] Failure check(std::uint32_t permits, const LockOptions& options);
[[nodiscard]] Failure check(const ClientOptions& options);
/// @return what is wrong with a lock's name.
[[nodiscard]] Failure check_name(std::string_view name);
/// @return what is wrong with a semaphore's name.
[[nodiscard]] Failure check_semaphore(std::string_view name);
/// @return what is wrong with a key of a `Once`.
[[nodiscard]] Failure check_key(std::string_view key);
/// @return what is wrong with a result or a reason.
[[nodiscard]] Failure check_outcome(std::string_view bytes);

}  // namespace mortise::core
