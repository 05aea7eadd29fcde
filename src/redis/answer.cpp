// SPDX-License-Identifier: MIT
// Whoever may publish can write to an inbox, and what stands between us and a server may answer in
// its place. So a text is read word by word, each within its limits, and one that is not as
// expected makes the whole no answer: half an understanding of "you hold it" would be a hold.
#include "redis/answer.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <string>
#include <utility>

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
  /// One that is not 0.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value == 0) good_ = false;
    return value;
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

std::optional<KeyState> state_of(Words& words) {
  const std::optional<char> sign = letter(words);
  if (!sign) return std::nullopt;
  switch (*sign) {
    case 'A': return KeyState::absent;
    case 'P': return KeyState::pending;
    case 'Y': return KeyState::succeeded;
    case 'F': return KeyState::failed;
    default: return std::nullopt;
  }
}

constexpr std::string_view redissons = "redisson";  // label; behind it a space, and whose hold
// How the field g is meant: see lock.lua.
constexpr std::uint64_t bucket = 4'096'000'000;  // us
constexpr std::uint64_t far = 100'000'000;       // ms
constexpr std::uint64_t a_second = 1'000'000;    // us
constexpr std::size_t digits_of_the_rest = 5;
constexpr std::size_t digits_of_quick = 13;

constexpr std::size_t client_digits = 16;
constexpr std::size_t most_digits = 11;  // of 64 bits
constexpr std::uint64_t half = 0xffff'ffff;

bool parse_hex(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Writes hexadecimal digits, with zeros in front. @return the end
char* write_hex(char* to, std::uint64_t value, std::size_t count) {
  for (std::size_t i = count; i > 0; --i, value >>= 4U) to[i - 1] = "0123456789abcdef"[value & 15U];
  return to + count;
}

// The digits of base64url, which are one word in keys, channels and patterns.
constexpr std::string_view digits_of_64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t i = 0; i < digits_of_64.size(); ++i) {
    values[static_cast<unsigned char>(digits_of_64[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

/// @return whether these are digits; up to 64 bits of what they say.
bool parse_digits(std::string_view text, std::uint64_t& value) {
  static constexpr std::array<std::uint8_t, 256> values = values_of_digits();
  value = 0;
  for (const char c : text) {
    const std::uint8_t digit = values[static_cast<unsigned char>(c)];
    if (digit == 64 || value >> 58U != 0) return false;
    value = value << 6U | digit;
  }
  return true;
}

/// Writes the lowest digits. @return the end
char* write_digits(char* to, std::uint64_t value, std::size_t count) {
  for (std::size_t i = count; i > 0; --i, value >>= 6U) to[i - 1] = digits_of_64[value & 63U];
  return to + count;
}

std::size_t count_of_digits(std::uint64_t value) {
  return std::max<std::size_t>((static_cast<std::size_t>(std::bit_width(value)) + 5) / 6, 1);
}

/// A number as locks keep it: hexadecimal digits of its seconds, and five of what is over.
/// @return 0 where that is none
std::uint64_t parse_written(std::string_view text) {
  if (text.size() <= digits_of_the_rest || text.size() > digits_of_the_rest + 10) return 0;
  std::uint64_t seconds = 0;
  std::uint64_t rest = 0;
  const std::size_t size = text.size() - digits_of_the_rest;
  if (!parse_hex(text.substr(0, size), seconds) || !parse_hex(text.substr(size), rest)) return 0;
  if (rest >= a_second || seconds > core::grant_number_limit / a_second) return 0;
  const std::uint64_t number = seconds * a_second + rest;
  return number < core::grant_number_limit ? number : 0;
}

/// The quick way's "G<now>", behind its letter: just now, with the lease that was asked for. It has
/// so many digits (see acquire_quick.lua), and nothing shorter is believed.
std::optional<Answer> parse_granted(std::string_view text) {
  Answer answer;
  answer.kind = Answer::Kind::granted;
  answer.number = text.size() == digits_of_quick ? parse_written(text) : 0;
  answer.now = answer.granted_at = ServerTime(static_cast<std::int64_t>(answer.number));
  return answer.number != 0 ? std::optional(answer) : std::nullopt;
}

/// What the field o calls the owner, or one of those who read: see readers.lua.
/// @return whether it reads as one
bool parse_owner(std::string_view text, Answer& answer) {
  answer.holder_number = answer.last_number;
  const bool reads = text.starts_with('*') || text.starts_with('&');
  if (reads) answer.holder_mode = Mode::shared;
  if (!reads && !text.starts_with('+')) return true;
  const std::size_t behind = text.find('.');
  if (behind == std::string_view::npos) return true;
  answer.holder_number = parse_written(text.substr(behind + 1));
  return answer.holder_number != 0;
}

/// The quick way's "H<now> <g> <waiters> <number> <attempt> <label>", behind its letter: a try
/// failed, and that is how the lock is kept.
std::optional<Answer> parse_kept(std::string_view text) {
  Words words(text);
  Answer answer;
  answer.kind = Answer::Kind::busy;
  const std::uint64_t now = parse_written(words.word());
  const bool in_front = words.skip('-');
  std::uint64_t behind = words.number();
  answer.waiters = words.number();
  answer.last_number = parse_written(words.word());
  const bool named = parse_owner(words.word(), answer);
  answer.label = words.rest().substr(0, core::longest_label);
  std::uint64_t from = answer.last_number;
  if (!words.good() || !named || now == 0 || from == 0 || behind >= core::grant_number_limit / 1000)
    return {};
  if (!in_front && behind >= far) {
    behind -= far;
    from -= from % bucket;
  }
  const std::chrono::milliseconds time(static_cast<std::int64_t>(behind));
  answer.now = ServerTime(static_cast<std::int64_t>(now));
  answer.left =
      ServerTime(static_cast<std::int64_t>(from)) + (in_front ? -time : time) - answer.now;
  return answer.left.count() > 0 ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace

AttemptText::AttemptText(const AttemptId& attempt) noexcept {
  const std::uint64_t low = attempt.client_low;
  char* end = write_digits(text_.data(), (attempt.client_high & half) << 16U | low >> 48U, 8);
  end = write_digits(end, low, 8);
  end = write_digits(end, attempt.sequence, count_of_digits(attempt.sequence));
  size_ = static_cast<std::size_t>(end - text_.data());
}

AttemptText::AttemptText(const AttemptId& attempt, std::uint64_t number) noexcept
    : AttemptText(attempt) {
  text_[size_++] = ' ';
  char* const from = text_.data() + size_;
  size_ += static_cast<std::size_t>(std::to_chars(from, from + 20, number).ptr - from);
}

HoldText::HoldText(const AttemptId& attempt, std::uint64_t number) noexcept {
  const std::uint64_t seconds = number / a_second;
  const auto digits = (static_cast<std::size_t>(std::bit_width(seconds)) + 3) / 4;
  char* end = write_hex(text_.data(), seconds, std::max<std::size_t>(digits, 8));
  end = write_hex(end, number % a_second, digits_of_the_rest);
  *end++ = ' ';
  const AttemptText its(attempt);
  end = std::copy(its.view().begin(), its.view().end(), end);
  *end++ = ' ';
  size_ = static_cast<std::size_t>(end - text_.data());
}

std::optional<AttemptId> parse_attempt(std::string_view text) {
  AttemptId id;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  if (text.size() <= client_digits || text.size() > client_digits + most_digits ||
      !parse_digits(text.substr(0, 8), first) || !parse_digits(text.substr(8, 8), second) ||
      !parse_digits(text.substr(client_digits), id.sequence)) {
    return std::nullopt;
  }
  id.client_high = first >> 16U;
  id.client_low = first << 48U | second;
  return id;
}

namespace {

// Its bytes come last, and may be anything.
std::optional<Answer> parse_record(Words& words) {
  Answer answer;
  answer.kind = Answer::Kind::recorded;
  answer.now = words.time();
  const std::optional<KeyState> state = state_of(words);
  Record record;
  record.run = words.number();
  record.number = words.number();
  record.held = words.number(2) != 0;
  const std::size_t length = words.number(longest_fingerprint + 1);
  const std::string_view rest = words.rest();
  if (!state || !words.good() || rest.size() < length) return std::nullopt;
  record.state = *state;
  record.fingerprint = rest.substr(0, length);
  record.bytes = rest.substr(length);
  const bool remembered = record.state != KeyState::absent;
  const bool concluded = remembered && record.state != KeyState::pending;
  if (record.bytes.size() > (concluded ? longest_outcome : 0)) return std::nullopt;
  if (remembered != (record.run != 0) || remembered != (record.number != 0)) return std::nullopt;
  answer.record = std::make_shared<const Record>(std::move(record));
  return answer;
}

}  // namespace

std::optional<Answer> Answer::parse(std::string_view text) {
  if (text.size() > 1 && text[1] != ' ') {
    if (text[0] == 'G') return parse_granted(text.substr(1));
    if (text[0] == 'H') return parse_kept(text.substr(1));
  }
  Words words(text);
  Answer answer;
  const std::optional<char> kind = letter(words);
  if (!kind) return std::nullopt;
  answer.kind = static_cast<Kind>(*kind);
  bool foreign = false;
  bool several = false;
  switch (answer.kind) {
    case Kind::refused: return words.complete() ? std::optional(answer) : std::nullopt;
    case Kind::granted:
      answer.now = words.time();
      answer.number = words.number();
      answer.granted_at = words.time();
      answer.lease = words.lease();
      if (!words.complete()) answer.run = words.count();
      return words.complete() && answer.number != 0 ? std::optional(answer) : std::nullopt;
    case Kind::recorded: return parse_record(words);
    case Kind::unlike:
      answer.permits = words.number();
      return words.complete() ? std::optional(answer) : std::nullopt;
    case Kind::queued:
    case Kind::busy:
    case Kind::held:
    case Kind::free:
      answer.now = words.time();
      answer.left = words.time();
      answer.first = words.number() != 0;
      foreign = words.skip('-');
      if (words.skip('*')) answer.holder_mode = Mode::shared;
      several = answer.holder_mode == Mode::shared || words.skip('+');
      answer.last_number = words.number();
      if (!foreign) answer.holder_number = several ? words.count() : answer.last_number;
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
                .waiters = waiters,
                .mode = holder_mode};
}

std::string Answer::last_grant() const {
  std::string last = std::to_string(last_number);
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
  push.attempt = *attempt;
  switch (*kind) {
    case 'G':
    case 'K':  // of a key
      push.kind = Kind::granted;
      push.number = words.count();
      push.granted_at = words.time();
      push.lease = words.lease();
      if (*kind == 'K') push.run = words.count();
      break;
    case 'T':
    case 'S':  // from a reader
      push.kind = Kind::taken;
      if (*kind == 'S') push.mode = Mode::shared;
      push.number = words.count();
      break;
    case 'D':  // of a key: it was concluded
      push.kind = Kind::look;
      push.number = words.count();
      break;
    case 'L': push.kind = Kind::look; break;
    default: return std::nullopt;
  }
  push.key = words.rest();
  return words.good() && !push.key.empty() ? std::optional(push) : std::nullopt;
}

}  // namespace mortise::redis
