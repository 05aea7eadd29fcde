// SPDX-License-Identifier: MIT
// Each run of a script makes its functions anew, and for each variable that one shares with the
// script Lua looks through a list of all that are shared so far: a seventh of a run of the
// simulation. So what it has found is remembered for as long as the script runs. That holds while
// nothing is collected, which is seen to between two scripts.
#pragma once

struct lua_State;

namespace simulation::redis {

/// Another script begins.
void forget_upvalues(lua_State* lua) noexcept;

}  // namespace simulation::redis
