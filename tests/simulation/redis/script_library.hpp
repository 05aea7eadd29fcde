// SPDX-License-Identifier: MIT
// What a script of Redis 7.0 finds: Lua's own functions but for those that reach out of it, and the
// table `redis`. Globals can be read, those that exist, and none can be made.
#pragma once

struct lua_State;

namespace simulation::redis {

class ScriptEngine;

/// Fills a fresh Lua.
/// @return where its registry has the table of globals, into which KEYS and ARGV go
int open_library(lua_State* lua, ScriptEngine& engine);

}  // namespace simulation::redis
