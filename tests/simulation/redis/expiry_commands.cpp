// SPDX-License-Identifier: MIT
// How long keys live: expire.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace simulation::redis {
namespace {

struct Conditions {
  bool if_none = false;     // NX
  bool if_some = false;     // XX
  bool if_longer = false;   // GT
  bool if_shorter = false;  // LT
};

bool read_conditions(Invocation& call, Conditions& out) {
  for (const std::string_view word : call.words.subspan(3)) {
    if (is_word(word, "nx")) {
      out.if_none = true;
    } else if (is_word(word, "xx")) {
      out.if_some = true;
    } else if (is_word(word, "gt")) {
      out.if_longer = true;
    } else if (is_word(word, "lt")) {
      out.if_shorter = true;
    } else {
      call.reply.error("ERR Unsupported option " + std::string(c_text(word)));
      return false;
    }
  }
  if (out.if_none && (out.if_some || out.if_longer || out.if_shorter)) {
    call.reply.error("ERR NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (out.if_longer && out.if_shorter) {
    call.reply.error("ERR GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

bool hold(const Conditions& conditions, const Value& value, std::int64_t at) {
  if (conditions.if_none && value.ends) return false;
  if (conditions.if_some && !value.ends) return false;
  if (conditions.if_longer && (!value.ends || at <= *value.ends)) return false;
  return !conditions.if_shorter || !value.ends || at < *value.ends;
}

void set_end(Invocation& call, bool in_seconds, bool absolute) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  Conditions conditions;
  if (!read_conditions(call, conditions)) return;
  const auto number = parse_integer(call.word(2));
  if (!number) return call.reply.error(not_an_integer);
  const std::int64_t factor = in_seconds ? 1000 : 1;
  const std::int64_t base = absolute ? 0 : call.now;
  if (*number > most / factor || *number < least / factor || *number * factor > most - base) {
    return call.reply.error("ERR invalid expire time in '" +
                            std::string(find_command(call.words)->name) + "' command");
  }
  const std::int64_t at = *number * factor + base;
  Value* const value = call.keys().find(call.word(1), call.now);
  if (value == nullptr || !hold(conditions, *value, at)) return call.reply.integer(0);
  if (at <= call.now) {
    call.keys().erase(call.word(1));
  } else {
    call.keys().expire(call.word(1), *value, at);
  }
  call.reply.integer(1);
}

void tell_end(Invocation& call, bool in_seconds, bool absolute) {
  const Value* const value = call.keys().find(call.word(1), call.now);
  if (value == nullptr) return call.reply.integer(-2);
  if (!value->ends) return call.reply.integer(-1);
  const std::int64_t left = std::max<std::int64_t>(*value->ends - (absolute ? 0 : call.now), 0);
  const auto rounded = (static_cast<std::uint64_t>(left) + 500) / 1000;  // room for the largest
  call.reply.integer(in_seconds ? static_cast<std::int64_t>(rounded) : left);
}

}  // namespace

void expire(Invocation& call) { set_end(call, true, false); }
void pexpire(Invocation& call) { set_end(call, false, false); }
void expireat(Invocation& call) { set_end(call, true, true); }
void pexpireat(Invocation& call) { set_end(call, false, true); }
void ttl(Invocation& call) { tell_end(call, true, false); }
void pttl(Invocation& call) { tell_end(call, false, false); }
void expiretime(Invocation& call) { tell_end(call, true, true); }
void pexpiretime(Invocation& call) { tell_end(call, false, true); }

void persist(Invocation& call) {
  Value* const value = call.keys().find(call.word(1), call.now);
  const bool had_end = value != nullptr && value->ends;
  if (had_end) value->ends.reset();
  call.reply.integer(had_end ? 1 : 0);
}

}  // namespace simulation::redis
