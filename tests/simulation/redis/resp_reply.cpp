// SPDX-License-Identifier: MIT
#include "simulation/redis/resp_reply.hpp"

#include <array>
#include <charconv>

namespace simulation::redis {

void RespReply::header(char sign, std::int64_t number) {
  std::array<char, 24> text;
  text[0] = sign;
  char* end = std::to_chars(&text[1], text.data() + text.size() - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  bytes_.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

// A line ends where it ends: what would break it becomes a blank, as Redis has it.
void RespReply::line(char sign, std::string_view words) {
  bytes_ += sign;
  for (const char c : words) bytes_ += c == '\r' || c == '\n' ? ' ' : c;
  bytes_ += "\r\n";
}

void RespReply::status(std::string_view words) { line('+', words); }
void RespReply::error(std::string_view words) { line('-', words); }
void RespReply::integer(std::int64_t value) { header(':', value); }
void RespReply::nil() { bytes_ += "$-1\r\n"; }
void RespReply::array(std::size_t size) { header('*', static_cast<std::int64_t>(size)); }

void RespReply::bulk(std::string_view bytes) {
  header('$', static_cast<std::int64_t>(bytes.size()));
  bytes_.append(bytes).append("\r\n", 2);
}

}  // namespace simulation::redis
