// SPDX-License-Identifier: MIT
// PostgreSQL's binary form of values: numbers in the order of the network.
#include "postgres/arguments.hpp"

#include <endian.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace mortise::postgres {
namespace {

// Types of the server's catalogue that never change (pg_type.dat).
constexpr unsigned bool_type = 16;
constexpr unsigned bytea_type = 17;
constexpr unsigned int8_type = 20;
constexpr unsigned bytea_array_type = 1001;
constexpr unsigned int8_array_type = 1016;
constexpr unsigned timestamptz_type = 1184;

// A timestamptz counts microseconds from here.
constexpr remote::ServerTime year_2000 = std::chrono::seconds(946'684'800);

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, sizeof(std::uint64_t)> bytes{};
  const std::uint64_t ordered = htobe64(static_cast<std::uint64_t>(value));
  std::memcpy(bytes.data(), &ordered, sizeof ordered);
  out.append(bytes.data() + (bytes.size() - sizeof value), sizeof value);
}

// An array of one dimension without nulls: dimensions, nulls, type, length, first index, elements.
void append_array_head(std::string& out, unsigned type, std::size_t length) {
  append_number(out, std::int32_t{1});
  append_number(out, std::int32_t{0});
  append_number(out, type);
  append_number(out, static_cast<std::int32_t>(length));
  append_number(out, std::int32_t{1});
}

}  // namespace

std::int64_t timestamptz_of(remote::ServerTime moment) noexcept {
  // The largest number is "infinity".
  return moment == remote::ServerTime::max() ? INT64_MAX : (moment - year_2000).count();
}

remote::ServerTime server_time(std::int64_t timestamptz) noexcept {
  // A value that would overflow is not a time of a clock.
  constexpr std::int64_t longest = INT64_MAX / 4;
  return remote::ServerTime(std::clamp(timestamptz, -longest, longest)) + year_2000;
}

Arguments& Arguments::end(unsigned type) {
  values_.at(count_++) = {.type = type, .end = data_.size()};
  return *this;
}

Arguments& Arguments::bytes(std::string_view value) {
  constexpr std::size_t of_most_statements = 160;
  if (count_ == 0) data_.reserve(of_most_statements);
  data_ += value;
  return end(bytea_type);
}

Arguments& Arguments::integer(std::int64_t value) {
  append_number(data_, value);
  return end(int8_type);
}

Arguments& Arguments::flag(bool value) {
  data_ += value ? '\1' : '\0';
  return end(bool_type);
}

Arguments& Arguments::moment(remote::ServerTime moment) {
  append_number(data_, timestamptz_of(moment));
  return end(timestamptz_type);
}

void Arguments::set_last(remote::ServerTime moment) {
  data_.resize(data_.size() - sizeof(std::int64_t));
  append_number(data_, timestamptz_of(moment));
}

Arguments& Arguments::bytes_array(const std::vector<std::string>& values) {
  append_array_head(data_, bytea_type, values.size());
  for (const std::string& value : values) {
    append_number(data_, static_cast<std::int32_t>(value.size()));
    data_ += value;
  }
  return end(bytea_array_type);
}

Arguments& Arguments::integer_array(const std::vector<std::int64_t>& values) {
  append_array_head(data_, int8_type, values.size());
  for (const std::int64_t value : values) {
    append_number(data_, static_cast<std::int32_t>(sizeof value));
    append_number(data_, value);
  }
  return end(int8_array_type);
}

}  // namespace mortise::postgres
