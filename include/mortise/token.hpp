// SPDX-License-Identifier: MIT
// The fencing token: the number that a protected store compares so that a holder who does not know
// yet that it was replaced cannot write any more.
#pragma once

#include <compare>
#include <cstdint>

namespace mortise {

/// Grows at every change of owner of a name; equal on re-entry and renewal; 0 means "no hold".
///
/// Fits a signed 64-bit column. Compare it as an integer, never as a floating point number (it may
/// exceed 2^53): `UPDATE ... SET fence = :t WHERE id = :id AND fence <= :t`.
/// Source of the idea: C. Gray and D. Cheriton's leases, M. Burrows' sequencers (Chubby, 2006).
class Token {
 public:
  constexpr Token() noexcept = default;
  /// @param value 1 to 2^63 - 1 for a hold, 0 for none.
  constexpr explicit Token(std::uint64_t value) noexcept : value_(value) {}
  /// @return the number to hand to the store.
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  /// @return whether this is the token of a hold.
  constexpr explicit operator bool() const noexcept { return value_ != 0; }
  friend constexpr auto operator<=>(Token, Token) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace mortise
