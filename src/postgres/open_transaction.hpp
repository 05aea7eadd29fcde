// SPDX-License-Identifier: MIT
// A user's own transaction, as far as the library takes part in it. Every call blocks.
#pragma once

#include <mortise/error.hpp>
#include <mortise/store_id.hpp>

#include "postgres/pq.hpp"

#include <string>
#include <string_view>

namespace mortise::postgres {

class OpenTransaction {
 public:
  /// Throws `Error` where there is none, or no function can be called in it.
  /// @param about what messages speak of: "lock a"
  OpenTransaction(pg_conn* connection, std::string_view schema, std::string about);

  /// Calls a function of the schema: "lock_in($1, $2)". Throws what the server answers instead.
  [[nodiscard]] Result call(std::string_view function, const Arguments& arguments);
  /// The same for a hold: "guard($1, $2)". Throws `misconfigured` where the hold is in another
  /// store, database or schema than the one that the connection leads to, and `closed` in a child
  /// that was forked while its parent held it.
  /// @param arguments five at most
  [[nodiscard]] Result call_for_hold(std::string_view function, Arguments arguments,
                                     const StoreId& store);
  /// @return why it is not committed, or `in_doubt`; no failure = it is
  [[nodiscard]] Failure commit();

 private:
  [[noreturn]] void refuse_hold(const StoreId& store, const std::string& why) const;

  UserConnection connection_;
  const std::string schema_;
  const std::string about_;
};

}  // namespace mortise::postgres
