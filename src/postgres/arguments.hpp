// SPDX-License-Identifier: MIT
// What a statement is given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::postgres {

/// The arguments of a statement, in PostgreSQL's binary form; seven at most.
class Arguments {
 public:
  Arguments& bytes(std::string_view value);
  Arguments& integer(std::int64_t value);
  Arguments& flag(bool value);
  Arguments& bytes_array(const std::vector<std::string>& values);
  Arguments& integer_array(const std::vector<std::int64_t>& values);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  friend struct ArgumentList;
  struct Value {
    unsigned type = 0;
    std::size_t end = 0;  // in `data_`
  };
  Arguments& end(unsigned type);
  std::string data_;  // one behind the other: a statement is worth one allocation
  std::array<Value, 7> values_{};
  std::size_t count_ = 0;
};

}  // namespace mortise::postgres
