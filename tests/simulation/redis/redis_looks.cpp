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

/// With zeros in front.
std::int64_t number_of_digits(std::string_view text) {
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size() - 1);
  return number_of(text.substr(zeros));
}

/// As scripts/lock.lua writes it: seconds, and five digits of microseconds, in hexadecimal.
std::uint64_t written_number(std::string_view text) {
  constexpr std::size_t rest = 5;
  if (text.size() <= rest) return 0;
  const std::string digits(text);
  return std::stoull(digits.substr(0, digits.size() - rest), nullptr, 16) * 1'000'000 +
         std::stoull(digits.substr(digits.size() - rest), nullptr, 16);
}

/// As scripts/readers.lua writes it: each has its place, with the end of its lease, its number, and
/// its attempt with blanks behind.
std::vector<HoldSeen> readers_in(std::string_view text) {
  constexpr std::size_t place = 61;
  constexpr std::size_t digits = 16;
  std::vector<HoldSeen> all;
  for (; text.size() >= place; text.remove_prefix(place)) {
    std::string_view attempt = text.substr(2 * digits + 1);
    all.push_back(
        {.attempt = std::string(next_word(attempt)),
         .number = static_cast<std::uint64_t>(number_of_digits(text.substr(digits, digits))),
         .ends = number_of_digits(text.substr(0, digits)),
         .reads = true});
  }
  return all;
}

}  // namespace

const HoldSeen* LockSeen::hold(std::uint64_t of_number) const {
  const auto found = std::find_if(holds.begin(), holds.end(),
                                  [&](const HoldSeen& each) { return each.number == of_number; });
  return found == holds.end() ? nullptr : &*found;
}

bool LockSeen::is_held_by(std::string_view who) const {
  return std::any_of(holds.begin(), holds.end(),
                     [&](const HoldSeen& each) { return each.attempt == who; });
}

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

// One server's vote in a quorum, as src/redlock/scripts keep it.
LockSeen RedisModel::vote(const std::string& key) {
  LockSeen seen;
  seen.there = true;
  const std::int64_t time =
      std::chrono::duration_cast<std::chrono::microseconds>(state_.site.wall()).count();
  const auto number_in = [&](const std::string& at, const std::string& name) {
    return number_of(field(at, name).value_or(""));
  };
  seen.attempt = field(key, "owner").value_or("");
  seen.number = static_cast<std::uint64_t>(number_in(key, "number"));
  seen.label = field(key, "label").value_or("");
  seen.ends = number_in(key, "ends");
  seen.held = seen.ends > time;
  if (seen.held) {
    seen.holds.push_back({.attempt = seen.attempt, .number = seen.number, .ends = seen.ends});
  }
  const Value* const readers = value(key + ":readers");
  const auto* const set =
      readers == nullptr ? nullptr : std::get_if<SortedSetValue>(&readers->data);
  for (const auto& [score, attempt] :
       set == nullptr ? std::set<SortedSetValue::Item>() : set->items()) {
    const auto ends = static_cast<std::int64_t>(score);
    if (ends <= time) continue;
    seen.held = seen.read = true;
    seen.ends = std::max(seen.ends, ends);
    seen.holds.push_back({.attempt = attempt,
                          .number = static_cast<std::uint64_t>(number_in(key + ":notes", attempt)),
                          .ends = ends,
                          .reads = true});
  }
  const Value* const queue = value(key + ":queue");
  const auto* const waiting =
      queue == nullptr ? nullptr : std::get_if<SortedSetValue>(&queue->data);
  seen.waiting = waiting == nullptr ? 0 : waiting->size();
  return seen;
}

LockSeen RedisModel::lock(std::string_view key) {
  LockSeen seen;
  for (const char* const each : {"owner", "last", "crowd"}) {
    if (field(key, each)) return vote(std::string(key));
  }
  const Value* const found = value(key);
  seen.there = found != nullptr && std::holds_alternative<HashValue>(found->data);
  if (!seen.there) return seen;
  const std::string owner = field(key, "o").value_or("");
  std::string_view words = owner;
  seen.number = written_number(next_word(words));
  seen.attempt = next_word(words);
  const std::int64_t time =
      std::chrono::duration_cast<std::chrono::microseconds>(state_.site.wall()).count();
  seen.label = words;
  if (const std::optional<std::string> grant = field(key, "g")) {
    constexpr std::int64_t millisecond = 1000;  // us
    words = *grant;
    constexpr std::int64_t bucket = 4'096'000'000;  // us
    constexpr std::int64_t far = 100'000'000;       // ms: see scripts/lock.lua
    seen.since = static_cast<std::int64_t>(seen.number);
    std::int64_t behind = number_of(words);
    std::int64_t from = seen.since;
    if (behind >= far) {
      behind -= far;
      from -= from % bucket;
    }
    seen.ends = from + behind * millisecond;
    seen.held = seen.ends > time;
  }
  const char sign = seen.attempt.empty() ? ' ' : seen.attempt.front();
  const bool alone = sign == '*';  // who reads: it is noted as an owner is
  seen.read = sign == '*' || sign == '&' || sign == '+';
  HoldSeen its{
      .attempt = seen.attempt, .number = seen.number, .since = seen.since, .ends = seen.ends};
  if (seen.read) {
    const std::size_t behind = std::min(seen.attempt.find('.'), seen.attempt.size());
    if (behind < seen.attempt.size())
      its.number = written_number(std::string_view(seen.attempt).substr(behind + 1));
    its.attempt = seen.attempt = seen.attempt.substr(1, behind - 1);
    its.reads = alone;
    if (!alone) its.ends = sign == '+' ? number_of(field(key, "k").value_or("")) : 0;
    if (seen.held && !alone) seen.holds = readers_in(field(key, "s").value_or(""));
  }
  if (seen.held) seen.holds.push_back(std::move(its));
  std::erase_if(seen.holds, [&](const HoldSeen& each) { return each.ends <= time; });
  seen.waiting = static_cast<std::uint64_t>(number_of(field(key, "w").value_or("")));
  return seen;
}

std::string RedisModel::look(std::string_view key) {
  const LockSeen seen = lock(key);
  if (!seen.there) return "nothing";
  std::string words = seen.held ? "held by " : (seen.ends != 0 ? "lapsed of " : "freed by ");
  for (const HoldSeen& each : seen.holds) {
    if (seen.read) {
      words += each.attempt + (each.reads ? " reads " : " owns ") + std::to_string(each.number) +
               " to " + std::to_string(each.ends) + ", ";
    }
  }
  words += seen.attempt + " " + std::to_string(seen.number);
  if (seen.ends != 0) {
    words += " from " + std::to_string(seen.since) + " to " + std::to_string(seen.ends);
  }
  return words + ", " + std::to_string(seen.waiting) + " wait";
}

}  // namespace simulation::redis
