// SPDX-License-Identifier: MIT
// The tables of a schema once more as they were made: a test costs less after that than after a
// server, or a schema, of its own.
#pragma once

#include "support/postgres_server.hpp"

#include <string>

namespace mortise::test {

/// @param schema that nobody uses any more; one of its tables has rows when it is made
inline void empty_tables(const PostgresServer& server, const std::string& schema) {
  PostgresTalk talk = server.talk();
  talk.run("truncate " +
           talk.value("select string_agg(format('%I.%I', schemaname, tablename), ', ')"
                      " from pg_tables where schemaname = $1 and tablename <> 'run_floor'",
                      {schema}) +
           " restart identity; update " + schema + ".run_floor set number = 0");
}

}  // namespace mortise::test
