// SPDX-License-Identifier: MIT
#include "simulation/redis/script_library.hpp"

#include "simulation/redis/lua_numbers.hpp"
#include "simulation/redis/lua_reply.hpp"
#include "simulation/redis/script_engine.hpp"
#include "simulation/redis/sha1.hpp"

#include <array>
#include <lua.hpp>
#include <string_view>
#include <utility>

namespace simulation::redis {

/// The calls that a script makes. Whatever Lua calls here may leave by Lua's own jump, over which
/// nothing is destroyed: so it is the engine that has the objects.
struct ScriptFunctions {
  static int make(lua_State* lua, bool raise) {
    auto* const engine = static_cast<ScriptEngine*>(lua_touserdata(lua, lua_upvalueindex(1)));
    const bool failed = !engine->call_from_script(lua);
    return failed && raise ? lua_error(lua) : 1;
  }
  static int call(lua_State* lua) { return make(lua, true); }
  static int pcall(lua_State* lua) { return make(lua, false); }
};

namespace {

int sha1hex(lua_State* lua) {
  if (lua_gettop(lua) != 1) {
    push_error(lua, "wrong number of arguments");
    return lua_error(lua);
  }
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, 1, &size);
  const std::string digest = sha1_hex({bytes, size});
  lua_pushlstring(lua, digest.data(), digest.size());
  return 1;
}

bool one_text(lua_State* lua) {
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING) return true;
  push_error(lua, "wrong number or type of arguments");
  return false;
}

int status_reply(lua_State* lua) {
  if (!one_text(lua)) return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

int error_reply(lua_State* lua) {
  if (!one_text(lua)) return 1;
  if (*lua_tostring(lua, 1) != '-') {
    lua_pushliteral(lua, "-");
    lua_insert(lua, 1);
    lua_concat(lua, 2);
  }
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, 1, &size);
  push_error(lua, {bytes, size});
  return 1;
}

int nothing(lua_State* /*lua*/) { return 0; }

int always_true(lua_State* lua) {
  lua_pushboolean(lua, 1);
  return 1;
}

// Errors of redis.call() are tables; pcall() gives their words, as before Redis 7.
int pcall_with_words(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, arguments - 1, LUA_MULTRET, 0) != 0) {
    lua_remove(lua, 1);
    if (lua_istable(lua, -1)) {
      lua_getfield(lua, -1, "err");
      if (lua_isstring(lua, -1) != 0) lua_replace(lua, -2);
    }
    lua_pushboolean(lua, 0);
    lua_insert(lua, 1);
  }
  return lua_gettop(lua);
}

int no_such_global(lua_State* lua) {
  const char* const name = lua_tostring(lua, -1);
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    name == nullptr ? "?" : name);
}

int no_new_global(lua_State* lua) { return luaL_error(lua, "Attempt to modify a readonly table"); }

void open_lua(lua_State* lua) {
  constexpr std::array<std::pair<const char*, lua_CFunction>, 4> parts{{
      {"", luaopen_base},
      {LUA_TABLIBNAME, luaopen_table},
      {LUA_STRLIBNAME, luaopen_string},
      {LUA_MATHLIBNAME, luaopen_math},
  }};
  for (const auto& [name, open] : parts) {
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
  }
  // Nothing is collected while a script runs: see lua_upvalues.hpp.
  for (const char* const name : {"collectgarbage", "dofile", "loadfile", "print"}) {
    lua_pushnil(lua);
    lua_setglobal(lua, name);
  }
  // The C library's luck is not the seed's; Redis has an own one, which scripts of locks do not
  // use.
  lua_getglobal(lua, "math");
  for (const char* const name : {"random", "randomseed"}) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, name);
  }
  lua_pop(lua, 1);
  lua_pushcfunction(lua, pcall_with_words);
  lua_setglobal(lua, "pcall");
  shorten_numbers(lua);
}

void open_redis(lua_State* lua, ScriptEngine& engine) {
  constexpr std::array<std::pair<const char*, lua_CFunction>, 9> functions{{
      {"call", ScriptFunctions::call},
      {"pcall", ScriptFunctions::pcall},
      {"sha1hex", sha1hex},
      {"status_reply", status_reply},
      {"error_reply", error_reply},
      {"log", nothing},
      {"set_repl", nothing},
      {"setresp", nothing},
      {"replicate_commands", always_true},
  }};
  constexpr std::array<std::pair<const char*, int>, 9> numbers{{
      {"LOG_DEBUG", 0},
      {"LOG_VERBOSE", 1},
      {"LOG_NOTICE", 2},
      {"LOG_WARNING", 3},
      {"REPL_NONE", 0},
      {"REPL_AOF", 1},
      {"REPL_SLAVE", 2},
      {"REPL_REPLICA", 2},
      {"REPL_ALL", 3},
  }};
  lua_newtable(lua);
  for (const auto& [name, function] : functions) {
    lua_pushlightuserdata(lua, &engine);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
  }
  for (const auto& [name, number] : numbers) {
    lua_pushinteger(lua, number);
    lua_setfield(lua, -2, name);
  }
  lua_setglobal(lua, "redis");
}

}  // namespace

// Redis' Lua can lock a table; Debian's cannot. So scripts have an empty table in front of that of
// the globals: what is read is found behind it, and what is written is refused.
int open_library(lua_State* lua, ScriptEngine& engine) {
  open_lua(lua);
  open_redis(lua, engine);
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, no_such_global);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);  // of the globals
  const int globals = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_newtable(lua);
  lua_createtable(lua, 0, 2);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, globals);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, no_new_global);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, globals);
  lua_pushvalue(lua, -2);
  lua_setfield(lua, -2, "_G");
  lua_pop(lua, 1);
  lua_replace(lua, LUA_GLOBALSINDEX);
  return globals;
}

}  // namespace simulation::redis
