// SPDX-License-Identifier: MIT
// Times as callers write them: any std::chrono duration, but never a number without a unit.
#pragma once

#include <mortise/export.hpp>

#include <chrono>
#include <type_traits>

namespace mortise {

/// A wait without an end.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// Does not compile, because a plain number can mean seconds or milliseconds.
template <class Number>
constexpr void refuse_number_without_unit() {
  static_assert(!std::is_arithmetic_v<Number>,
                "Mortise: a time needs a unit. Write 30s or 500ms instead of a plain number; "
                "`using namespace std::chrono_literals` makes both available");
}

/// The type of every time in a struct of options. A `TimeOption` is a `Duration`, made from any
/// `std::chrono` duration that converts to `Duration` without loss. A time that does not fit
/// becomes the longest time of the type. `{.lease = 30}` fails to compile, with a message that
/// gives the reason.
template <class Duration>
struct TimeOption : Duration {
  template <class Rep, class Period>
  requires std::is_convertible_v<std::chrono::duration<Rep, Period>, Duration>
  constexpr TimeOption(const std::chrono::duration<Rep, Period>& time) : Duration(fitted(time)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr TimeOption(Number) : Duration() { refuse_number_without_unit<Number>(); }

 private:
  /// Converts without overflow. The standard's conversion turns the longest time in hours into a
  /// negative time.
  template <class Rep, class Period>
  static constexpr Duration fitted(const std::chrono::duration<Rep, Period>& time) {
    using Wide = std::chrono::duration<double, typename Duration::period>;
    if (Wide(time) >= Wide(Duration::max())) return Duration::max();
    if (Wide(time) <= Wide(Duration::min())) return Duration::min();
    return Duration(time);
  }
};

/// @return any duration as a wait in nanoseconds, rounded up. A duration that does not fit becomes
/// `forever`. A negative or NaN duration becomes zero.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds wait_of(
    const std::chrono::duration<Rep, Period>& wait) {
  // Compare as floating point, because that type does not overflow for any duration.
  using Seconds = std::chrono::duration<double>;
  constexpr Seconds longest = std::chrono::hours(24 * 365 * 100);
  const auto seconds = std::chrono::duration_cast<Seconds>(wait);
  if (seconds > longest) return forever;
  if (!(seconds > Seconds(0))) return std::chrono::nanoseconds(0);
  return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}
template <class Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] constexpr std::chrono::nanoseconds wait_of(Number) {
  refuse_number_without_unit<Number>();
  return forever;
}

/// The types that `wait_of()` accepts.
template <class T>
concept Wait = requires(const T& wait) {
  wait_of(wait);
};

}  // namespace mortise
