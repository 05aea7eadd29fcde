// SPDX-License-Identifier: MIT
// The SQL of src/postgres/sql as text, with @schema@ and @role@ still in it.
#pragma once

namespace mortise::postgres::sql {

// Made by cmake/PostgresSql.cmake.
extern const char* const migration;  ///< the schema, table and functions; a transaction without end
extern const char* const role;       ///< the rights of an application

extern const char* const look;
extern const char* const peek;
extern const char* const ask;
extern const char* const ask_key;
extern const char* const ask_share;
extern const char* const ask_permit;
extern const char* const inspect;
extern const char* const look_key;
extern const char* const renew_all;
extern const char* const greet;
extern const char* const session;
extern const char* const census;
extern const char* const list;
extern const char* const queue;

}  // namespace mortise::postgres::sql
