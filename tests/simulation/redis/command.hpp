// SPDX-License-Identifier: MIT
// One command: what it is called, when it may run, and what carries it out. What carries one out
// finds in an `Invocation` all that it may touch.
#pragma once

#include "simulation/redis/keyspace.hpp"
#include "simulation/redis/reply.hpp"
#include "simulation/redis/server_state.hpp"
#include "simulation/redis/session.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace simulation::redis {

struct Invocation {
  ServerState& server;
  Session& session;  ///< whose command it is; in a script, whose script
  std::span<const std::string_view> words;
  Reply& reply;
  std::int64_t now;  ///< in ms since 1970

  [[nodiscard]] Keyspace& keys() const { return server.databases.at(session.database); }
  [[nodiscard]] std::string_view word(std::size_t i) const { return words[i]; }
};

/// As Redis' tables of commands have them.
enum CommandFlags : unsigned {
  none = 0,
  writes = 1,
  denied_without_memory = 2,
  not_in_scripts = 4,
  while_loading = 8,
  before_login = 16,
  while_listening = 32,
  while_busy = 64,
};

struct Command {
  std::string_view name;  ///< in small letters; of a subcommand "client|setname"
  void (*run)(Invocation&);
  int arity;  ///< how many words, the name among them; negative: at least
  unsigned flags;
  bool container = false;  ///< it has subcommands
};

/// @param words of a call, not empty
/// @return null = unknown
[[nodiscard]] const Command* find_command(std::span<const std::string_view> words);

/// @return whether that many words are right
[[nodiscard]] constexpr bool fits(const Command& command, std::size_t words) noexcept {
  const int size = static_cast<int>(words);
  return command.arity >= 0 ? size == command.arity : size >= -command.arity;
}

/// Answers where the value is of another type than the command's.
inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view syntax_error = "ERR syntax error";

/// As answers have it.
[[nodiscard]] constexpr std::int64_t size_of(std::size_t size) noexcept {
  return static_cast<std::int64_t>(size);
}

/// What stands at a key, for a command of values of type T.
template <typename T>
struct Found {
  Value* value = nullptr;  ///< null = no such key
  T* content = nullptr;    ///< null = no such key, or another type
  [[nodiscard]] bool mistyped() const noexcept { return value != nullptr && content == nullptr; }
};

/// @return what is there; where it is of another type, that is answered already
template <typename T>
Found<T> look(Invocation& call, std::string_view key) {
  Found<T> found;
  found.value = call.keys().find(key, call.now);
  if (found.value != nullptr) found.content = std::get_if<T>(&found.value->data);
  if (found.mistyped()) call.reply.error(wrong_type);
  return found;
}

/// The same, and makes an empty one where there is none.
template <typename T>
T* look_or_make(Invocation& call, std::string_view key) {
  const Found<T> found = look<T>(call, key);
  if (found.value != nullptr) return found.content;
  return &call.keys().add(key).data.template emplace<T>();
}

}  // namespace simulation::redis
