// SPDX-License-Identifier: MIT
// Answers as values of Lua, on its stack: what redis.call() returns. The conversions are those of
// script_lua.c for RESP2.
#pragma once

#include "simulation/redis/reply.hpp"

#include <array>

struct lua_State;

namespace simulation::redis {

/// @return the text at that place of Lua's stack; empty = it is none
[[nodiscard]] std::string_view text_at(lua_State* lua, int index);

/// Pushes the error as a table with the field `err`, as redis.pcall() returns it.
/// @param words "-CODE words", or words without a code
void push_error(lua_State* lua, std::string_view words);

class LuaReply final : public Reply {
 public:
  explicit LuaReply(lua_State* lua) noexcept : lua_(lua) {}

  void status(std::string_view words) override;
  void error(std::string_view words) override;
  void integer(std::int64_t value) override;
  void bulk(std::string_view bytes) override;
  void nil() override;
  void array(std::size_t size) override;

  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  struct Open {
    std::size_t size;
    std::size_t filled;
  };

  void pushed();

  lua_State* lua_;
  bool failed_ = false;
  std::array<Open, 4> open_{};  // arrays that lack items, the innermost last
  std::size_t depth_ = 0;
};

/// Answers with what is on top of Lua's stack, and takes it away: what a script returns.
void answer_with(lua_State* lua, Reply& reply);

}  // namespace simulation::redis
