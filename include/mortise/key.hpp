// SPDX-License-Identifier: MIT
// The state of a key of `Once`, and the rule for a key that already has an outcome. Users and
// backends share these types.
#pragma once

#include <mortise/export.hpp>
#include <mortise/text.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mortise {

/// The state of a key.
enum class KeyState : std::uint8_t {
  absent,     ///< the key has never run, or the store has forgotten it
  pending,    ///< begun without an outcome: the runner is still working, or has died
  succeeded,  ///< the result is recorded
  failed,     ///< the reason is recorded
};

// GCC 12 warns that an enumerator has the name of an outer declaration, although this enumeration
// is scoped.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/// Whether a caller runs a key that already has an outcome.
enum class Repeat : std::uint8_t {
  after_failure,  ///< a failed key runs again; a key that succeeded returns its result
  never,          ///< the first outcome stays, even a failure
  always,         ///< every caller runs the key, one at a time; `Run::number()` grows with each run
};
#pragma GCC diagnostic pop

/// @return the name of the enumerator, such as "pending".
[[nodiscard]] MORTISE_API std::string_view to_string(KeyState state) noexcept;
template <>
inline constexpr bool has_text<KeyState> = true;
/// @return the name of the enumerator, such as "after_failure".
[[nodiscard]] MORTISE_API std::string_view to_string(Repeat repeat) noexcept;
template <>
inline constexpr bool has_text<Repeat> = true;

/// The longest result or reason, in bytes.
inline constexpr std::size_t longest_outcome = 65'536;
/// The longest fingerprint, in bytes.
inline constexpr std::size_t longest_fingerprint = 128;

}  // namespace mortise
