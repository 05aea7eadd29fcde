// SPDX-License-Identifier: MIT
// Whoever may publish can write to an inbox, and what stands between us and a server may answer in
// its place. So a text is read word by word, each within its limits, and one that is not as
// expected makes the whole no answer: half an understanding of "you hold it" would be a hold.
#include "redis/answer.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace mortise::redis {
namespace {

/// Words of a line, one space between two; what is not as it should be makes the whole no answer.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    if (word.empty()) good_ = false;
    ended_ = end == rest_.size();
    rest_.remove_prefix(ended_ ? end : end + 1);
    return word;
  }
  std::uint64_t number(std::uint64_t limit = core::grant_number_limit) {
    const std::string_view text = word();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value >= limit) good_ = false;
    return good_ ? value : 0;
  }
  std::chrono::microseconds time() {
    return std::chrono::microseconds(static_cast<std::int64_t>(number()));
  }
  std::chrono::milliseconds lease() {
    const auto longest = std::chrono::milliseconds(core::longest_lease).count();
    const auto value = number(static_cast<std::uint64_t>(longest) + 1);
    if (value == 0) good_ = false;
    return std::chrono::milliseconds(static_cast<std::int64_t>(value));
  }
  /// @return whether that comes next; it is left out.
  bool skip(char sign) {
    const bool there = rest_.starts_with(sign);
    if (there) rest_.remove_prefix(1);
    return there;
  }
  /// What is left, of any bytes.
  std::string_view rest() { return rest_; }
  /// Whether all that was taken was there, and nothing is left.
  [[nodiscard]] bool complete() const { return good_ && ended_ && rest_.empty(); }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
  bool ended_ = false;
};

std::optional<char> letter(Words& words) {
  const std::string_view word = words.word();
  return word.size() == 1 ? std::optional(word.front()) : std::nullopt;
}

constexpr std::string_view redissons = "redisson";  // label; behind it a space, and whose hold
constexpr std::size_t client_digits = 32;
constexpr std::uint64_t quick_from = 1'000'000'000'000'000;

bool parse_hex(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

AttemptText::AttemptText(const AttemptId& attempt) noexcept {
  constexpr const char* digits = "0123456789abcdef";
  for (const std::uint64_t part : {attempt.client_high, attempt.client_low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text_[size_++] = digits[(part >> shift) & 0xfU];
  }
  char* const from = text_.data() + size_;
  char* const end = std::to_chars(from, from + 16, attempt.sequence, 16).ptr;
  size_ += static_cast<std::size_t>(end - from);
}

AttemptText::AttemptText(const AttemptId& attempt, std::uint64_t number) noexcept
    : AttemptText(attempt) {
  text_[size_++] = ' ';
  char* const from = text_.data() + size_;
  size_ += static_cast<std::size_t>(std::to_chars(from, from + 20, number).ptr - from);
}

std::optional<AttemptId> parse_attempt(std::string_view text) {
  AttemptId id;
  if (text.size() <= client_digits || text.size() > client_digits + 16 ||
      !parse_hex(text.substr(0, 16), id.client_high) ||
      !parse_hex(text.substr(16, 16), id.client_low) ||
      !parse_hex(text.substr(client_digits), id.sequence)) {
    return std::nullopt;
  }
  return id;
}

std::optional<Answer> Answer::parse(std::string_view text) {
  Words words(text);
  Answer answer;
  const std::optional<char> kind = letter(words);
  if (!kind) return std::nullopt;
  answer.kind = static_cast<Kind>(*kind);
  bool foreign = false;
  switch (answer.kind) {
    case Kind::refused: return words.complete() ? std::optional(answer) : std::nullopt;
    case Kind::granted:
      answer.now = words.time();
      if (words.complete()) {
        // The quick way: just now, with the lease that was asked for. It has 16 digits (see
        // acquire_quick.lua), and nothing shorter is believed.
        answer.number = static_cast<std::uint64_t>(answer.now.count());
        answer.granted_at = answer.now;
        return answer.number >= quick_from ? std::optional(answer) : std::nullopt;
      }
      answer.number = words.number();
      answer.granted_at = words.time();
      answer.lease = words.lease();
      return words.complete() && answer.number != 0 ? std::optional(answer) : std::nullopt;
    case Kind::queued:
    case Kind::busy:
    case Kind::held:
    case Kind::free:
      answer.now = words.time();
      answer.left = words.time();
      answer.first = words.number() != 0;
      foreign = words.skip('-');
      answer.last_number = words.number();
      answer.holder_number = foreign ? 0 : answer.last_number;
      answer.waiters = words.number();
      answer.label = words.rest().substr(0, core::longest_label);
      return words.good() ? std::optional(answer) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Holder> Answer::holder() const {
  if (left.count() <= 0) return std::nullopt;
  return Holder{.label = label,
                .token = Token(holder_number * core::tokens_in_a_grant),
                .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left),
                .waiters = waiters};
}

std::string Answer::last_grant() const {
  const std::string last = std::to_string(last_number);
  if (holder_number != 0) return last;
  const bool told = label.starts_with(redissons);
  return "-" + last + (told ? label.substr(redissons.size()) : std::string());
}

std::optional<ReleaseAnswer> ReleaseAnswer::parse(std::string_view text) {
  ReleaseAnswer answer;
  if (text.empty()) return std::nullopt;
  answer.outcome = static_cast<Outcome>(text.front());
  switch (answer.outcome) {
    case Outcome::freed:
    case Outcome::freed_before:
    case Outcome::lapsed:
    case Outcome::not_ours: break;
    default: return std::nullopt;
  }
  if (text.size() == 1) return answer;
  if (text[1] != ' ') return std::nullopt;
  answer.successor = Answer::parse(text.substr(2));
  return answer.successor ? std::optional(answer) : std::nullopt;
}

std::optional<Push> Push::parse(std::string_view text) {
  Words words(text);
  Push push;
  const std::optional<char> kind = letter(words);
  const std::optional<AttemptId> attempt = parse_attempt(words.word());
  if (!kind || !attempt) return std::nullopt;
  push.kind = static_cast<Kind>(*kind);
  push.attempt = *attempt;
  switch (push.kind) {
    case Kind::granted:
      push.number = words.number();
      push.granted_at = words.time();
      push.lease = words.lease();
      break;
    case Kind::taken: push.number = words.number(); break;
    case Kind::look: break;
    default: return std::nullopt;
  }
  push.key = words.rest();
  const bool numbered = push.kind == Kind::look || push.number != 0;
  return words.good() && numbered && !push.key.empty() ? std::optional(push) : std::nullopt;
}

}  // namespace mortise::redis
