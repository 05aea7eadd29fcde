// SPDX-License-Identifier: MIT
// A vote is believed only if all of it is as the scripts write it: a proxy may answer in a server's
// place.
#include "redlock/vote.hpp"

#include "core/figures.hpp"
#include "redis/store/items.hpp"
#include "redlock/requests.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace mortise::redlock {
namespace {

using redis::Items;
using redis::last_moment;
using redis::number_in;
using Kind = VoteReply::Kind;

// A server names eight readers, and the owner next to them.
constexpr std::size_t most_numbers = 9;

constexpr std::pair<std::string_view, Kind> kinds[] = {
    {"vote", Kind::vote},      {"busy", Kind::busy},
    {"too_late", Kind::late},  {"refused", Kind::refused},
    {"higher", Kind::higher},  {"not_held", Kind::none},
    {"released", Kind::freed}, {"released_before", Kind::freed_before},
    {"expired", Kind::lapsed}, {"renewed", Kind::renewed},
    {"held", Kind::held},      {"free", Kind::free},
};

/// Four items for each hold: attempt, number, step, label.
void read_holds(Items& items, VoteReply& reply) {
  const std::vector<redis::Reply>* const list = items.list();
  if (list == nullptr) return;
  Items words(*list);
  while (words.more()) {
    const std::optional<AttemptId> attempt = redis::parse_attempt(words.text());
    const std::uint64_t number = number_in(words.text());
    const std::uint64_t step = number_in(words.text());
    const std::string_view label = words.text();
    const bool is_step = step > 0 && step < last_step;
    if (!attempt || number == 0 || !is_step || label.size() > core::longest_label) {
      return items.fail();
    }
    VoteReply::Named& named = reply.holds.emplace_back();  // GCC 12 warns of a temporary, wrongly
    named.hold.attempt = *attempt;
    named.hold.number = number;
    named.step = static_cast<std::uint32_t>(step);
    named.label = label;
  }
  if (!words.good()) items.fail();
}

void read_holder(Items& items, VoteReply& reply) {
  reply.left = std::chrono::microseconds(items.integer(0, last_moment));
  reply.waiters = static_cast<std::size_t>(items.integer(0, last_moment));
  reply.label = items.text().substr(0, core::longest_label);
  const std::string_view mode = items.text();
  if (mode == "r") {
    reply.mode = Mode::shared;
  } else if (mode != "w") {
    items.fail();
  }
  if (items.is_list_next()) read_holds(items, reply);
  while (items.more()) reply.numbers.push_back(items.number());
  if (reply.numbers.size() > most_numbers) items.fail();
}

}  // namespace

std::optional<VoteReply> VoteReply::parse(const redis::Reply& from) {
  if (from.kind != redis::Reply::Kind::array) return std::nullopt;
  Items items(from.items);
  const std::string_view word = items.text();
  const auto* const kind = std::find_if(std::begin(kinds), std::end(kinds),
                                        [&](const auto& each) { return each.first == word; });
  if (kind == std::end(kinds)) return std::nullopt;
  VoteReply reply;
  reply.kind = kind->second;
  reply.now = redis::ServerTime(items.integer(1, last_moment));
  switch (reply.kind) {
    case Kind::vote: reply.number = items.number(); break;
    case Kind::busy:
    case Kind::held:
    case Kind::free: read_holder(items, reply); break;
    case Kind::renewed:
      while (items.more()) reply.renewals.push_back(static_cast<int>(items.integer(-1, 2)));
      break;
    case Kind::late:
    case Kind::refused:
    case Kind::higher:
    case Kind::none:
    case Kind::freed:
    case Kind::freed_before:
    case Kind::lapsed: break;
  }
  return items.complete() ? std::optional(std::move(reply)) : std::nullopt;
}

bool VoteReply::names(std::uint64_t of_hold) const noexcept {
  return std::find(numbers.begin(), numbers.end(), of_hold) != numbers.end();
}

std::optional<Holder> VoteReply::holder() const {
  if (left.count() <= 0 || numbers.empty()) return std::nullopt;
  return Holder{.label = label,
                .token = Token(holder_number() * core::tokens_in_a_grant),
                .expires_in = std::chrono::duration_cast<std::chrono::milliseconds>(left),
                .waiters = waiters,
                .mode = mode};
}

}  // namespace mortise::redlock
