// SPDX-License-Identifier: MIT
// Commands of keys of any type: db.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <fnmatch.h>

#include <string>

namespace simulation::redis {
namespace {

bool mode_is_right(Invocation& call) {
  if (call.words.size() == 1) return true;
  if (call.words.size() == 2 && (is_word(call.word(1), "sync") || is_word(call.word(1), "async"))) {
    return true;
  }
  call.reply.error(syntax_error);
  return false;
}

}  // namespace

void del(Invocation& call) {
  std::int64_t gone = 0;
  for (const std::string_view key : call.words.subspan(1)) {
    if (call.keys().find(key, call.now) == nullptr) continue;
    call.keys().erase(key);
    ++gone;
  }
  call.reply.integer(gone);
}

void exists(Invocation& call) {
  std::int64_t present = 0;
  for (const std::string_view key : call.words.subspan(1)) {
    present += call.keys().find(key, call.now) != nullptr ? 1 : 0;
  }
  call.reply.integer(present);
}

void type(Invocation& call) {
  const Value* const value = call.keys().find(call.word(1), call.now);
  call.reply.status(value == nullptr ? "none" : value->type());
}

void dbsize(Invocation& call) { call.reply.integer(static_cast<std::int64_t>(call.keys().size())); }

// Sorted, which Redis' are not: no decision may hang on the order of a table.
void keys(Invocation& call) {
  const std::string pattern(call.word(1));
  std::vector<std::string> matching;
  for (std::string& key : call.keys().keys(call.now)) {
    if (::fnmatch(pattern.c_str(), key.c_str(), 0) == 0) matching.push_back(std::move(key));
  }
  call.reply.array(matching.size());
  for (const std::string& key : matching) call.reply.bulk(key);
}

void flushdb(Invocation& call) {
  if (!mode_is_right(call)) return;
  call.keys().clear();
  call.reply.status("OK");
}

void flushall(Invocation& call) {
  if (!mode_is_right(call)) return;
  for (Keyspace& keys : call.server.databases) keys.clear();
  call.reply.status("OK");
}

}  // namespace simulation::redis
