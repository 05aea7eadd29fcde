// SPDX-License-Identifier: MIT
// Lua 5.1 as Redis 7.0 embeds it: script_lua.c and eval.c, for scripts without a shebang. What
// scripts of locks do not use is not there: cjson, cmsgpack, struct, bit, RESP3, SCRIPT DEBUG.
#pragma once

#include "simulation/redis/hash_value.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_State;

namespace simulation::redis {

class LuaMemory;
struct Invocation;
struct ServerState;

class ScriptEngine {
 public:
  explicit ScriptEngine(ServerState& server);
  ~ScriptEngine();
  ScriptEngine(const ScriptEngine&) = delete;
  ScriptEngine& operator=(const ScriptEngine&) = delete;

  /// Makes a function of a text, unless that was done before.
  /// @return its SHA-1; empty = it is not Lua, and that was answered
  std::string load(Invocation& call, std::string_view text);
  [[nodiscard]] bool knows(std::string_view sha) const;
  /// Forgets all, and begins with a fresh Lua.
  void flush();
  /// Runs one that is known. @param sha in small letters
  void run(Invocation& call, std::string_view sha, std::span<const std::string_view> keys,
           std::span<const std::string_view> arguments);

  /// From now on what is loaded is patched with this mutant; what was loaded is forgotten.
  void make_mistake(std::string_view name);
  /// Counts Lua's instructions in steps of so many; 0 = not at all.
  void count_instructions(int step);

 private:
  friend struct ScriptFunctions;  // what a script calls: script_library.cpp
  struct Closer {
    void operator()(lua_State* lua) const noexcept;
  };

  void open();
  void collect_garbage();
  /// Carries out what is on the stack, and leaves the answer there. @return false = an error
  bool call_from_script(lua_State* lua);
  /// @return false = it has answered that these are no words
  bool read_words(lua_State* lua);
  bool call_command(lua_State* lua);
  void set_global(const char* name, std::span<const std::string_view> values);
  void answer_failure(Invocation& call, std::string_view sha);

  ServerState& server_;
  std::string mistake_;
  int step_ = 0;
  std::unique_ptr<LuaMemory> memory_;
  std::unique_ptr<lua_State, Closer> lua_;
  std::unordered_map<std::string, int, StringHash, std::equal_to<>> functions_;  // by SHA
  int handler_ = 0;      // in Lua's registry: what becomes of an error
  int globals_ = 0;      // in Lua's registry
  int collects_at_ = 0;  // KiB
  Invocation* running_ = nullptr;
  bool has_written_ = false;  // the script that runs
  std::vector<std::string_view> words_;
  std::vector<std::array<char, 32>> numbers_;  // words that were numbers
};

}  // namespace simulation::redis
