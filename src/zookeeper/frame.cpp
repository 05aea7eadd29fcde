// SPDX-License-Identifier: MIT
// The C client trusts what it reads: what would end the process is found before.
#include "zookeeper/frame.hpp"

#include <algorithm>

namespace mortise::zookeeper {
namespace {

constexpr std::size_t number_size = 4;
constexpr std::size_t stat_size = 68;

// Of requests; those that are not named are answered by a header alone.
constexpr std::int32_t failed = -1;  // in the place of a write's
constexpr std::int32_t create = 1;
constexpr std::int32_t remove = 2;
constexpr std::int32_t exists = 3;
constexpr std::int32_t get_data = 4;
constexpr std::int32_t set_data = 5;
constexpr std::int32_t get_children = 8;
constexpr std::int32_t sync = 9;
constexpr std::int32_t check = 13;
constexpr std::int32_t create_with_stat = 15;
constexpr std::int32_t create_container = 19;

bool skip(std::string_view& body, std::size_t size) noexcept {
  if (body.size() < size) return false;
  body.remove_prefix(size);
  return true;
}

/// Takes a length; negative ones are those of what is null.
bool take_length(std::string_view& body, std::int32_t& length) noexcept {
  if (body.size() < number_size) return false;
  length = static_cast<std::int32_t>(big_endian(body.data()));
  return skip(body, number_size);
}

bool skip_string(std::string_view& body) noexcept {
  std::int32_t length = 0;
  return take_length(body, length) && length >= 0 && skip(body, static_cast<std::size_t>(length));
}

/// A node's data may be null.
bool skip_data(std::string_view& body) noexcept {
  std::int32_t length = 0;
  return take_length(body, length) && length >= -1 &&
         skip(body, static_cast<std::size_t>(std::max(length, 0)));
}

bool skip_strings(std::string_view& body) noexcept {
  std::int32_t count = 0;
  if (!take_length(body, count) || count < 0) return false;
  for (; count > 0; --count) {
    if (!skip_string(body)) return false;
  }
  return true;
}

/// What stands before each write, before each answer, and at their end.
struct Heading {
  std::int32_t type = 0;
  bool last = false;
};

bool take_heading(std::string_view& body, Heading& heading) noexcept {
  if (!take_length(body, heading.type) || body.empty()) return false;
  heading.last = body.front() != 0;
  return skip(body, 1 + number_size);
}

/// Its path, and what is said of it.
bool skip_write(std::int32_t type, std::string_view& body) noexcept {
  if (!skip_string(body)) return false;
  switch (type) {
    case create: {
      std::int32_t rights = 0;
      if (!skip_data(body) || !take_length(body, rights)) return false;
      for (; rights > 0; --rights) {
        if (!skip(body, number_size) || !skip_string(body) || !skip_string(body)) return false;
      }
      return skip(body, number_size);
    }
    case set_data: return skip_data(body) && skip(body, number_size);
    case remove:
    case check: return skip(body, number_size);
    default: return false;
  }
}

bool skip_answer(std::int32_t type, std::string_view& body) noexcept {
  switch (type) {
    case failed: return skip(body, number_size);
    case create: return skip_string(body);
    case set_data: return skip(body, stat_size);
    default: return true;
  }
}

}  // namespace

std::uint32_t big_endian(const char* bytes) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < number_size; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

bool sound_reply(std::int32_t type, std::string_view body) noexcept {
  switch (type) {
    case create:
    case create_container:
    case sync: return skip_string(body);
    case create_with_stat: return skip_string(body) && skip(body, stat_size);
    case exists:
    case set_data: return skip(body, stat_size);
    case get_data: return skip_data(body) && skip(body, stat_size);
    case get_children: return skip_strings(body);
    default: return true;
  }
}

std::vector<std::int32_t> writes_of(std::string_view body) {
  std::vector<std::int32_t> writes;
  Heading heading;
  while (take_heading(body, heading) && !heading.last && skip_write(heading.type, body)) {
    writes.push_back(heading.type);
  }
  return writes;
}

bool sound_answers(const std::vector<std::int32_t>& writes, std::string_view body) noexcept {
  Heading heading;
  for (const std::int32_t write : writes) {
    if (!take_heading(body, heading) || heading.last) return false;
    if (heading.type != failed && heading.type != write) return false;
    if (!skip_answer(heading.type, body)) return false;
  }
  return take_heading(body, heading) && heading.last;
}

bool sound_event(std::string_view body) noexcept {
  // Its type, and the session's state.
  return skip(body, 2 * number_size) && skip_string(body);
}

}  // namespace mortise::zookeeper
