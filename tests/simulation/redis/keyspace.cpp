// SPDX-License-Identifier: MIT
#include "simulation/redis/keyspace.hpp"

#include <algorithm>
#include <array>

namespace simulation::redis {
namespace {

bool has_ended(const Value& value, std::int64_t now) { return value.ends && now > *value.ends; }

std::size_t bytes_of(const std::string& text) { return text.size(); }
std::size_t bytes_of(const HashValue& hash) { return hash.bytes(); }
std::size_t bytes_of(const SortedSetValue& set) { return set.bytes(); }

template <typename Items>
std::size_t bytes_of(const Items& items) {
  std::size_t sum = 0;
  for (const std::string& item : items) sum += item.size();
  return sum;
}

}  // namespace

std::string_view Value::type() const noexcept {
  constexpr std::array<std::string_view, 5> names{"string", "hash", "list", "set", "zset"};
  return names.at(data.index());
}

std::size_t Value::bytes() const noexcept {
  return std::visit([](const auto& alternative) { return bytes_of(alternative); }, data);
}

Value* Keyspace::find(std::string_view key, std::int64_t now) {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  if (has_ended(found->second, now)) {
    values_.erase(found);
    return nullptr;
  }
  return &found->second;
}

Value& Keyspace::add(std::string_view key) { return values_[std::string(key)]; }

bool Keyspace::erase(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  values_.erase(found);
  return true;
}

void Keyspace::clear() {
  values_.clear();
  ends_ = {};
}

void Keyspace::expire(std::string_view key, Value& value, std::int64_t at) {
  value.ends = at;
  ends_.emplace(at, key);
}

void Keyspace::sweep(std::int64_t now) {
  while (!ends_.empty() && now > ends_.top().first) {
    static_cast<void>(find(ends_.top().second, now));
    ends_.pop();
  }
}

std::vector<std::string> Keyspace::keys(std::int64_t now) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) {
    if (!has_ended(value, now)) out.push_back(key);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace simulation::redis
