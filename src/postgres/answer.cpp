// SPDX-License-Identifier: MIT
// What the functions answer, in words of their own (sql/take.sql); anything else is nonsense.
#include "postgres/answer.hpp"

#include "core/figures.hpp"
#include "postgres/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mortise::postgres {
namespace {

constexpr std::chrono::microseconds longest_lease{core::longest_lease};
// What begins with it was made by told() of once_tables.sql.
constexpr char told_mark = '\1';
// In front of a label: several share the name. See share_tables.sql.
constexpr char shared_mark = '\1';

/// Cuts the next word off.
std::optional<std::int64_t> next_word(std::string_view& words) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  if (error != std::errc{}) return std::nullopt;
  words.remove_prefix(static_cast<std::size_t>(stop - words.data()));
  return value;
}

std::optional<std::int64_t> next_number(std::string_view& words) {
  if (!words.starts_with(' ')) return std::nullopt;
  words.remove_prefix(1);
  return next_word(words);
}

bool is_grant(std::int64_t number) noexcept {
  return number > 0 && static_cast<std::uint64_t>(number) < core::grant_number_limit;
}

/// @param lease nothing: as it was asked for
std::optional<Answer> granted(std::int64_t number, std::int64_t age,
                              std::optional<std::int64_t> lease) {
  if (!is_grant(number)) return std::nullopt;
  if (lease && (*lease <= 0 || std::chrono::microseconds(*lease) > longest_lease)) {
    return std::nullopt;
  }
  // A server's clock that was set back: no hold began in the future. One that was set forward: what
  // is older than any lease has ended, and more would overflow where it becomes nanoseconds.
  return Answer{
      .kind = Answer::Kind::granted,
      .number = static_cast<std::uint64_t>(number),
      .age = std::chrono::microseconds(std::clamp<std::int64_t>(age, 0, longest_lease.count())),
      .lease = std::chrono::microseconds(lease.value_or(0))};
}

Holder holder_with(std::int64_t number, std::chrono::microseconds left, std::string_view label) {
  Holder holder;
  if (label.starts_with(shared_mark)) {
    holder.mode = Mode::shared;
    label.remove_prefix(1);
  }
  holder.label = label.substr(0, core::longest_label);
  holder.token = token_of(number);
  holder.expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  return holder;
}

/// @return the holder that these columns tell of; nothing = its lease has ended, or there is none.
std::optional<Holder> holder_in(const Result& result, int number, int ends, int label, int now) {
  const std::optional<std::int64_t> grant = result.integer(number);
  const std::optional<std::int64_t> end = result.integer(ends);
  const std::optional<std::int64_t> clock = result.integer(now);
  if (!grant || !end || !clock || *end <= *clock) return std::nullopt;
  return holder_with(*grant, lease_between(*clock, *end), result.text(label).value_or(""));
}

/// What look.sql tells of the holder.
std::optional<Answer> looked_at(std::string_view bytes, remote::ServerTime at) {
  constexpr std::size_t each = sizeof(std::int64_t);
  if (bytes.size() < 2 * each) return std::nullopt;
  const std::int64_t end = integer_of(bytes.substr(each, each));
  const std::int64_t clock = timestamptz_of(at);
  Answer answer{.kind = Answer::Kind::held};
  // Its lease may end while it is looked at.
  if (end <= clock) return answer;
  answer.left = lease_between(clock, end);
  answer.holder =
      holder_with(integer_of(bytes.substr(0, each)), answer.left, bytes.substr(2 * each));
  return answer;
}

/// "<number> <left> <label>", each behind a space.
std::optional<Answer> held(Answer answer, std::string_view words) {
  const auto number = next_number(words);
  const auto left = next_number(words);
  if (!number || !left || *left <= 0 || !words.starts_with(' ')) return std::nullopt;
  words.remove_prefix(1);
  const std::string label = bytes_of(words);
  if (label.size() * 2 != words.size()) return std::nullopt;
  answer.left = std::min(std::chrono::microseconds(*left), longest_lease);
  answer.holder = holder_with(*number, answer.left, label);
  return answer;
}

}  // namespace

std::chrono::microseconds lease_between(std::int64_t clock, std::int64_t end) noexcept {
  if (end <= clock) return {};
  // An end at infinity, or a beginning there, must not overflow.
  const bool long_one = clock < 0 || end - clock > longest_lease.count();
  return long_one ? longest_lease : std::chrono::microseconds(end - clock);
}

Token token_of(std::int64_t number) noexcept {
  return is_grant(number) ? Token(static_cast<std::uint64_t>(number) * core::tokens_in_a_grant)
                          : Token();
}

std::string bytes_of(std::string_view digits) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = value(digits[i]);
    const int low = value(digits[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::optional<Answer> Answer::parse(std::string_view words, remote::ServerTime at) {
  if (words.empty()) return std::nullopt;
  const char letter = words.front();
  if (letter == '\0') return looked_at(words, at);
  if (letter == told_mark) {
    Answer answer{.kind = Kind::told};
    answer.record = record_in(words);
    if (!answer.record || answer.record->state == KeyState::absent) return std::nullopt;
    return answer;
  }
  if (letter >= '0' && letter <= '9') {
    const auto number = next_word(words);
    if (!number || !words.empty()) return std::nullopt;
    return postgres::granted(*number, 0, {});
  }
  words.remove_prefix(1);
  if (letter == 'G') {
    const auto grant = next_number(words);
    const auto age = next_number(words);
    const auto lease = next_number(words);
    if (!grant || !age || !lease) return std::nullopt;
    std::optional<Answer> answer = postgres::granted(*grant, *age, *lease);
    if (words.empty() || !answer) return answer;
    const auto run = next_number(words);  // of a key
    if (!run || *run <= 0 || !words.empty()) return std::nullopt;
    answer->run = static_cast<std::uint64_t>(*run);
    return answer;
  }
  Answer answer;
  if (letter == 'M') {
    const auto permits = next_number(words);
    if (!permits || *permits <= 0 || !words.empty()) return std::nullopt;
    answer.kind = Kind::differs;
    answer.permits = static_cast<std::uint64_t>(*permits);
    return answer;
  }
  if (letter == 'Q' || letter == 'B') {
    answer.kind = letter == 'Q' ? Kind::held : Kind::busy;
    // cancel() says "B" where nobody is, or need be, told of.
    return words.empty() && letter == 'B' ? answer : postgres::held(answer, words);
  }
  if (!words.empty()) return std::nullopt;
  switch (letter) {
    case 'A': answer.kind = Kind::ahead; return answer;
    case 'L': answer.kind = Kind::locked; return answer;
    case 'V': answer.kind = Kind::late; return answer;
    case 'W': answer.for_others = true; return answer;
    default: return std::nullopt;
  }
}

std::shared_ptr<const Record> record_in(std::string_view bytes) {
  constexpr std::size_t number = sizeof(std::int64_t);
  constexpr std::size_t length = sizeof(std::int32_t);
  constexpr std::size_t head = 3 + 2 * number + length;
  if (bytes.size() < head || bytes.front() != told_mark) return nullptr;
  Record record;
  switch (bytes[1]) {
    case 'P': record.state = KeyState::pending; break;
    case 'Y': record.state = KeyState::succeeded; break;
    case 'F': record.state = KeyState::failed; break;
    default: return nullptr;
  }
  record.held = bytes[2] != '\0';
  const std::int64_t run = integer_of(bytes.substr(3, number));
  const std::int64_t grant = integer_of(bytes.substr(3 + number, number));
  const auto fingerprint =
      static_cast<std::size_t>(integer_of(bytes.substr(3 + 2 * number, length)));
  bytes.remove_prefix(head);
  if (run <= 0 || !is_grant(grant) || fingerprint > longest_fingerprint ||
      fingerprint > bytes.size() || bytes.size() - fingerprint > longest_outcome) {
    return nullptr;
  }
  record.run = static_cast<std::uint64_t>(run);
  record.number = static_cast<std::uint64_t>(grant);
  record.fingerprint = bytes.substr(0, fingerprint);
  record.bytes = bytes.substr(fingerprint);
  return std::make_shared<const Record>(std::move(record));
}

std::optional<Recalled> Recalled::of(const Result& result) {
  const std::string_view words = result.text(0).value_or("");
  if (words == "L") return Recalled{.locked = true};
  if (words.empty()) return Recalled{.record = std::make_shared<const Record>()};
  Recalled recalled{.record = record_in(words)};
  if (!recalled.record) return std::nullopt;
  return recalled;
}

std::optional<Answer> Answer::of(const Result& result) {
  const auto clock = result.integer(0);
  const auto words = result.text(1);
  if (!clock || !words) return std::nullopt;
  std::optional<Answer> answer = parse(*words, server_time(*clock));
  if (answer) answer->at = server_time(*clock);
  return answer;
}

std::optional<ReleaseOutcome> release_outcome(const Result& result) {
  const auto word = result.text(0);
  if (!word || word->size() != 1) return std::nullopt;
  const char letter = word->front();
  if (std::string_view("FAXNLTYMSU").find(letter) == std::string_view::npos) return std::nullopt;
  return static_cast<ReleaseOutcome>(letter);
}

std::optional<std::optional<Holder>> holder_of(const Result& result) {
  if (result.rows() == 0) return std::optional<Holder>();
  if (result.rows() != 1 || !result.integer(3)) return std::nullopt;
  std::optional<Holder> holder = holder_in(result, 0, 1, 2, 3);
  const std::optional<std::int64_t> waiters = result.integer(4);
  // Nobody counts those who wait without a ticket.
  if (holder && waiters && *waiters > 0) holder->waiters = static_cast<std::size_t>(*waiters);
  return holder;
}

std::optional<std::vector<std::int64_t>> numbers_in(std::string_view words) {
  std::vector<std::int64_t> numbers;
  for (bool first = true; !words.empty(); first = false) {
    const auto number = first ? next_word(words) : next_number(words);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<std::vector<std::int64_t>> numbers_of(const Result& result) {
  const auto words = result.text(0);
  return words ? numbers_in(*words) : std::nullopt;
}

std::optional<ServerFacts> ServerFacts::read(const Result& result) {
  const auto version = result.integer(0);
  const auto pid = result.integer(1);
  const auto time = result.integer(9);
  if (!version || !pid) return std::nullopt;
  const auto where = numbers_in(result.text(7).value_or(""));
  const bool tells = where && where->size() == 2;
  return ServerFacts{.backend_pid = static_cast<int>(*pid),
                     .standby = result.flag(2).value_or(true),
                     .read_only = result.flag(3).value_or(true),
                     .read_committed = result.flag(4).value_or(false),
                     .logged = result.flag(5).value_or(false),
                     .indexes = result.flag(6).value_or(false),
                     .version = *version,
                     .whereabouts = {.cluster = tells ? where->front() : 0,
                                     .timeline = tells ? where->back() : 0,
                                     .database = result.integer(8).value_or(0)},
                     .time = server_time(time.value_or(0))};
}

}  // namespace mortise::postgres
