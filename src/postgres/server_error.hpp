// SPDX-License-Identifier: MIT
// What an SQLSTATE means for a caller.
#pragma once

#include <mortise/error.hpp>

#include "postgres/pq.hpp"

#include <string>

namespace mortise::postgres {

struct ServerError {
  enum class Kind {
    passing,    ///< not executed; may be asked again
    elsewhere,  ///< the same, but not on this connection
    final,      ///< asking again cannot help, whatever the caller's time
  };
  Kind kind = Kind::passing;
  Failure failure{};
};

/// Whether the words end with what to do about it.
enum class Advice { given, none };

/// @param where begins the words
[[nodiscard]] ServerError server_error(const std::string& where, const PqError& error,
                                       Advice advice = Advice::given);

/// @return a text that may stand in one line of a log.
[[nodiscard]] std::string one_line(std::string_view words);

}  // namespace mortise::postgres
