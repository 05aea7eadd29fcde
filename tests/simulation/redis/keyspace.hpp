// SPDX-License-Identifier: MIT
// One database: keys, their values by type, and when they end. A key that has ended is gone at the
// first look; `sweep()` is for those that nobody looks at.
#pragma once

#include "simulation/redis/hash_value.hpp"
#include "simulation/redis/sorted_set_value.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace simulation::redis {

using ListValue = std::deque<std::string>;
using SetValue = std::set<std::string, std::less<>>;

struct Value {
  std::variant<std::string, HashValue, ListValue, SetValue, SortedSetValue> data;
  std::optional<std::int64_t> ends;  ///< in ms since 1970; none = lives for ever

  /// @return as TYPE answers
  [[nodiscard]] std::string_view type() const noexcept;
  /// @return the bytes of what is in it, without the key
  [[nodiscard]] std::size_t bytes() const noexcept;
};

class Keyspace {
 public:
  /// @return the value; null = no such key. Good until the next change of the keys.
  /// @param now in ms since 1970
  [[nodiscard]] Value* find(std::string_view key, std::int64_t now);
  /// @return the value of a key that is not there yet
  Value& add(std::string_view key);
  /// @return whether there was one, ended or not
  bool erase(std::string_view key);
  void clear();
  void expire(std::string_view key, Value& value, std::int64_t at);

  /// Removes what has ended.
  void sweep(std::int64_t now);
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  /// @return the keys that have not ended, in the order of their bytes
  [[nodiscard]] std::vector<std::string> keys(std::int64_t now) const;

 private:
  using End = std::pair<std::int64_t, std::string>;

  std::unordered_map<std::string, Value, StringHash, std::equal_to<>> values_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // some are out of date
};

}  // namespace simulation::redis
