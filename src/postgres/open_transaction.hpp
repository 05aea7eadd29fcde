// SPDX-License-Identifier: MIT
// A user's own transaction, as far as the library takes part in it. Every call blocks.
#pragma once

#include <mortise/error.hpp>

#include "postgres/pq.hpp"

#include <string>
#include <string_view>

namespace mortise::postgres {

class OpenTransaction {
 public:
  /// Throws `LockError` where there is none, or no function can be called in it.
  /// @param about what messages speak of: "lock a"
  OpenTransaction(pg_conn* connection, std::string_view schema, std::string about);

  /// Calls a function of the schema: "guard($1, $2)". Throws what the server answers instead.
  [[nodiscard]] Result call(std::string_view function, const Arguments& arguments);
  /// @return why it is not committed, or `in_doubt`; no failure = it is
  [[nodiscard]] Failure commit();

 private:
  UserConnection connection_;
  const std::string schema_;
  const std::string about_;
};

}  // namespace mortise::postgres
