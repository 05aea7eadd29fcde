// SPDX-License-Identifier: MIT
#include "simulation/redis/request_parser.hpp"

#include "simulation/redis/numbers.hpp"

namespace simulation::redis {
namespace {

constexpr std::int64_t most_words = 1024L * 1024;
constexpr std::int64_t longest_word = 512L * 1024 * 1024;

}  // namespace

void RequestParser::begin(std::string_view bytes) {
  at_ = 0;
  if (kept_.empty()) {
    bytes_ = bytes;
  } else {
    kept_.append(bytes);
    bytes_ = kept_;
  }
}

void RequestParser::finish() {
  words_.clear();
  if (bytes_.data() == kept_.data()) {
    kept_.erase(0, at_);
  } else {
    kept_.assign(bytes_.substr(at_));
  }
  bytes_ = {};
  at_ = 0;
}

bool RequestParser::line(std::size_t& at, std::string_view& text) const {
  const std::size_t end = bytes_.find('\r', at);
  if (end == std::string_view::npos || end + 1 >= bytes_.size()) return false;
  text = bytes_.substr(at, end - at);
  at = end + 2;
  return true;
}

RequestParser::Found RequestParser::wrong(std::string words) {
  mistake_ = std::move(words);
  return Found::mistake;
}

RequestParser::Found RequestParser::next() {
  words_.clear();
  if (at_ >= bytes_.size()) return Found::nothing;
  if (bytes_[at_] != '*') return next_inline();
  std::size_t at = at_ + 1;
  std::string_view text;
  if (!line(at, text)) return Found::nothing;
  const auto count = parse_integer(text);
  if (!count || *count > most_words) {
    return wrong("ERR Protocol error: invalid multibulk length");
  }
  for (std::int64_t i = 0; i < *count; ++i) {
    if (at >= bytes_.size()) return Found::nothing;
    const char sign = bytes_[at];
    std::size_t behind = at + 1;
    if (!line(behind, text)) return Found::nothing;
    if (sign != '$') {
      return wrong(std::string("ERR Protocol error: expected '$', got '") + sign + "'");
    }
    const auto size = parse_integer(text);
    if (!size || *size < 0 || *size > longest_word) {
      return wrong("ERR Protocol error: invalid bulk length");
    }
    if (bytes_.size() - behind < static_cast<std::size_t>(*size) + 2) return Found::nothing;
    words_.push_back(bytes_.substr(behind, static_cast<std::size_t>(*size)));
    at = behind + static_cast<std::size_t>(*size) + 2;
  }
  at_ = at;
  return Found::command;  // perhaps without words, which is no command to carry out
}

// What a person types into a raw connection: words between blanks.
RequestParser::Found RequestParser::next_inline() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return Found::nothing;
  std::string_view text = bytes_.substr(at_, end - at_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::size_t from = text.find_first_not_of(" \t");
    if (from == std::string_view::npos) break;
    text.remove_prefix(from);
    const std::size_t size = std::min(text.find_first_of(" \t"), text.size());
    words_.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  at_ = end + 1;
  return Found::command;
}

}  // namespace simulation::redis
