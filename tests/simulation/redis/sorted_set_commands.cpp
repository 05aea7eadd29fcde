// SPDX-License-Identifier: MIT
// Commands of sorted sets: t_zset.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace simulation::redis {
namespace {

using Item = SortedSetValue::Item;

constexpr std::string_view not_a_float = "ERR value is not a valid float";
constexpr std::string_view not_a_limit = "ERR min or max is not a float";

std::optional<double> parse_score(std::string_view text) {
  if (is_word(text, "+inf") || is_word(text, "inf")) return std::numeric_limits<double>::infinity();
  if (is_word(text, "-inf")) return -std::numeric_limits<double>::infinity();
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end || std::isnan(value)) {
    return std::nullopt;
  }
  return value + 0.0;  // no zero has a sign
}

/// As addReplyDouble() writes it to a client of RESP2.
std::string text_of(double score) {
  if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
  std::string text(40, '\0');
  const int size = std::snprintf(text.data(), text.size(), "%.17g", score);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// An end of a range of scores: "(5" leaves out what is 5.
struct Limit {
  double score = 0;
  bool without = false;
};

std::optional<Limit> parse_limit(std::string_view text) {
  Limit limit;
  limit.without = text.starts_with('(');
  if (limit.without) text.remove_prefix(1);
  // By strtod(), which leaves out blanks in front, and takes nothing for 0.
  const std::string number(text);
  char* end = nullptr;
  limit.score = std::strtod(number.c_str(), &end);
  if (*end != '\0' || std::isnan(limit.score)) return std::nullopt;
  return limit;
}

bool is_between(double score, const Limit& least, const Limit& most) {
  const bool above = least.without ? score > least.score : score >= least.score;
  const bool below = most.without ? score < most.score : score <= most.score;
  return above && below;
}

struct RangeOptions {
  bool by_score = false;
  bool reversed = false;
  bool with_scores = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
  bool limited = false;
};

/// @return nothing: that is answered already
std::optional<RangeOptions> range_options(Invocation& call) {
  RangeOptions options;
  for (std::size_t i = 4; i < call.words.size(); ++i) {
    if (is_word(call.word(i), "byscore")) {
      options.by_score = true;
    } else if (is_word(call.word(i), "rev")) {
      options.reversed = true;
    } else if (is_word(call.word(i), "withscores")) {
      options.with_scores = true;
    } else if (is_word(call.word(i), "limit") && i + 2 < call.words.size()) {
      const auto offset = parse_integer(call.word(i + 1));
      const auto count = parse_integer(call.word(i + 2));
      if (!offset || !count) {
        call.reply.error(not_an_integer);
        return std::nullopt;
      }
      options.offset = *offset;
      options.count = *count;
      options.limited = true;
      i += 2;
    } else {
      call.reply.error(syntax_error);
      return std::nullopt;
    }
  }
  if (options.limited && !options.by_score) {
    call.reply.error(
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    return std::nullopt;
  }
  return options;
}

void answer(Invocation& call, const std::vector<Item>& items, bool with_scores) {
  call.reply.array(items.size() * (with_scores ? 2 : 1));
  for (const auto& [score, member] : items) {
    call.reply.bulk(member);
    if (with_scores) call.reply.bulk(text_of(score));
  }
}

void answer_with_score(Invocation& call, std::optional<double> score) {
  if (score) {
    call.reply.bulk(text_of(*score));
  } else {
    call.reply.nil();
  }
}

}  // namespace

void zadd(Invocation& call) {
  std::size_t at = 2;
  bool only_new = false;
  bool only_known = false;
  bool counts_changes = false;
  bool only_greater = false;
  bool only_less = false;
  for (; at < call.words.size(); ++at) {
    if (is_word(call.word(at), "nx")) {
      only_new = true;
    } else if (is_word(call.word(at), "xx")) {
      only_known = true;
    } else if (is_word(call.word(at), "ch")) {
      counts_changes = true;
    } else if (is_word(call.word(at), "gt")) {
      only_greater = true;
    } else if (is_word(call.word(at), "lt")) {
      only_less = true;
    } else {
      break;
    }
  }
  if (at >= call.words.size() || (call.words.size() - at) % 2 != 0) {
    return call.reply.error(syntax_error);
  }
  if (only_new && only_known) {
    return call.reply.error("ERR XX and NX options at the same time are not compatible");
  }
  if (static_cast<int>(only_new) + static_cast<int>(only_greater) + static_cast<int>(only_less) >
      1) {
    return call.reply.error("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  std::vector<double> scores;
  for (std::size_t i = at; i < call.words.size(); i += 2) {
    const auto score = parse_score(call.word(i));
    if (!score) return call.reply.error(not_a_float);
    scores.push_back(*score);
  }
  if (only_known) {
    const auto found = look<SortedSetValue>(call, call.word(1));
    if (found.mistyped()) return;
    if (found.content == nullptr) return call.reply.integer(0);
  }
  SortedSetValue* const set = look_or_make<SortedSetValue>(call, call.word(1));
  if (set == nullptr) return;
  std::int64_t counted = 0;
  for (std::size_t i = at, n = 0; i < call.words.size(); i += 2, ++n) {
    const auto old = set->score(call.word(i + 1));
    if (old ? only_new : only_known) continue;
    if (old && ((only_greater && scores[n] <= *old) || (only_less && scores[n] >= *old))) continue;
    set->set(call.word(i + 1), scores[n]);
    if (!old || (counts_changes && *old != scores[n])) ++counted;
  }
  call.reply.integer(counted);
}

void zrem(Invocation& call) {
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.integer(0);
  std::int64_t gone = 0;
  for (const std::string_view member : call.words.subspan(2)) {
    gone += found.content->erase(member) ? 1 : 0;
  }
  if (found.content->size() == 0) call.keys().erase(call.word(1));
  call.reply.integer(gone);
}

void zcard(Invocation& call) {
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.integer(found.content == nullptr ? 0 : size_of(found.content->size()));
}

void zscore(Invocation& call) {
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  answer_with_score(call,
                    found.content == nullptr ? std::nullopt : found.content->score(call.word(2)));
}

void zmscore(Invocation& call) {
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  call.reply.array(call.words.size() - 2);
  for (const std::string_view member : call.words.subspan(2)) {
    answer_with_score(call, found.content == nullptr ? std::nullopt : found.content->score(member));
  }
}

void zrank(Invocation& call) {
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr || !found.content->score(call.word(2))) return call.reply.nil();
  std::int64_t rank = 0;
  for (const auto& [score, member] : found.content->items()) {
    if (member == call.word(2)) break;
    ++rank;
  }
  call.reply.integer(rank);
}

void zcount(Invocation& call) {
  const auto least = parse_limit(call.word(2));
  const auto most = parse_limit(call.word(3));
  if (!least || !most) return call.reply.error(not_a_limit);
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.integer(0);
  const auto& items = found.content->items();
  call.reply.integer(std::count_if(items.begin(), items.end(), [&](const Item& item) {
    return is_between(item.first, *least, *most);
  }));
}

void zrange(Invocation& call) {
  const auto options = range_options(call);
  if (!options) return;
  std::optional<Limit> least;
  std::optional<Limit> most;
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
  if (options->by_score) {
    least = parse_limit(call.word(options->reversed ? 3 : 2));
    most = parse_limit(call.word(options->reversed ? 2 : 3));
    if (!least || !most) return call.reply.error(not_a_limit);
  } else {
    from = parse_integer(call.word(2));
    to = parse_integer(call.word(3));
    if (!from || !to) return call.reply.error(not_an_integer);
  }
  const auto found = look<SortedSetValue>(call, call.word(1));
  if (found.mistyped()) return;
  if (found.content == nullptr) return call.reply.array(0);
  std::vector<Item> all(found.content->items().begin(), found.content->items().end());
  if (options->reversed) std::reverse(all.begin(), all.end());
  std::int64_t first = 0;
  std::int64_t last = size_of(all.size()) - 1;
  if (options->by_score) {
    std::erase_if(all, [&](const Item& item) { return !is_between(item.first, *least, *most); });
    first = options->offset;
    if (first < 0) return call.reply.array(0);
    const std::int64_t rest = size_of(all.size()) - first;
    const bool all_of_it = options->count < 0 || options->count > rest;
    last = first + (all_of_it ? rest : options->count) - 1;
  } else {
    first = std::max<std::int64_t>(*from < 0 ? *from + size_of(all.size()) : *from, 0);
    last = std::min(*to < 0 ? *to + size_of(all.size()) : *to, last);
  }
  std::vector<Item> chosen;
  for (std::int64_t i = first; i <= last; ++i) chosen.push_back(all[static_cast<std::size_t>(i)]);
  answer(call, chosen, options->with_scores);
}

}  // namespace simulation::redis
