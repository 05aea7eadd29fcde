// SPDX-License-Identifier: MIT
// Commands of scripts: eval.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/script_engine.hpp"

#include <algorithm>
#include <string>

namespace simulation::redis {
namespace {

constexpr std::size_t digits_of_sha = 40;

/// @return false = it has answered that the number of keys is none
bool count_keys(Invocation& call, std::size_t& keys) {
  const auto number = parse_integer(call.word(2));
  if (!number) {
    call.reply.error(not_an_integer);
    return false;
  }
  if (*number > static_cast<std::int64_t>(call.words.size()) - 3) {
    call.reply.error("ERR Number of keys can't be greater than number of args");
    return false;
  }
  if (*number < 0) {
    call.reply.error("ERR Number of keys can't be negative");
    return false;
  }
  keys = static_cast<std::size_t>(*number);
  return true;
}

void run(Invocation& call, std::string_view sha, std::size_t keys) {
  const auto words = call.words.subspan(3);
  call.server.scripts->run(call, sha, words.first(keys), words.subspan(keys));
}

}  // namespace

void eval(Invocation& call) {
  std::size_t keys = 0;
  if (!count_keys(call, keys)) return;
  const std::string sha = call.server.scripts->load(call, call.word(1));
  if (!sha.empty()) run(call, sha, keys);
}

void evalsha(Invocation& call) {
  constexpr std::string_view unknown = "NOSCRIPT No matching script. Please use EVAL.";
  const std::string_view sha = call.word(1);
  if (sha.size() != digits_of_sha) return call.reply.error(unknown);
  std::size_t keys = 0;
  if (!count_keys(call, keys)) return;
  if (call.server.scripts->knows(sha)) return run(call, sha, keys);
  std::string smaller(sha);
  std::transform(smaller.begin(), smaller.end(), smaller.begin(), small);
  if (!call.server.scripts->knows(smaller)) return call.reply.error(unknown);
  run(call, smaller, keys);
}

void script_load(Invocation& call) {
  const std::string sha = call.server.scripts->load(call, call.word(2));
  if (!sha.empty()) call.reply.bulk(sha);
}

void script_exists(Invocation& call) {
  call.reply.array(call.words.size() - 2);
  for (const std::string_view sha : call.words.subspan(2)) {
    call.reply.integer(call.server.scripts->knows(sha) ? 1 : 0);
  }
}

void script_flush(Invocation& call) {
  if (call.words.size() > 3 || (call.words.size() == 3 && !is_word(call.word(2), "sync") &&
                                !is_word(call.word(2), "async"))) {
    return call.reply.error("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  call.server.scripts->flush();
  call.reply.status("OK");
}

}  // namespace simulation::redis
