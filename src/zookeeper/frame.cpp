// SPDX-License-Identifier: MIT
// The C client trusts what it reads: what would end the process is found before.
#include "zookeeper/frame.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

constexpr std::size_t number_size = 4;
constexpr std::size_t stat_size = 68;
constexpr std::size_t request_header = 8;  // number, type
constexpr std::size_t reply_header = 16;   // number, transaction, error
constexpr std::size_t greeting_size = 37;  // of the answer, with the mark of a read-only server
constexpr std::size_t old_greeting_size = 36;

// Frames that no request of ours is numbered like.
constexpr std::int32_t of_watch = -1;
constexpr std::int32_t of_ping = -2;
constexpr std::int32_t of_credentials = -4;
constexpr std::int32_t of_watches = -8;

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
constexpr std::int32_t several = 14;
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

/// @param body of a reply without an error
/// @return true if the C client finds there what it reads; more may follow
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

/// @param body of a request that is several writes in one
/// @return the types of its writes, in their order
std::vector<std::int32_t> writes_of(std::string_view body) {
  std::vector<std::int32_t> writes;
  Heading heading;
  while (take_heading(body, heading) && !heading.last && skip_write(heading.type, body)) {
    writes.push_back(heading.type);
  }
  return writes;
}

/// @param writes of the request: the C client reads an answer to each, by its type
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

std::int32_t number_at(std::string_view frame, std::size_t place) noexcept {
  return static_cast<std::int32_t>(big_endian(frame.data() + place));
}

}  // namespace

std::uint32_t big_endian(const char* bytes) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < number_size; ++i) {
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

std::string_view frame_of(std::string_view bytes) noexcept {
  if (bytes.size() < length_size) return {};
  const std::size_t size = big_endian(bytes.data()) + length_size;
  return bytes.size() < size ? std::string_view() : bytes.substr(0, size);
}

void AwaitedReplies::sent(std::string_view frame) {
  if (!std::exchange(is_greeting_sent_, true) || frame.size() < request_header) return;
  const std::int32_t number = number_at(frame, 0);
  const std::int32_t type = number_at(frame, number_size);
  if (number == of_ping) {
    ++pings_;
  } else if (number != of_credentials && number != of_watches) {
    sent_.push_back({.number = number, .type = type});
    if (type == several) sent_.back().writes = writes_of(frame.substr(request_header));
  }
}

bool AwaitedReplies::accepts(std::string_view frame) {
  if (!std::exchange(is_greeted_, true)) {
    return frame.size() == greeting_size || frame.size() == old_greeting_size;
  }
  if (frame.size() < reply_header) return false;
  const std::int32_t number = number_at(frame, 0);
  const bool is_error = number_at(frame, reply_header - number_size) != 0;
  const std::string_view body = frame.substr(reply_header);
  switch (number) {
    case of_watch: return sound_event(body);
    case of_ping: pings_ = std::max(pings_ - 1, 0); return true;
    case of_credentials:
    case of_watches: return true;
    default: break;
  }
  if (sent_.empty() || sent_.front().number != number) return false;
  const Sent sent = std::move(sent_.front());
  sent_.pop_front();
  if (is_error) return true;
  return sent.type == several ? sound_answers(sent.writes, body) : sound_reply(sent.type, body);
}

void AwaitedReplies::clear() noexcept {
  is_greeting_sent_ = is_greeted_ = false;
  sent_.clear();
  pings_ = 0;
}

}  // namespace mortise::zookeeper
