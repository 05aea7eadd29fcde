// SPDX-License-Identifier: MIT
// The SQL of src/postgres/sql as text, with @schema@ and @role@ still in it.
#pragma once

#include <span>

namespace mortise::postgres::sql {

// Made by cmake/PostgresSql.cmake.
/// The schema, tables and functions, one piece after the other; a transaction without end.
extern const std::span<const char* const> migration;
extern const char* const role;  ///< the rights of an application

extern const char* const look;
extern const char* const ask_key;
extern const char* const inspect;
extern const char* const check;
extern const char* const look_key;
extern const char* const renew_all;
extern const char* const greet;
extern const char* const session;
extern const char* const census;
// The same for the keys of Once, and for semaphores, have names that end as those of functions do.
extern const char* const list;
extern const char* const list_run;
extern const char* const list_gate;
extern const char* const queue;
extern const char* const queue_run;
extern const char* const queue_gate;
extern const char* const at_home;

}  // namespace mortise::postgres::sql
