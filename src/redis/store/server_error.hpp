// SPDX-License-Identifier: MIT
// What an error reply of the server means for a request. No hold is ever assumed after one.
#pragma once

#include <mortise/error.hpp>

#include <string>
#include <string_view>

namespace mortise::redis {

struct ServerError {
  enum class Kind {
    final,      ///< asking again will not help: the request fails
    passing,    ///< it may go away while the caller waits: the request stays, in trouble
    script,     ///< the server does not know the script: send its text
    elsewhere,  ///< this is not the master (any more): connect anew, then ask again
  };
  Kind kind = Kind::final;
  Failure failure{};

  /// @return whether a script may have failed so behind something that it wrote.
  [[nodiscard]] bool is_halfway() const noexcept {
    return failure.code == Errc::protocol || failure.code == Errc::denied;
  }
};

/// @param where the server, for the message: "redis 10.0.0.1:6379"
/// @param words the error reply, without its '-'
[[nodiscard]] ServerError server_error(const std::string& where, std::string_view words);

/// The same of an answer to AUTH: no password is in its words.
[[nodiscard]] ServerError refusal_of_auth(const std::string& where, std::string_view words);

}  // namespace mortise::redis
