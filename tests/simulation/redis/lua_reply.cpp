// SPDX-License-Identifier: MIT
#include "simulation/redis/lua_reply.hpp"

#include <lua.hpp>
#include <string>

namespace simulation::redis {

std::string_view text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* const bytes = lua_tolstring(lua, index, &size);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

namespace {}  // namespace

void push_error(lua_State* lua, std::string_view words) {
  std::string_view code = "ERR";
  if (words.starts_with('-')) {
    words.remove_prefix(1);
    if (const std::size_t blank = words.find(' '); blank != std::string_view::npos) {
      code = words.substr(0, blank);
      words.remove_prefix(blank + 1);
    }
  }
  while (words.ends_with('\n') || words.ends_with('\r')) words.remove_suffix(1);
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, code.data(), code.size());
  lua_pushliteral(lua, " ");
  lua_pushlstring(lua, words.data(), words.size());
  lua_concat(lua, 3);
  lua_setfield(lua, -2, "err");
}

// What was pushed is the next item of the innermost array.
void LuaReply::pushed() {
  while (depth_ > 0) {
    Open& open = open_.at(depth_ - 1);
    lua_rawseti(lua_, -2, static_cast<int>(++open.filled));
    if (open.filled < open.size) return;
    --depth_;  // whole: an item itself, perhaps
  }
}

void LuaReply::status(std::string_view words) {
  lua_createtable(lua_, 0, 1);
  lua_pushlstring(lua_, words.data(), words.size());
  lua_setfield(lua_, -2, "ok");
  pushed();
}

void LuaReply::error(std::string_view words) {
  lua_createtable(lua_, 0, 1);
  lua_pushlstring(lua_, words.data(), words.size());
  lua_setfield(lua_, -2, "err");
  failed_ = failed_ || depth_ == 0;
  pushed();
}

void LuaReply::integer(std::int64_t value) {
  lua_pushnumber(lua_, static_cast<lua_Number>(value));
  pushed();
}

void LuaReply::bulk(std::string_view bytes) {
  lua_pushlstring(lua_, bytes.data(), bytes.size());
  pushed();
}

void LuaReply::nil() {
  lua_pushboolean(lua_, 0);
  pushed();
}

void LuaReply::array(std::size_t size) {
  lua_createtable(lua_, static_cast<int>(size), 0);
  if (size == 0) return pushed();
  open_.at(depth_++) = {size, 0};
}

namespace {

/// Answers with a table that is an array; its items end where the first is nil.
void answer_with_items(lua_State* lua, Reply& reply) {
  int size = 0;
  while (true) {
    lua_rawgeti(lua, -1, size + 1);
    const bool end = lua_isnil(lua, -1);
    lua_pop(lua, 1);
    if (end) break;
    ++size;
  }
  reply.array(static_cast<std::size_t>(size));
  for (int i = 1; i <= size; ++i) {
    lua_rawgeti(lua, -1, i);
    answer_with(lua, reply);
  }
}

/// @return whether the table has such a field, of text; it is on top then
bool has_text(lua_State* lua, const char* field) {
  lua_pushstring(lua, field);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == LUA_TSTRING) return true;
  lua_pop(lua, 1);
  return false;
}

}  // namespace

void answer_with(lua_State* lua, Reply& reply) {
  switch (lua_type(lua, -1)) {
    case LUA_TSTRING: reply.bulk(text_at(lua, -1)); break;
    case LUA_TBOOLEAN:
      if (lua_toboolean(lua, -1) != 0) {
        reply.integer(1);
      } else {
        reply.nil();
      }
      break;
    case LUA_TNUMBER: reply.integer(static_cast<std::int64_t>(lua_tonumber(lua, -1))); break;
    case LUA_TTABLE:
      if (lua_checkstack(lua, 4) == 0) {
        reply.error("ERR reached lua stack limit");
      } else if (has_text(lua, "err")) {
        reply.error(text_at(lua, -1));
        lua_pop(lua, 1);
      } else if (has_text(lua, "ok")) {
        reply.status(text_at(lua, -1));
        lua_pop(lua, 1);
      } else {
        answer_with_items(lua, reply);
      }
      break;
    default: reply.nil();
  }
  lua_pop(lua, 1);
}

}  // namespace simulation::redis
