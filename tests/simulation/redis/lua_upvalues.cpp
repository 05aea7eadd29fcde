// SPDX-License-Identifier: MIT
#include "simulation/redis/lua_upvalues.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef MORTISE_LUA_ARCHIVE  // otherwise what Lua calls inside of its library leads nowhere else

namespace simulation::redis {
namespace {

/// As lobject.h of Lua 5.1 has it: what all that is collected begins with, and then where the
/// variable is. That is a place of the stack as long as the variable is shared with who runs; with
/// the stack it moves.
struct Upvalue {
  void* next;
  unsigned char type;
  unsigned char marked;
  void* place;
};

struct FoundUpvalue {
  std::uint64_t script = 0;
  Upvalue* upvalue = nullptr;
};

constexpr std::size_t size_of_a_place = 16;
constexpr std::size_t places = 256;

lua_State* whose = nullptr;
std::uint64_t script = 0;
std::array<FoundUpvalue, places> found{};

}  // namespace

void forget_upvalues(lua_State* lua) noexcept {
  whose = lua;
  ++script;
}

}  // namespace simulation::redis

// Led here by the linker: see CMakeLists.txt.
extern "C" {
void* __real_luaF_findupval(lua_State* lua, void* place);  // NOLINT
void* __wrap_luaF_findupval(lua_State* lua, void* place);  // NOLINT

void* __wrap_luaF_findupval(lua_State* lua, void* place) {  // NOLINT
  using namespace simulation::redis;
  if (lua != whose) return __real_luaF_findupval(lua, place);
  const auto number = reinterpret_cast<std::uintptr_t>(place) / size_of_a_place;
  FoundUpvalue& here = found[number % places];
  if (here.script == script && here.upvalue->place == place) return here.upvalue;
  here = {script, static_cast<Upvalue*>(__real_luaF_findupval(lua, place))};
  return here.upvalue;
}
}

#else

void simulation::redis::forget_upvalues(lua_State* /*lua*/) noexcept {}

#endif
