// SPDX-License-Identifier: MIT
// Values of SQL as the model knows them, what a statement returns, and what it fails with.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::postgres {

/// A timestamptz: microseconds since the year 2000.
using Moment = std::int64_t;
constexpr Moment minus_infinity = INT64_MIN;
constexpr Moment infinity = INT64_MAX;
/// From 1970 to 2000, for `extract(epoch FROM ...)`.
constexpr std::int64_t epoch_offset = 946'684'800'000'000;
constexpr std::int64_t in_a_second = 1'000'000;

enum class Type : std::uint32_t {
  boolean = 16,
  bytea = 17,
  int8 = 20,
  int4 = 23,
  text = 25,
  moment = 1184,
  nothing = 2278,  ///< void
};

struct Value {
  Type type = Type::text;
  bool null = false;
  std::int64_t number = 0;  ///< of all types but bytea and text
  std::string bytes{};

  static Value of(std::string text) { return {.type = Type::text, .bytes = std::move(text)}; }
  static Value binary(std::string bytes) {
    return {.type = Type::bytea, .bytes = std::move(bytes)};
  }
  static Value of(Type type, std::int64_t number) { return {.type = type, .number = number}; }
  static Value none(Type type = Type::text) { return {.type = type, .null = true}; }

  /// @return it as the server sends it.
  [[nodiscard]] std::string encoded(bool as_binary) const;
};

/// What a statement returns.
struct Rows {
  std::string tag = "SELECT";  ///< of CommandComplete; "SELECT" gets the number of rows
  bool selects = true;         ///< false: a command, which returns no columns
  std::vector<Type> columns{};
  std::vector<std::vector<Value>> rows{};

  static Rows command(std::string tag) { return {.tag = std::move(tag), .selects = false}; }
  static Rows one(Value value);
};

/// An argument as it came.
struct Argument {
  bool null = false;
  bool binary = true;
  std::string bytes{};

  [[nodiscard]] std::string as_bytes() const;
  [[nodiscard]] std::int64_t as_number() const;
  [[nodiscard]] std::vector<std::string> as_bytes_array() const;
  [[nodiscard]] std::vector<std::int64_t> as_number_array() const;
};

/// A statement fails.
class SqlError : public std::runtime_error {
 public:
  SqlError(std::string state, const std::string& words, bool fatal = false)
      : std::runtime_error(words), state_(std::move(state)), fatal_(fatal) {}
  [[nodiscard]] const std::string& state() const noexcept { return state_; }
  [[nodiscard]] bool fatal() const noexcept { return fatal_; }  ///< ends the session

 private:
  std::string state_;
  bool fatal_;
};

/// `encode(bytes, 'hex')` and back.
[[nodiscard]] std::string hex_of(std::string_view bytes);
[[nodiscard]] std::string bytes_of_hex(std::string_view digits);

}  // namespace simulation::postgres
