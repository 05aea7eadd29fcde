// SPDX-License-Identifier: MIT
// The Lua scripts of src/redlock/scripts, as the servers get them.
#pragma once

#include "redis/store/scripts.hpp"

// Made by cmake/RedisScripts.cmake, one of each file.
namespace mortise::redlock::scripts {

extern const redis::Script acquire;
extern const redis::Script inspect;
extern const redis::Script release;
extern const redis::Script renew;
extern const redis::Script settle;
extern const redis::Script share;

}  // namespace mortise::redlock::scripts
