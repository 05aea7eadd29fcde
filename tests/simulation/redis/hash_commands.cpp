// SPDX-License-Identifier: MIT
// Commands of hashes: t_hash.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <string>

namespace simulation::redis {
namespace {

void answer_with_field(Invocation& call, const std::string* value) {
  if (value == nullptr) {
    call.reply.nil();
  } else {
    call.reply.bulk(*value);
  }
}

/// @return the value of the field in the third word; null = no such key or field
std::string* field(Invocation& call, const Found<HashValue>& found) {
  return found.content == nullptr ? nullptr : found.content->find(call.word(2));
}

void list(Invocation& call, bool names, bool values) {
  const auto found = look<HashValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.array(0);
  call.reply.array(found.content->size() * (names && values ? 2 : 1));
  for (const auto& [name, value] : found.content->fields()) {
    if (names) call.reply.bulk(name);
    if (values) call.reply.bulk(value);
  }
}

}  // namespace

void hset(Invocation& call) {
  const bool plain = small(call.word(0)[1]) == 's';
  if (call.words.size() % 2 == 1) {
    return call.reply.error(std::string("ERR wrong number of arguments for '") +
                            (plain ? "hset" : "hmset") + "' command");
  }
  HashValue* const hash = look_or_make<HashValue>(call, call.word(1));
  if (hash == nullptr) return;
  std::int64_t made = 0;
  for (std::size_t i = 2; i < call.words.size(); i += 2) {
    made += hash->set(call.word(i), call.word(i + 1)) ? 1 : 0;
  }
  if (plain) {
    call.reply.integer(made);
  } else {
    call.reply.status("OK");
  }
}

void hsetnx(Invocation& call) {
  HashValue* const hash = look_or_make<HashValue>(call, call.word(1));
  if (hash == nullptr) return;
  const bool present = hash->find(call.word(2)) != nullptr;
  if (!present) hash->set(call.word(2), call.word(3));
  call.reply.integer(present ? 0 : 1);
}

void hget(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (!found.mistyped()) answer_with_field(call, field(call, found));
}

void hmget(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.array(call.words.size() - 2);
  for (const std::string_view name : call.words.subspan(2)) {
    answer_with_field(call, found.content == nullptr ? nullptr : found.content->find(name));
  }
}

void hdel(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.integer(0);
  std::int64_t gone = 0;
  for (const std::string_view name : call.words.subspan(2)) {
    if (!found.content->erase(name)) continue;
    ++gone;
    if (found.content->size() == 0) {
      call.keys().erase(call.word(1));
      break;
    }
  }
  call.reply.integer(gone);
}

void hexists(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (!found.mistyped()) call.reply.integer(field(call, found) == nullptr ? 0 : 1);
}

void hlen(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content == nullptr ? 0 : size_of(found.content->size()));
}

void hstrlen(Invocation& call) {
  const auto found = look<HashValue>(call, call.word(1));
  if (found.mistyped()) return;
  const std::string* const value = field(call, found);
  call.reply.integer(value == nullptr ? 0 : size_of(value->size()));
}

void hgetall(Invocation& call) { list(call, true, true); }
void hkeys(Invocation& call) { list(call, true, false); }
void hvals(Invocation& call) { list(call, false, true); }

void hincrby(Invocation& call) {
  const auto by = parse_integer(call.word(3));
  if (!by) return call.reply.error(not_an_integer);
  HashValue* const hash = look_or_make<HashValue>(call, call.word(1));
  if (hash == nullptr) return;
  const std::string* const value = hash->find(call.word(2));
  const auto old = value == nullptr ? 0 : parse_integer(*value);
  if (!old) return call.reply.error("ERR hash value is not an integer");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*old, *by, &sum)) {
    return call.reply.error("ERR increment or decrement would overflow");
  }
  hash->set(call.word(2), std::to_string(sum));
  call.reply.integer(sum);
}

}  // namespace simulation::redis
