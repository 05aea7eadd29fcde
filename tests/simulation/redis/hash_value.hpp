// SPDX-License-Identifier: MIT
// A hash: few fields in the order in which they came, as Redis keeps small ones; many by an index.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simulation::redis {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>()(text);
  }
};

class HashValue {
 public:
  using Field = std::pair<std::string, std::string>;

  /// @return the value; null = no such field. Good until the next change.
  [[nodiscard]] std::string* find(std::string_view field);
  /// @return whether the field is new
  bool set(std::string_view field, std::string_view value);
  /// @return whether there was such a field
  bool erase(std::string_view field);

  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  [[nodiscard]] const std::vector<Field>& fields() const noexcept { return fields_; }
  /// @return the bytes of all names and values
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  // Redis' hash-max-listpack-entries. Beyond that the order is nobody's promise.
  static constexpr std::size_t most_in_order = 128;

  [[nodiscard]] std::size_t position(std::string_view field) const;
  void make_index();

  std::vector<Field> fields_;
  std::unordered_map<std::string, std::size_t, StringHash, std::equal_to<>> index_;  // empty = few
};

}  // namespace simulation::redis
