// SPDX-License-Identifier: MIT
// What judges see of a model of Redis.
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/redis_server.hpp"
#include "support/redis_fields.hpp"

#include <algorithm>
#include <string>

namespace simulation::redis {
namespace {

std::int64_t number_of(std::string_view text) { return parse_integer(text).value_or(0); }

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

// A lock of redis:, or one server's vote in a quorum.
LockSeen RedisModel::lock(std::string_view of) {
  const std::string key(of);
  LockSeen seen;
  const Value* const found = value(key);
  seen.there = found != nullptr && std::holds_alternative<HashValue>(found->data);
  if (!seen.there) return seen;
  const std::int64_t time =
      std::chrono::duration_cast<std::chrono::microseconds>(state_.site.wall()).count();
  const auto number_in = [&](const std::string& at, const std::string& name) {
    return number_of(field(at, name).value_or(""));
  };
  // A lock has short names for these fields. A vote has the names themselves.
  const bool is_vote = field(key, "owner") || field(key, "grant");
  const auto name_of = [&](const char* name) {
    return is_vote ? std::string(name) : mortise::test::stored_field(name);
  };
  seen.attempt = field(key, name_of("owner")).value_or("");
  seen.number = static_cast<std::uint64_t>(number_in(key, name_of("grant")));
  seen.label = field(key, name_of("label")).value_or("");
  // A lease of a lock counts from its number. A vote has the moment.
  const std::optional<std::string> lease = field(key, name_of("lease"));
  seen.ends = lease ? static_cast<std::int64_t>(seen.number) + number_of(*lease) * 1'000
                    : number_in(key, "ends");
  seen.held = seen.ends > time;
  seen.shared = number_in(key, "readers_until");
  if (seen.held) seen.since = static_cast<std::int64_t>(seen.number);
  if (seen.held) {
    seen.holds.push_back({.attempt = seen.attempt,
                          .number = seen.number,
                          .since = seen.since,
                          .ends = seen.ends,
                          .step = static_cast<std::uint64_t>(number_in(key, "step"))});
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
    const auto noted = [&](const std::string& what) {
      return static_cast<std::uint64_t>(number_in(key + ":reader_info", what));
    };
    seen.holds.push_back({.attempt = attempt,
                          .number = noted(attempt),
                          .ends = ends,
                          .reads = true,
                          .step = noted(attempt + ":step")});
  }
  const Value* const queue = value(key + ":queue");
  const auto* const waiting =
      queue == nullptr ? nullptr : std::get_if<SortedSetValue>(&queue->data);
  seen.waiting = waiting == nullptr ? 0 : waiting->size();
  return seen;
}

std::vector<WaiterSeen> RedisModel::waiters(std::string_view key) {
  std::vector<WaiterSeen> all;
  const Value* const queue = value(std::string(key) + ":queue");
  const auto* const set = queue == nullptr ? nullptr : std::get_if<SortedSetValue>(&queue->data);
  if (set == nullptr) return all;
  for (const auto& [score, place] : set->items()) {
    const std::string attempt = place.substr(1);
    // "<contact> <lease> <label>", of a key of Once without the lease.
    const std::string contact = field(std::string(key) + ":waiters", attempt).value_or("");
    all.push_back({.attempt = attempt,
                   .wants = place.front(),
                   .came = static_cast<std::int64_t>(score),
                   .asked = number_of(contact.substr(0, contact.find(' ')))});
  }
  return all;
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
