// SPDX-License-Identifier: MIT
// What can go wrong, as values that a caller can act on: the codes, the questions one asks of them,
// and the exception that carries a code with the words that explain it.
#pragma once

#include <mortise/export.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace mortise {

/// Why a call did not do what it was asked. Contention is `timeout`, and is never thrown.
enum class Errc {
  timeout = 1,    ///< somebody else held the lock until the caller's time was up
  cancelled,      ///< the caller's `std::stop_token` ended the wait
  unavailable,    ///< the store could not be reached in time
  denied,         ///< the store refused the credentials, or lacks the rights
  lost,           ///< the hold that this call builds on is gone; unlock it first
  not_owner,      ///< unlock by somebody who does not hold the lock, or once too often
  in_doubt,       ///< the request was sent, its outcome was not learned; it is being undone
  misconfigured,  ///< an option, a name, a URL or a store set up such that it cannot work
  unsupported,    ///< the backend, or this build of the library, lacks the feature
  protocol,       ///< the store holds or answered something that is not ours or makes no sense
  exhausted,      ///< no room: disk, file descriptors, memory or connections have run out
  closed,         ///< the client was closed, or this process is a fork of the one that opened it
  mismatch,       ///< the key of a `Once` is remembered with another fingerprint
};

/// @return the category of `Errc`; its name is "mortise".
MORTISE_API const std::error_category& error_category() noexcept;

/// Lets `Errc` values be used where a `std::error_code` is expected.
[[nodiscard]] inline std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// @return whether the same call may succeed later without anybody changing its arguments:
/// `timeout`, `unavailable`, `in_doubt`, `exhausted`.
[[nodiscard]] MORTISE_API bool is_retryable(const std::error_code& code) noexcept;

/// @return whether the call may have had an effect that the caller did not learn: `in_doubt`.
/// The library cleans up behind such a call by itself.
[[nodiscard]] MORTISE_API bool is_ambiguous(const std::error_code& code) noexcept;

/// @return whether the lock is simply somebody else's: `timeout` or `cancelled`. Such an outcome is
/// a value (`false`, an empty `Guard`), never an exception.
[[nodiscard]] MORTISE_API bool is_contention(const std::error_code& code) noexcept;

/// A code with the words that name the culprit. The text holds no password, token or owner id.
struct Failure {
  std::error_code code;  ///< clear (`!code`) means that nothing failed
  std::string text;      ///< what failed, where, and why: "redis 10.0.0.1:6379: connection refused"

  Failure() = default;
  Failure(Errc errc, std::string words) : code(make_error_code(errc)), text(std::move(words)) {}
  explicit operator bool() const noexcept { return static_cast<bool>(code); }
};

/// The exception of every throwing call of the library.
class MORTISE_API LockError : public std::system_error {
 public:
  /// @param failure what happened; its text becomes the beginning of `what()`.
  explicit LockError(const Failure& failure);
  LockError(const LockError&) noexcept;
  ~LockError() override;
  /// @return the code as the library's own enumeration.
  [[nodiscard]] Errc errc() const noexcept;
};

}  // namespace mortise

template <>
struct std::is_error_code_enum<mortise::Errc> : std::true_type {};
