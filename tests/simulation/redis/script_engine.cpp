// SPDX-License-Identifier: MIT
#include "simulation/redis/script_engine.hpp"

#include "simulation/redis/command.hpp"
#include "simulation/redis/lua_memory.hpp"
#include "simulation/redis/lua_reply.hpp"
#include "simulation/redis/lua_upvalues.hpp"
#include "simulation/redis/rules.hpp"
#include "simulation/redis/script_files.hpp"
#include "simulation/redis/script_library.hpp"
#include "simulation/redis/script_mutants.hpp"
#include "simulation/redis/sha1.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <lua.hpp>
#include <new>

namespace simulation::redis {
namespace {

// Word for word that of eval.c.
constexpr std::string_view handler_text = R"lua(
local dbg = ...
return function(err)
  local i = dbg.getinfo(2,'nSl')
  if i and i.what == 'C' then
    i = dbg.getinfo(3,'nSl')
  end
  if type(err) ~= 'table' then
    err = {err='ERR ' .. tostring(err)}
  end
  if i then
    err['source'] = i.source
    err['line'] = i.currentline
  end
  return err
end
)lua";

// Garbage is collected between two scripts, once there is so many times as much as is in use: which
// is little, and should stay where the processor has it at hand.
constexpr int seldom = 3;

/// As "%.17g" has it, which for what scripts count is a plain integer.
std::string_view write_number(double number, std::array<char, 32>& out) {
  constexpr double exact = 9e15;
  if (std::trunc(number) == number && std::abs(number) < exact &&
      (number != 0 || !std::signbit(number))) {
    char* const end =
        std::to_chars(out.data(), out.data() + out.size(), static_cast<std::int64_t>(number)).ptr;
    return {out.data(), static_cast<std::size_t>(end - out.data())};
  }
  const int size = std::snprintf(out.data(), out.size(), "%.17g", number);
  return {out.data(), static_cast<std::size_t>(size)};
}

void note_instructions(lua_State* lua, lua_Debug* /*where*/) {
  void* memory = nullptr;
  lua_getallocf(lua, &memory);
  static_cast<LuaMemory*>(memory)->counters().instructions +=
      static_cast<std::uint64_t>(lua_gethookcount(lua));
}

/// Whoever meets a server that does not know a script sends it whole: of each length the last one
/// is remembered.
std::string name_of(std::string_view text) {
  struct Named {
    std::string text;
    std::string sha;
  };
  static std::unordered_map<std::size_t, Named> known;
  Named& last = known[text.size()];
  if (last.sha.empty() || last.text != text) last = {std::string(text), sha1_hex(text)};
  return last.sha;
}

int append_code(lua_State* /*lua*/, const void* bytes, std::size_t size, void* code) {
  static_cast<std::string*>(code)->append(static_cast<const char*>(bytes), size);
  return 0;
}

/// @return the text on top of Lua's stack, or the texts and integers of a list, one blank between
/// two.
std::string words_of(lua_State* lua) {
  if (lua_type(lua, -1) == LUA_TSTRING) return std::string(text_at(lua, -1));
  std::string words;
  if (!lua_istable(lua, -1)) return words;
  for (int i = 1; i <= static_cast<int>(lua_objlen(lua, -1)); ++i) {
    lua_rawgeti(lua, -1, i);
    if (i > 1) words += ' ';
    // The text of a number is not asked for: that would change it.
    if (lua_type(lua, -1) == LUA_TSTRING) words += text_at(lua, -1);
    if (lua_type(lua, -1) == LUA_TNUMBER) {
      words += std::to_string(static_cast<std::int64_t>(lua_tonumber(lua, -1)));
    }
    if (lua_istable(lua, -1)) words += words_of(lua);
    lua_pop(lua, 1);
  }
  return words;
}

/// @return which of our scripts has that digest; empty = none.
std::string_view our_script(std::string_view sha) {
  static const std::unordered_map<std::string_view, std::string_view> names = [] {
    std::unordered_map<std::string_view, std::string_view> all;
    for (const ScriptFile& file : script_files()) {
      for (const std::string_view each : {file.sha, file.cluster_sha}) {
        all.emplace(each, file.name.substr(0, file.name.rfind('.')));
      }
    }
    return all;
  }();
  const auto found = names.find(sha);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace

void ScriptEngine::Closer::operator()(lua_State* lua) const noexcept { lua_close(lua); }

ScriptEngine::ScriptEngine(ServerState& server) : server_(server) { open(); }

ScriptEngine::~ScriptEngine() { forget_upvalues(nullptr); }

void ScriptEngine::open() {
  forget_upvalues(nullptr);  // the next one may get the same address
  lua_.reset();              // before its memory
  memory_ = std::make_unique<LuaMemory>(server_.counters);
  lua_.reset(lua_newstate(&LuaMemory::allocate, memory_.get()));
  if (!lua_) throw std::bad_alloc();
  lua_State* const lua = lua_.get();
  lua_gc(lua, LUA_GCSTOP, 0);
  collects_at_ = 0;
  luaL_loadbuffer(lua, handler_text.data(), handler_text.size(), "@err_handler_def");
  lua_pushcfunction(lua, luaopen_debug);
  lua_call(lua, 0, 1);
  lua_call(lua, 1, 1);  // before the library, which knows no `debug`
  lua_pushnil(lua);
  lua_setglobal(lua, LUA_DBLIBNAME);
  handler_ = luaL_ref(lua, LUA_REGISTRYINDEX);
  globals_ = open_library(lua, *this);
  functions_.clear();
  count_instructions(step_);
}

void ScriptEngine::flush() { open(); }

// Not while a script runs: see lua_upvalues.hpp.
void ScriptEngine::collect_garbage() {
  lua_State* const lua = lua_.get();
  if (lua_gc(lua, LUA_GCCOUNT, 0) < collects_at_) return;
  lua_gc(lua, LUA_GCCOLLECT, 0);
  lua_gc(lua, LUA_GCSTOP, 0);
  collects_at_ = seldom * lua_gc(lua, LUA_GCCOUNT, 0);
}

void ScriptEngine::make_mistake(std::string_view name) {
  mistake_ = name;
  flush();
}

void ScriptEngine::count_instructions(int step) {
  step_ = step;
  lua_sethook(lua_.get(), step > 0 ? note_instructions : nullptr, step > 0 ? LUA_MASKCOUNT : 0,
              step);
}

bool ScriptEngine::knows(std::string_view sha) const { return functions_.contains(sha); }

std::string ScriptEngine::load(Invocation& call, std::string_view text) {
  std::string sha = name_of(text);
  if (knows(sha)) return sha;
  lua_State* const lua = lua_.get();
  // Every run begins with servers that know no script: compiled once for all of them.
  static std::unordered_map<std::string, std::string> compiled;
  std::string& code = compiled[sha + " " + mistake_];
  const std::string patched =
      mistake_.empty() || !code.empty() ? std::string() : with_mistake(text, mistake_);
  if (!patched.empty()) text = patched;
  if (!code.empty()) text = code;
  if (luaL_loadbuffer(lua, text.data(), text.size(), "@user_script") != 0) {
    call.reply.error("ERR Error compiling script (new function): " + std::string(text_at(lua, -1)));
    lua_pop(lua, 1);
    return {};
  }
  if (code.empty()) lua_dump(lua, append_code, &code);
  functions_.emplace(sha, luaL_ref(lua, LUA_REGISTRYINDEX));
  return sha;
}

void ScriptEngine::set_global(const char* name, std::span<const std::string_view> values) {
  lua_State* const lua = lua_.get();
  lua_createtable(lua, static_cast<int>(values.size()), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    lua_pushlstring(lua, values[i].data(), values[i].size());
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
  lua_setfield(lua, -2, name);
}

void ScriptEngine::run(Invocation& call, std::string_view sha,
                       std::span<const std::string_view> keys,
                       std::span<const std::string_view> arguments) {
  lua_State* const lua = lua_.get();
  lua_rawgeti(lua, LUA_REGISTRYINDEX, handler_);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, globals_);
  set_global("KEYS", keys);
  set_global("ARGV", arguments);
  lua_pop(lua, 1);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, functions_.find(sha)->second);
  running_ = &call;
  has_written_ = false;
  ++server_.counters.scripts;
  forget_upvalues(lua);
  const bool failed = lua_pcall(lua, 0, 1, -2) != 0;
  running_ = nullptr;
  if (failed) {
    answer_failure(call, sha);
    lua_pop(lua, 1);
  } else {
    const std::string answer = server_.on_script ? words_of(lua) : std::string();
    answer_with(lua, call.reply);
    if (server_.on_script) {
      server_.on_script({call.session.connection, our_script(sha), keys, arguments, answer});
    }
  }
  lua_pop(lua, 1);  // the handler
  collect_garbage();
}

void ScriptEngine::answer_failure(Invocation& call, std::string_view sha) {
  lua_State* const lua = lua_.get();
  if (!lua_istable(lua, -1)) {
    call.reply.error("ERR Error running script " + std::string(sha) + ", " +
                     std::string(text_at(lua, -1).substr(0, 100)));
    return;
  }
  const auto field = [lua](const char* name) {
    lua_getfield(lua, -1, name);
    std::string text(text_at(lua, -1));
    lua_pop(lua, 1);
    return text;
  };
  std::string words = field("err");
  const std::string source = field("source");
  const std::string line = field("line");
  if (!source.empty() && !line.empty()) {
    words += " script: " + std::string(sha) + ", on " + source + ":" + line + ".";
  }
  call.reply.error(words);
}

bool ScriptEngine::read_words(lua_State* lua) {
  const int size = lua_gettop(lua);
  if (size == 0) {
    push_error(lua, "Please specify at least one argument for this redis lib call");
    return false;
  }
  words_.clear();
  if (numbers_.size() < static_cast<std::size_t>(size)) {
    numbers_.resize(static_cast<std::size_t>(size));
  }
  for (int i = 1; i <= size; ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TNUMBER) {
      const double number = lua_tonumber(lua, i);
      if (std::abs(number) >= 1e8) ++server_.counters.large_numbers;
      words_.push_back(write_number(number, numbers_[words_.size()]));
    } else if (type == LUA_TSTRING) {
      words_.push_back(text_at(lua, i));
    } else {
      push_error(lua, "Lua redis lib command arguments must be strings or integers");
      return false;
    }
  }
  return true;
}

bool ScriptEngine::call_from_script(lua_State* lua) { return read_words(lua) && call_command(lua); }

bool ScriptEngine::call_command(lua_State* lua) {
  const Command* const command = find_command(words_);
  std::string_view why;
  if (command == nullptr) {
    why = "Unknown Redis command called from script";
  } else if (!fits(*command, words_.size())) {
    why = "Wrong number of args calling Redis command from script";
  } else {
    why = refusal_in_script(server_, *command, has_written_);
  }
  // scriptVerifyClusterState(): also of a key that is nowhere, in a slot that is on its way.
  if (why.empty() && server_.slots.is_part() &&
      !server_.slots.redirection(running_->session, *command, words_).empty()) {
    why = "Script attempted to access a non local key in a cluster node";
  }
  if (!why.empty()) {
    push_error(lua, why);
    return false;
  }
  if ((command->flags & writes) != 0) has_written_ = true;
  ++server_.counters.commands_of_scripts;
  LuaReply reply(lua);
  Invocation call{server_, running_->session, words_, reply, running_->now};
  command->run(call);
  server_.replication.note(*command, words_, call.session.database);
  return !reply.failed();
}

}  // namespace simulation::redis
