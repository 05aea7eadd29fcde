// SPDX-License-Identifier: MIT
#include "postgres/answer.hpp"

#include "core/figures.hpp"

#include <algorithm>
#include <charconv>

namespace mortise::postgres {
namespace {

constexpr std::chrono::microseconds longest_lease{core::longest_lease};

/// Cuts the next word off.
std::optional<std::int64_t> next_number(std::string_view& words) {
  if (!words.starts_with(' ')) return std::nullopt;
  words.remove_prefix(1);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  if (error != std::errc{}) return std::nullopt;
  words.remove_prefix(static_cast<std::size_t>(stop - words.data()));
  return value;
}

std::optional<Answer> granted(std::int64_t number, std::int64_t age, std::int64_t lease) {
  if (number <= 0 || static_cast<std::uint64_t>(number) >= core::grant_number_limit || lease <= 0 ||
      std::chrono::microseconds(lease) > longest_lease) {
    return std::nullopt;
  }
  // A server's clock that was set back: no hold began in the future.
  return Answer{.kind = Answer::Kind::granted,
                .number = static_cast<std::uint64_t>(number),
                .age = std::chrono::microseconds(std::max<std::int64_t>(age, 0)),
                .lease = std::chrono::microseconds(lease)};
}

/// @return the holder that these columns tell of; nothing = its lease has ended, or there is none.
std::optional<Holder> holder_in(const Result& result, int number, int ends, int label, int now) {
  const std::optional<std::int64_t> grant = result.integer(number);
  const std::optional<std::int64_t> end = result.integer(ends);
  const std::optional<std::int64_t> clock = result.integer(now);
  if (!grant || !end || !clock || *end <= *clock) return std::nullopt;
  Holder holder;
  holder.label = result.text(label).value_or("").substr(0, core::longest_label);
  holder.token = Token(static_cast<std::uint64_t>(*grant) * core::tokens_in_a_grant);
  holder.expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::microseconds(*end - *clock));
  return holder;
}

}  // namespace

std::optional<Answer> Answer::parse(std::string_view words) {
  if (words.empty()) return std::nullopt;
  const char letter = words.front();
  words.remove_prefix(1);
  if (letter == 'G') {
    const auto grant = next_number(words);
    const auto age = next_number(words);
    const auto lease = next_number(words);
    if (!grant || !age || !lease || !words.empty()) return std::nullopt;
    return postgres::granted(*grant, *age, *lease);
  }
  if (!words.empty()) return std::nullopt;
  Answer answer;
  switch (letter) {
    case 'Q': answer.kind = Kind::held; return answer;
    case 'A': answer.kind = Kind::ahead; return answer;
    case 'B': answer.kind = Kind::busy; return answer;
    case 'L': answer.kind = Kind::locked; return answer;
    case 'R': answer.kind = Kind::refused; return answer;
    default: return std::nullopt;
  }
}

std::optional<Answer> Answer::of_ask(const Result& result) {
  if (result.rows() != 1) return std::nullopt;
  const std::optional<std::int64_t> ends = result.integer(1);
  const std::optional<std::int64_t> now = result.integer(3);
  if (!now) return std::nullopt;
  std::optional<Answer> answer;
  if (const auto taken = result.text(4)) {
    answer = parse(*taken);
  } else if (result.integer(0)) {
    answer = Answer{.kind = Kind::held};
  }
  if (!answer || answer->kind == Kind::granted) return answer;
  answer->holder = holder_in(result, 0, 1, 2, 3);
  if (answer->holder) answer->left = std::chrono::microseconds(*ends - *now);
  return answer;
}

std::optional<Answer> Answer::of_cancel(const Result& result) {
  const auto words = result.text(0);
  return words ? parse(*words) : std::nullopt;
}

std::optional<ReleaseOutcome> release_outcome(const Result& result) {
  const auto word = result.text(0);
  if (!word || word->size() != 1) return std::nullopt;
  const char letter = word->front();
  if (std::string_view("FAXNL").find(letter) == std::string_view::npos) return std::nullopt;
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

std::optional<ServerFacts> ServerFacts::read(const Result& result) {
  const auto version = result.integer(0);
  const auto pid = result.integer(1);
  if (!version || *version != schema_version || !pid) return std::nullopt;
  return ServerFacts{.backend_pid = static_cast<int>(*pid),
                     .standby = result.flag(2).value_or(true),
                     .read_only = result.flag(3).value_or(true),
                     .read_committed = result.flag(4).value_or(false),
                     .logged = result.flag(5).value_or(false),
                     .indexes = result.flag(6).value_or(false)};
}

}  // namespace mortise::postgres
