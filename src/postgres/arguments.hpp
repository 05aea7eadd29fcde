// SPDX-License-Identifier: MIT
// What a statement is given.
#pragma once

#include "remote/server_clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::postgres {

/// A moment in PostgreSQL's binary form, and back.
[[nodiscard]] std::int64_t timestamptz_of(remote::ServerTime moment) noexcept;
[[nodiscard]] remote::ServerTime server_time(std::int64_t timestamptz) noexcept;

/// The arguments of a statement, in PostgreSQL's binary form; seven at most.
class Arguments {
 public:
  Arguments& bytes(std::string_view value);
  Arguments& integer(std::int64_t value);
  Arguments& flag(bool value);
  /// @param moment `ServerTime::max()`: it never comes
  Arguments& moment(remote::ServerTime moment);
  /// Gives the last one, which is a moment, another value.
  void set_last(remote::ServerTime moment);
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
