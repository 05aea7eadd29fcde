// SPDX-License-Identifier: MIT
// Whole numbers in Lua, which is what scripts of locks count in: string.format('%.0f', x) and
// tonumber(text) of those by a short way, and all else by Lua's own, which prints and reads every
// number as a fraction.
#pragma once

struct lua_State;

namespace simulation::redis {

/// Puts the short ways before Lua's own. The libraries must be open.
void shorten_numbers(lua_State* lua);

}  // namespace simulation::redis
