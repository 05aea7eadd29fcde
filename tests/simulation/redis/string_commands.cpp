// SPDX-License-Identifier: MIT
// Commands of strings: t_string.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <limits>
#include <string>

namespace simulation::redis {
namespace {

void store(Invocation& call, std::string_view key, std::string_view value, bool keeps_end = false) {
  Value* place = call.keys().find(key, call.now);
  if (place == nullptr) place = &call.keys().add(key);
  if (!keeps_end) place->ends.reset();
  place->data.emplace<std::string>(value);
}

/// What SET's options come to.
struct SetOptions {
  bool if_absent = false;
  bool if_present = false;
  bool get = false;
  bool keeps_end = false;
  std::string_view end;  ///< the number; none = empty
  bool in_seconds = false;
  bool absolute = false;
  bool timed = false;
};

/// @return whether that is an option with a time behind it, which this is then. One that is said
/// twice counts as it was said last; two of them are a mistake.
bool read_time(SetOptions& options, std::string_view word, std::string_view next) {
  const bool seconds = is_word(word, "ex") || is_word(word, "exat");
  const bool absolute = is_word(word, "exat") || is_word(word, "pxat");
  if (!seconds && !absolute && !is_word(word, "px")) return false;
  if (options.timed && (options.in_seconds != seconds || options.absolute != absolute))
    return false;
  options.timed = true;
  options.in_seconds = seconds;
  options.absolute = absolute;
  options.end = next;
  return true;
}

bool read_options(Invocation& call, SetOptions& options) {
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    const std::string_view word = call.word(i);
    if (is_word(word, "nx") && !options.if_present) {
      options.if_absent = true;
    } else if (is_word(word, "xx") && !options.if_absent) {
      options.if_present = true;
    } else if (is_word(word, "get")) {
      options.get = true;
    } else if (is_word(word, "keepttl") && !options.timed) {
      options.keeps_end = true;
    } else if (i + 1 < call.words.size() && !options.keeps_end &&
               read_time(options, word, call.word(i + 1))) {
      ++i;
    } else {
      call.reply.error(syntax_error);
      return false;
    }
  }
  return true;
}

/// @return false = it has answered that this is no time
bool end_of(Invocation& call, std::string_view text, bool in_seconds, bool absolute,
            std::int64_t& at) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto number = parse_integer(text);
  if (!number) {
    call.reply.error(not_an_integer);
    return false;
  }
  const std::int64_t base = absolute ? 0 : call.now;
  const std::int64_t factor = in_seconds ? 1000 : 1;
  if (*number <= 0 || *number > most / factor || *number * factor > most - base) {
    call.reply.error("ERR invalid expire time in '" + std::string(find_command(call.words)->name) +
                     "' command");
    return false;
  }
  at = *number * factor + base;
  return true;
}

void set_with_end(Invocation& call, bool in_seconds) {
  std::int64_t at = 0;
  if (!end_of(call, call.word(2), in_seconds, false, at)) return;
  store(call, call.word(1), call.word(3));
  call.keys().expire(call.word(1), *call.keys().find(call.word(1), call.now), at);
  call.reply.status("OK");
}

void answer_with_string(Invocation& call, const Found<std::string>& found) {
  if (found.content == nullptr) {
    call.reply.nil();
  } else {
    call.reply.bulk(*found.content);
  }
}

void increase(Invocation& call, std::int64_t by) {
  const auto found = look<std::string>(call, call.word(1));
  if (found.mistyped()) return;
  const auto old = found.value == nullptr ? 0 : parse_integer(*found.content);
  if (!old) return call.reply.error(not_an_integer);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*old, by, &sum)) {
    return call.reply.error("ERR increment or decrement would overflow");
  }
  store(call, call.word(1), std::to_string(sum), true);
  call.reply.integer(sum);
}

void increase_by_word(Invocation& call, bool down) {
  const auto by = parse_integer(call.word(2));
  if (!by) return call.reply.error(not_an_integer);
  if (down && *by == std::numeric_limits<std::int64_t>::min()) {
    return call.reply.error("ERR decrement would overflow");
  }
  increase(call, down ? -*by : *by);
}

}  // namespace

void get(Invocation& call) {
  const auto found = look<std::string>(call, call.word(1));
  if (!found.mistyped()) answer_with_string(call, found);
}

void set(Invocation& call) {
  SetOptions options;
  std::int64_t at = 0;
  if (!read_options(call, options)) return;
  if (options.timed && !end_of(call, options.end, options.in_seconds, options.absolute, at)) return;
  if (options.get) {
    const auto found = look<std::string>(call, call.word(1));
    if (found.mistyped()) return;
    answer_with_string(call, found);
  }
  const bool present = call.keys().find(call.word(1), call.now) != nullptr;
  if ((options.if_absent && present) || (options.if_present && !present)) {
    if (!options.get) call.reply.nil();
    return;
  }
  store(call, call.word(1), call.word(2), options.keeps_end);
  if (options.timed) {
    // By its key, since what it is stored at may have ended already.
    call.keys().expire(call.word(1), *call.keys().find(call.word(1), call.now), at);
  }
  if (!options.get) call.reply.status("OK");
}

void setnx(Invocation& call) {
  const bool present = call.keys().find(call.word(1), call.now) != nullptr;
  if (!present) store(call, call.word(1), call.word(2));
  call.reply.integer(present ? 0 : 1);
}

void setex(Invocation& call) { set_with_end(call, true); }
void psetex(Invocation& call) { set_with_end(call, false); }

void getdel(Invocation& call) {
  const auto found = look<std::string>(call, call.word(1));
  if (found.mistyped()) return;
  answer_with_string(call, found);
  call.keys().erase(call.word(1));
}

void strlen(Invocation& call) {
  const auto found = look<std::string>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content == nullptr ? 0
                                              : static_cast<std::int64_t>(found.content->size()));
}

void append(Invocation& call) {
  std::string* const text = look_or_make<std::string>(call, call.word(1));
  if (text == nullptr) return;
  text->append(call.word(2));
  call.reply.integer(static_cast<std::int64_t>(text->size()));
}

void incr(Invocation& call) { increase(call, 1); }
void decr(Invocation& call) { increase(call, -1); }
void incrby(Invocation& call) { increase_by_word(call, false); }
void decrby(Invocation& call) { increase_by_word(call, true); }

}  // namespace simulation::redis
