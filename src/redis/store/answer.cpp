// SPDX-License-Identifier: MIT
// Whoever may publish can write to an inbox, and a proxy may answer in the server's place. So each
// part is read within its limits, and one that is not as expected makes the whole no answer: half
// an understanding of "you hold it" would be a hold.
#include "redis/store/answer.hpp"

#include "core/figures.hpp"
#include "redis/store/items.hpp"

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

constexpr std::string_view redissons = "redisson";  // label; behind it a space, and whose hold
constexpr std::size_t client_digits = 16;
constexpr std::size_t most_digits = 11;  // of 64 bits
constexpr std::uint64_t half = 0xffff'ffff;

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

}  // namespace

AttemptText::AttemptText(const AttemptId& attempt) noexcept {
  const std::uint64_t low = attempt.client_low;
  char* end = write_digits(text_.data(), (attempt.client_high & half) << 16U | low >> 48U, 8);
  end = write_digits(end, low, 8);
  end = write_digits(end, attempt.sequence, count_of_digits(attempt.sequence));
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

constexpr std::pair<std::string_view, Answer::Kind> kinds[] = {
    {"granted", Answer::Kind::granted},
    {"too_late", Answer::Kind::too_late},
    {"queued", Answer::Kind::queued},
    {"busy", Answer::Kind::busy},
    {"held", Answer::Kind::held},
    {"free", Answer::Kind::free},
    {"recorded", Answer::Kind::recorded},
    {"permits_differ", Answer::Kind::permits_differ},
    {"resharding", Answer::Kind::resharding},
};

constexpr std::pair<std::string_view, KeyState> states[] = {{"absent", KeyState::absent},
                                                            {"pending", KeyState::pending},
                                                            {"succeeded", KeyState::succeeded},
                                                            {"failed", KeyState::failed}};

constexpr std::pair<std::string_view, ReleaseAnswer::Outcome> outcomes[] = {
    {"released", ReleaseAnswer::Outcome::freed},
    {"released_before", ReleaseAnswer::Outcome::freed_before},
    {"expired", ReleaseAnswer::Outcome::lapsed},
    {"not_held", ReleaseAnswer::Outcome::not_ours}};

/// @return what a word stands for; the reply makes no sense if it is none of these.
template <class Value, std::size_t size>
Value meaning(const std::pair<std::string_view, Value> (&words)[size], Items& items) {
  const std::string_view word = items.text();
  for (const auto& [each, value] : words) {
    if (each == word) return value;
  }
  items.fail();
  return words[0].second;
}

std::uint64_t number_or_none(Items& items) {
  constexpr auto limit = static_cast<long long>(core::grant_number_limit);
  return static_cast<std::uint64_t>(items.integer(0, limit - 1));
}

void read_mode(Items& items, Answer& answer) {
  const std::string_view mode = items.text();
  if (mode != "w" && mode != "r") return items.fail();
  if (mode == "r") answer.holding.mode = Mode::shared;
}

void read_record(Items& items, Answer& answer) {
  Record record;
  record.state = meaning(states, items);
  record.run = number_or_none(items);
  record.number = number_or_none(items);
  record.held = items.integer(0, 1) != 0;
  record.fingerprint = items.text();
  record.bytes = items.text();
  const bool remembered = record.state != KeyState::absent;
  const bool concluded = remembered && record.state != KeyState::pending;
  if (record.fingerprint.size() > longest_fingerprint ||
      record.bytes.size() > (concluded ? longest_outcome : 0) || remembered != (record.run != 0) ||
      remembered != (record.number != 0)) {
    return items.fail();
  }
  answer.record = std::make_shared<const Record>(std::move(record));
}

}  // namespace

std::optional<Answer> Answer::parse(Items& items) {
  Answer answer;
  answer.kind = meaning(kinds, items);
  answer.now = ServerTime(items.integer(1, last_moment));
  switch (answer.kind) {
    case Kind::granted:
      answer.number = items.number();
      answer.left = std::chrono::microseconds(items.integer(1, last_moment));
      if (items.more()) answer.run = items.number();
      break;
    case Kind::queued:
    case Kind::busy:
    case Kind::resharding:
    case Kind::held:
    case Kind::free:
      answer.left = std::chrono::microseconds(items.integer(0, last_moment));
      answer.first = items.integer(0, 1) != 0;
      answer.last_number = answer.holding.number = number_or_none(items);
      answer.holding.waiters = static_cast<std::size_t>(items.integer(0, last_moment));
      answer.holding.label = items.text().substr(0, core::longest_label);
      if (!items.more() || items.is_list_next()) break;  // of a key
      read_mode(items, answer);
      answer.last_number = number_or_none(items);
      break;
    case Kind::recorded: read_record(items, answer); break;
    case Kind::permits_differ: answer.permits = number_or_none(items); break;
    case Kind::too_late: break;
  }
  return items.good() ? std::optional(std::move(answer)) : std::nullopt;
}

std::optional<Answer> Answer::parse(const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  Items items(reply.items);
  std::optional<Answer> answer = parse(items);
  return items.complete() ? std::move(answer) : std::nullopt;
}

std::optional<ReleaseAnswer> ReleaseAnswer::parse(const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  Items items(reply.items);
  ReleaseAnswer answer;
  answer.outcome = meaning(outcomes, items);
  if (items.more()) answer.now = ServerTime(items.integer(1, last_moment));
  if (items.is_list_next()) {
    Items of_successor(*items.list());
    answer.successor = Answer::parse(of_successor);
    if (!answer.successor || !of_successor.complete()) return std::nullopt;
  }
  return items.complete() ? std::optional(std::move(answer)) : std::nullopt;
}

std::optional<Holder> Answer::holder() const {
  if (left.count() <= 0) return std::nullopt;
  return Holder{.label = holding.label,
                .token = Token(holding.number * core::tokens_in_a_grant),
                .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left),
                .waiters = holding.waiters,
                .mode = holding.mode};
}

std::string Answer::mark() const {
  const std::string& label = holding.label;
  const bool named = label.starts_with(redissons);
  return "-" + std::to_string(last_number) +
         (named ? label.substr(redissons.size()) : std::string());
}

std::vector<std::uint64_t> parse_codes(const Reply& reply, std::string_view word,
                                       std::uint64_t most, ServerTime* at) {
  std::vector<std::uint64_t> codes;
  if (reply.kind != Reply::Kind::array) return codes;
  Items items(reply.items);
  if (items.text() != word) return codes;
  const ServerTime now(items.integer(1, last_moment));
  if (at != nullptr) *at = now;
  while (items.more()) {
    codes.push_back(static_cast<std::uint64_t>(items.integer(0, static_cast<long long>(most))));
  }
  if (!items.complete()) codes.clear();
  return codes;
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
      push.kind = Kind::granted;
      push.number = words.count();
      push.granted_at = words.time();
      push.lease = words.lease();
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
