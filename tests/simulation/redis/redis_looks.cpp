// SPDX-License-Identifier: MIT
// What judges see of a model of Redis.
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/redis_server.hpp"

#include <algorithm>
#include <string>

namespace simulation::redis {
namespace {

/// Takes what stands before the first blank, or all.
std::string_view next_word(std::string_view& text) {
  const std::size_t size = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return word;
}

std::int64_t number_of(std::string_view text) { return parse_integer(text).value_or(0); }

/// As scripts/lock.lua writes it: seconds, and five digits of microseconds, in hexadecimal.
std::uint64_t written_number(std::string_view text) {
  constexpr std::size_t rest = 5;
  if (text.size() <= rest) return 0;
  const std::string digits(text);
  return std::stoull(digits.substr(0, digits.size() - rest), nullptr, 16) * 1'000'000 +
         std::stoull(digits.substr(digits.size() - rest), nullptr, 16);
}

}  // namespace

Value* RedisModel::value(std::string_view key, std::size_t database) {
  return state_.databases.at(database).find(key, state_.now_ms());
}

std::vector<std::string> RedisModel::keys() const {
  return state_.databases[0].keys(state_.now_ms());
}

std::size_t RedisModel::bytes_of(std::string_view key) {
  const Value* const found = value(key);
  return found == nullptr ? 0 : found->bytes();
}

std::optional<std::string> RedisModel::field(std::string_view key, std::string_view name) {
  Value* const found = value(key);
  HashValue* const hash = found == nullptr ? nullptr : std::get_if<HashValue>(&found->data);
  const std::string* const text = hash == nullptr ? nullptr : hash->find(name);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

LockSeen RedisModel::lock(std::string_view key) {
  LockSeen seen;
  const Value* const found = value(key);
  seen.there = found != nullptr && std::holds_alternative<HashValue>(found->data);
  if (!seen.there) return seen;
  const std::string owner = field(key, "o").value_or("");
  std::string_view words = owner;
  // Of a vote in a quorum: "<attempt> <number>". The label is a field by itself.
  const bool vote = std::count(owner.begin(), owner.end(), ' ') == 1;
  const std::string_view first = next_word(words);
  seen.attempt = vote ? first : next_word(words);
  seen.number = vote ? static_cast<std::uint64_t>(number_of(words)) : written_number(first);
  seen.label = vote ? field(key, "l").value_or("") : std::string(words);
  if (const std::optional<std::string> grant = field(key, "g")) {
    constexpr std::int64_t millisecond = 1000;  // us
    words = *grant;
    constexpr std::int64_t bucket = 4'096'000'000;  // us
    constexpr std::int64_t far = 100'000'000;       // ms: see scripts/lock.lua
    seen.since = vote ? number_of(next_word(words)) : static_cast<std::int64_t>(seen.number);
    std::int64_t behind = number_of(words);
    std::int64_t from = seen.since;
    if (!vote && behind >= far) {
      behind -= far;
      from -= from % bucket;
    }
    seen.ends = from + behind * millisecond;
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(state_.site.wall());
    seen.held = seen.ends > now.count();
  }
  seen.waiting = static_cast<std::uint64_t>(number_of(field(key, "w").value_or("")));
  return seen;
}

std::string RedisModel::look(std::string_view key) {
  const LockSeen seen = lock(key);
  if (!seen.there) return "nothing";
  std::string words = seen.held ? "held by " : (seen.ends != 0 ? "lapsed of " : "freed by ");
  words += seen.attempt + " " + std::to_string(seen.number);
  if (seen.ends != 0) {
    words += " from " + std::to_string(seen.since) + " to " + std::to_string(seen.ends);
  }
  return words + ", " + std::to_string(seen.waiting) + " wait";
}

}  // namespace simulation::redis
