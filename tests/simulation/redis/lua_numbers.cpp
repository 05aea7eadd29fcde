// SPDX-License-Identifier: MIT
#include "simulation/redis/lua_numbers.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <lua.hpp>
#include <string_view>

namespace simulation::redis {
namespace {

// Whole numbers up to here are exact: a number of Lua has 53 bits.
constexpr std::int64_t largest = 9'000'000'000'000'000;
constexpr std::size_t most_digits = 16;

int call_its_own(lua_State* lua) {
  const int arguments = lua_gettop(lua);
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, arguments, LUA_MULTRET);
  return lua_gettop(lua);
}

int format(lua_State* lua) {
  if (lua_gettop(lua) != 2 || lua_type(lua, 1) != LUA_TSTRING || lua_type(lua, 2) != LUA_TNUMBER) {
    return call_its_own(lua);
  }
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, 1, &size);
  const double number = lua_tonumber(lua, 2);
  const bool whole = std::trunc(number) == number &&
                     std::abs(number) <= static_cast<double>(largest) &&
                     (number != 0 || !std::signbit(number));
  if (!whole || std::string_view(text, size) != "%.0f") return call_its_own(lua);
  std::array<char, 32> digits;
  const char* const end =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::int64_t>(number))
          .ptr;
  lua_pushlstring(lua, digits.data(), static_cast<std::size_t>(end - digits.data()));
  return 1;
}

int to_number(lua_State* lua) {
  if (lua_gettop(lua) != 1 || lua_type(lua, 1) != LUA_TSTRING) return call_its_own(lua);
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, 1, &size);
  if (size == 0 || size > most_digits) return call_its_own(lua);
  std::int64_t number = 0;
  for (const char digit : std::string_view(text, size)) {
    if (digit < '0' || digit > '9') return call_its_own(lua);
    number = number * 10 + (digit - '0');
  }
  if (number > largest) return call_its_own(lua);
  lua_pushnumber(lua, static_cast<lua_Number>(number));
  return 1;
}

/// In the table on top of the stack.
void put_before(lua_State* lua, const char* name, lua_CFunction function) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, function, 1);
  lua_setfield(lua, -2, name);
}

}  // namespace

void shorten_numbers(lua_State* lua) {
  lua_getglobal(lua, LUA_STRLIBNAME);
  put_before(lua, "format", format);
  lua_pop(lua, 1);
  lua_pushvalue(lua, LUA_GLOBALSINDEX);
  put_before(lua, "tonumber", to_number);
  lua_pop(lua, 1);
}

}  // namespace simulation::redis
