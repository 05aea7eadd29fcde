// SPDX-License-Identifier: MIT
// The ground of the tests that call the functions of keys on PostgreSQL as the library calls them.
#pragma once

#include "fault/postgres_transactions.hpp"

#include <string>

namespace mortise::fault {

using ::testing::EndsWith;
using ::testing::StartsWith;

inline constexpr const char* minute = "60000000";

/// What begin_key() is told.
struct Asked {
  std::string key = "a";
  std::string me = "\\x01";
  std::string lease = minute;
  std::string how = "0";
  std::string fingerprint = "f";
  Repeat repeat = Repeat::after_failure;
  std::string keep = minute;
  std::string void_after = "infinity";
};

class PostgresKeys : public PostgresTransactions {
 protected:
  /// @return the answer, in escape format.
  static std::string begin(PostgresTalk& talk, const Asked& asked = {}) {
    return talk.value(
        "select encode(mortise.begin_key($1, $2, $3, 'label', $4, $5, $6, $7, $8), 'escape')",
        {asked.key, asked.me, asked.lease, asked.how, asked.fingerprint,
         std::to_string(static_cast<int>(asked.repeat)), asked.keep, asked.void_after});
  }
  static std::string conclude(PostgresTalk& talk, const std::string& number,
                              const std::string& bytes, const std::string& me = "\\x01",
                              bool succeeds = true, const std::string& keep = minute) {
    return talk.value("select mortise.conclude_key('a', $1, $2, false, $3, $4, $5)",
                      {me, number, succeeds ? "t" : "f", bytes, keep});
  }
  static bool conclude_in(PostgresTalk& talk, const std::string& number,
                          const std::string& bytes = "result") {
    return talk.value("select mortise.conclude_in('a', '\\x01', $1, true, $2, 60000000)",
                      {number, bytes}) == "t";
  }
  /// @return the number of the grant that an answer tells of.
  static std::string number_in(const std::string& answer) {
    EXPECT_THAT(answer, StartsWith("G "));
    return answer.substr(2, answer.find(' ', 2) - 2);
  }
  std::string renew(const std::string& number) {
    return server().user().value(
        "select mortise.renew_run(array['a'::bytea], array['\\x01'::bytea], array[$1::bigint],"
        " array[60000000])",
        {number});
  }
  std::string state() { return see("select state from mortise.once where key = 'a'"); }
  void lapse() {
    server().talk().run("update mortise.run set expires_at = clock_timestamp() where name = 'a'");
  }
};

}  // namespace mortise::fault
