// SPDX-License-Identifier: MIT
// A reply is read item by item, as in answer.cpp. A cursor comes from a caller, who may have made
// it.
#include "redis/store/listing.hpp"

#include "core/figures.hpp"
#include "redis/store/answer.hpp"
#include "redis/store/items.hpp"
#include "redis/store/lock_key.hpp"

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

std::optional<ListCursor> parse_list(std::string_view prefix, Mode mode, const Reply& reply) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  Items items(reply.items);
  ListCursor list;
  std::string_view at = items.text();
  std::optional<std::string> cursor = take_cursor(at);
  if (!cursor || !at.empty()) return std::nullopt;
  list.ended = *cursor == "0";
  list.at = *std::move(cursor);
  while (items.more()) {
    std::optional<Named> named = named_by(prefix, items.text());
    // A stranger's, which looks like ours but cannot be.
    if (!named || named->mode != mode || named->name.size() > core::longest_name) continue;
    // A table that grows may tell a key twice.
    const bool again =
        std::find(list.left.begin(), list.left.end(), named->name) != list.left.end();
    if (!again) list.left.push_back(std::move(named->name));
  }
  return items.good() ? std::optional(std::move(list)) : std::nullopt;
}

namespace {

std::optional<Mode> mode_named(std::string_view word) {
  if (word != "w" && word != "r") return std::nullopt;
  return word == "r" ? Mode::shared : Mode::exclusive;
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

/// Three items per waiter.
bool read_waiters(Items items, std::vector<WaiterEntry>& waiters) {
  while (items.more()) {
    const std::chrono::microseconds silent(items.integer(0, last_moment));
    const std::optional<Mode> mode = mode_named(items.text());
    const std::string_view label = items.text();
    if (!mode || label.size() > core::longest_label) return false;
    waiters.push_back(
        {.label = std::string(label), .mode = *mode, .silent_for = milliseconds(silent)});
  }
  return items.good();
}

struct HeldWithOthers {
  std::uint64_t number = 0;
  HolderEntry entry{};
};

/// Four items per holder.
bool read_holders(Items items, std::vector<HeldWithOthers>& holders) {
  while (items.more()) {
    const std::optional<Mode> mode = mode_named(items.text());
    const std::uint64_t number = items.number();
    const std::chrono::microseconds left(items.integer(0, last_moment));
    const std::string_view label = items.text();
    if (!mode || label.size() > core::longest_label) return false;
    holders.push_back({.number = number,
                       .entry = {.label = std::string(label),
                                 .mode = *mode,
                                 .token = Token(number * core::tokens_in_a_grant),
                                 .expires_in = milliseconds(left)}});
  }
  return items.good();
}

void add_holder(const Answer& answer, std::vector<HeldWithOthers>& holders) {
  const std::optional<Holder> holder =
      answer.kind == Answer::Kind::held ? answer.holder() : std::nullopt;
  if (!holder) return;
  holders.push_back({.number = answer.holding.number,
                     .entry = {.label = holder->label,
                               .mode = holder->mode,
                               .token = holder->token,
                               .expires_in = holder->expires_in}});
}

NameQueue queue_of(const Answer& answer, std::vector<HeldWithOthers> holders) {
  NameQueue queue{.waiters_in_all = answer.holding.waiters};
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

std::optional<NameQueue> parse_queue(const Reply& reply, std::vector<HoldMark>* marks) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  Items items(reply.items);
  const std::optional<Answer> answer = Answer::parse(items);
  if (!answer || (answer->kind != Answer::Kind::held && answer->kind != Answer::Kind::free)) {
    return std::nullopt;
  }
  std::vector<WaiterEntry> waiters;
  const std::vector<Reply>* list = items.list();
  if (list == nullptr || !read_waiters(Items(*list), waiters)) return std::nullopt;
  std::vector<HeldWithOthers> holders;
  const bool is_key = !items.more();
  const bool foreign = answer->kind == Answer::Kind::held && answer->holding.number == 0;
  if (!is_key) {
    list = items.list();
    if (list == nullptr || !read_holders(Items(*list), holders)) return std::nullopt;
  }
  if (!items.complete()) return std::nullopt;
  if (is_key || foreign) add_holder(*answer, holders);
  NameQueue queue = queue_of(*answer, std::move(holders));
  queue.waiters = std::move(waiters);
  if (foreign && marks != nullptr) marks->push_back({.mark = answer->mark()});
  return queue;
}

}  // namespace mortise::redis
