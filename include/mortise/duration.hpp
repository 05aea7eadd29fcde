// SPDX-License-Identifier: MIT
// Times in calls and options: any std::chrono duration. A number without a unit does not compile.
#pragma once

#include <mortise/export.hpp>

#include <chrono>
#include <type_traits>

namespace mortise {

/// A wait without a limit.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// Does not compile, because a plain number can mean seconds or milliseconds.
template <class Number>
constexpr void refuse_number_without_unit() {
  static_assert(!std::is_arithmetic_v<Number>,
                "Mortise: a time needs a unit. Write 30s or 500ms instead of a plain number; "
                "`using namespace std::chrono_literals` makes both available");
}

/// The type of every time in a struct of options. A `TimeOption` accepts any `std::chrono` duration
/// that converts to `Duration` without loss. A time that is too long becomes `Duration::max()`.
/// `{.lease = 30}` fails to compile, with a message that gives the reason.
template <class Duration>
struct TimeOption : Duration {
  template <class Rep, class Period>
  requires std::is_convertible_v<std::chrono::duration<Rep, Period>, Duration>
  constexpr TimeOption(const std::chrono::duration<Rep, Period>& time) : Duration(fitted(time)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number>
  constexpr TimeOption(Number) : Duration() { refuse_number_without_unit<Number>(); }

 private:
  /// Converts without overflow. The standard's conversion turns `std::chrono::hours::max()` into a
  /// negative time.
  template <class Rep, class Period>
  static constexpr Duration fitted(const std::chrono::duration<Rep, Period>& time) {
    using Wide = std::chrono::duration<double, typename Duration::period>;
    if (Wide(time) >= Wide(Duration::max())) return Duration::max();
    if (Wide(time) <= Wide(Duration::min())) return Duration::min();
    return Duration(time);
  }
};

/// @return the duration in nanoseconds, rounded up. A duration of more than 100 years of 365 days
/// becomes `forever`. A negative or NaN duration becomes zero.
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::nanoseconds wait_of(
    const std::chrono::duration<Rep, Period>& wait) {
  // Compare as floating point, because floating point does not overflow for any duration.
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
