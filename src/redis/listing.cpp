// SPDX-License-Identifier: MIT
// What a reply says is read word by word, as in answer.cpp; and a cursor comes from a caller, who
// may have made it.
#include "redis/listing.hpp"

#include "core/figures.hpp"
#include "redis/answer.hpp"
#include "redis/lock_key.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::size_t longest_cursor = 20;  // digits of the server's own

/// A number, and the space behind it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || size == text.size() || text[size] != ' ') return std::nullopt;
  text.remove_prefix(size + 1);
  return value;
}

/// "<length> <so many bytes>".
std::optional<std::string_view> take_bytes(std::string_view& text, std::size_t longest) {
  const std::optional<std::uint64_t> size = take_number(text);
  if (!size || *size > longest || *size > text.size()) return std::nullopt;
  const std::string_view bytes = text.substr(0, *size);
  text.remove_prefix(*size);
  return bytes;
}

bool take_space(std::string_view& text) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

/// Digits, up to a space or the end.
std::optional<std::string> take_cursor(std::string_view& text) {
  const std::size_t size = std::min(text.find(' '), text.size());
  const std::string_view digits = text.substr(0, size);
  const bool good = !digits.empty() && digits.size() <= longest_cursor &&
                    digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!good) return std::nullopt;
  text.remove_prefix(size);
  return std::string(digits);
}

std::chrono::milliseconds milliseconds(std::chrono::microseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

}  // namespace

std::string key_pattern(std::string_view prefix, std::string_view name_prefix, Mode mode) {
  std::string pattern;
  const std::string key = redis_key(prefix, name_prefix, mode);
  const std::size_t brace = key.rfind('}');
  for (const char c : std::string_view(key).substr(0, brace)) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern.append(1, '*').append(key, brace);
}

std::optional<ListCursor> ListCursor::parse(std::string_view text) {
  ListCursor cursor;
  if (text.empty()) return cursor;
  const bool ended = text.starts_with('.');
  if (ended) text.remove_prefix(1);
  cursor.ended = ended;
  if (!ended) {
    std::optional<std::string> at = take_cursor(text);
    if (!at) return std::nullopt;
    cursor.at = *std::move(at);
  }
  while (!text.empty()) {
    if (!take_space(text)) return std::nullopt;
    const std::optional<std::string_view> name = take_bytes(text, core::longest_name);
    if (!name || name->empty()) return std::nullopt;
    cursor.left.emplace_back(*name);
  }
  return cursor;
}

std::string ListCursor::text() const {
  if (ended && left.empty()) return {};
  std::string text = ended ? "." : at;
  for (const std::string& name : left) {
    text.append(1, ' ').append(std::to_string(name.size())).append(1, ' ').append(name);
  }
  return text;
}

NamePage ListCursor::take(std::size_t limit, std::string_view name_prefix) {
  NamePage page;
  const std::size_t many = std::min(limit, left.size());
  for (std::size_t i = 0; i < many; ++i) {
    if (left[i].starts_with(name_prefix)) page.names.push_back(std::move(left[i]));
  }
  left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(many));
  page.cursor = text();
  return page;
}

ClusterCursor ClusterCursor::parse(std::string_view text) noexcept {
  const std::size_t end = text.starts_with('@') ? text.find('@', 1) : std::string_view::npos;
  if (end == std::string_view::npos) return {.server = {}, .at_server = text};
  return {.server = text.substr(1, end - 1), .at_server = text.substr(end + 1)};
}

std::string ClusterCursor::text() const {
  std::string text = "@";
  return text.append(server).append(1, '@').append(at_server);
}

std::optional<ListCursor> parse_list(std::string_view prefix, Mode mode, std::string_view reply) {
  ListCursor list;
  std::optional<std::string> at = take_cursor(reply);
  if (!at) return std::nullopt;
  list.ended = *at == "0";
  list.at = *std::move(at);
  while (!reply.empty()) {
    if (!take_space(reply)) return std::nullopt;
    const std::optional<std::string_view> key = take_bytes(reply, reply.size());
    if (!key) return std::nullopt;
    std::optional<Named> named = named_by(prefix, *key);
    // A stranger's, which looks like ours but cannot be.
    if (!named || named->mode != mode || named->name.size() > core::longest_name) continue;
    // A table that grows may tell a key twice.
    const bool again =
        std::find(list.left.begin(), list.left.end(), named->name) != list.left.end();
    if (!again) list.left.push_back(std::move(named->name));
  }
  return list;
}

namespace {

/// "s " or "o ": with others, or alone.
std::optional<Mode> take_mode(std::string_view& text) {
  if (!text.starts_with("s ") && !text.starts_with("o ")) return std::nullopt;
  const Mode mode = text.front() == 's' ? Mode::shared : Mode::exclusive;
  text.remove_prefix(2);
  return mode;
}

std::chrono::microseconds microseconds(std::uint64_t time) {
  return std::chrono::microseconds(static_cast<std::int64_t>(time));
}

/// A grant's number is the moment of it, or lies ahead of the server's clock.
std::optional<std::chrono::milliseconds> age_of(std::uint64_t number, ServerTime now) {
  const std::chrono::microseconds since = microseconds(number);
  if (since.count() == 0 || since > now) return std::nullopt;
  return milliseconds(now - since);
}

bool take_waiters(std::string_view& text, std::vector<WaiterEntry>& waiters) {
  const std::optional<std::uint64_t> many = take_number(text);
  if (!many || *many > longest_page) return false;
  for (std::uint64_t i = 0; i < *many; ++i) {
    const std::optional<std::uint64_t> silent = take_number(text);
    const std::optional<Mode> mode = take_mode(text);
    const std::optional<std::string_view> label = take_bytes(text, core::longest_label);
    if (!silent || *silent >= core::grant_number_limit || !mode || !label || !take_space(text)) {
      return false;
    }
    waiters.push_back({.label = std::string(*label),
                       .mode = *mode,
                       .silent_for = milliseconds(microseconds(*silent))});
  }
  return true;
}

struct HeldWithOthers {
  std::uint64_t number = 0;
  HolderEntry entry{};
};

bool take_holders(std::string_view& text, std::vector<HeldWithOthers>& holders) {
  const std::optional<std::uint64_t> many = take_number(text);
  if (!many || *many > longest_page) return false;
  for (std::uint64_t i = 0; i < *many; ++i) {
    const std::optional<Mode> mode = take_mode(text);
    const std::optional<std::uint64_t> number = take_number(text);
    const std::optional<std::uint64_t> left = take_number(text);
    const std::optional<std::string_view> label = take_bytes(text, core::longest_label);
    if (!mode || !number || *number == 0 || *number >= core::grant_number_limit || !left ||
        *left >= core::grant_number_limit || !label || !take_space(text)) {
      return false;
    }
    holders.push_back({.number = *number,
                       .entry = {.label = std::string(*label),
                                 .mode = *mode,
                                 .token = Token(*number * core::tokens_in_a_grant),
                                 .expires_in = milliseconds(microseconds(*left))}});
  }
  return true;
}

/// @return what inspect.lua has answered; nothing = it makes no sense
std::optional<Answer> parse_inspection(std::string_view reply) {
  std::optional<Answer> answer = Answer::parse(reply);
  const bool fits =
      answer && (answer->kind == Answer::Kind::held || answer->kind == Answer::Kind::free);
  return fits ? std::move(answer) : std::nullopt;
}

void add_holder(const Answer& answer, std::vector<HeldWithOthers>& holders) {
  const std::optional<Holder> holder =
      answer.kind == Answer::Kind::held ? answer.holder() : std::nullopt;
  if (!holder) return;
  holders.push_back({.number = answer.holder_number,
                     .entry = {.label = holder->label,
                               .mode = holder->mode,
                               .token = holder->token,
                               .expires_in = holder->expires_in}});
}

NameQueue queue_of(const Answer& answer, std::vector<HeldWithOthers> holders) {
  NameQueue queue{.waiters_in_all = answer.waiters};
  // They come by the ends of their leases.
  std::sort(holders.begin(), holders.end(),
            [](const HeldWithOthers& a, const HeldWithOthers& b) { return a.number < b.number; });
  for (HeldWithOthers& each : holders) {
    each.entry.age = age_of(each.number, answer.now);
    queue.holders.push_back(std::move(each.entry));
  }
  return queue;
}

}  // namespace

std::optional<NameQueue> parse_queue(std::string_view reply, std::vector<HoldMark>* marks) {
  std::vector<WaiterEntry> waiters;
  std::vector<HeldWithOthers> holders;
  if (!take_waiters(reply, waiters) || !take_holders(reply, holders)) return std::nullopt;
  const std::optional<Answer> answer = parse_inspection(reply);
  if (!answer) return std::nullopt;
  if (holders.empty()) add_holder(*answer, holders);
  NameQueue queue = queue_of(*answer, std::move(holders));
  queue.waiters = std::move(waiters);
  const bool foreign = !queue.holders.empty() && answer->holder_number == 0;
  if (foreign && marks != nullptr) marks->push_back({.mark = answer->last_grant()});
  return queue;
}

std::optional<NameQueue> parse_hold(std::string_view reply) {
  const std::optional<Answer> answer = parse_inspection(reply);
  if (!answer) return std::nullopt;
  std::vector<HeldWithOthers> holders;
  add_holder(*answer, holders);
  return queue_of(*answer, std::move(holders));
}

}  // namespace mortise::redis
