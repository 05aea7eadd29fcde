// SPDX-License-Identifier: MIT
// What a master says of its cluster: cluster.c.
#include "simulation/redis/command.hpp"
#include "simulation/redis/commands.hpp"
#include "simulation/redis/numbers.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace simulation::redis {
namespace {

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t owner = 0;
};

std::vector<Range> ranges_of(const Slots& slots) {
  std::vector<Range> all;
  for (std::size_t i = 0; i < Slots::count; ++i) {
    const auto owner = slots.owner(static_cast<std::uint16_t>(i));
    if (!owner) continue;
    if (!all.empty() && all.back().owner == *owner && all.back().last + 1 == i) {
      all.back().last = i;
    } else {
      all.push_back({i, i, *owner});
    }
  }
  return all;
}

bool is_part(Invocation& call) {
  if (call.server.slots.is_part()) return true;
  call.reply.error("ERR This instance has cluster support disabled");
  return false;
}

std::optional<std::uint16_t> slot_in(Invocation& call, std::string_view word) {
  const auto number = parse_integer(word);
  if (number && *number >= 0 && *number < static_cast<std::int64_t>(Slots::count)) {
    return static_cast<std::uint16_t>(*number);
  }
  call.reply.error("ERR Invalid or out of range slot");
  return std::nullopt;
}

std::size_t keys_in(Invocation& call, std::uint16_t slot) {
  std::size_t all = 0;
  for (const std::string& key : call.server.databases[0].keys(call.now)) {
    if (Slots::slot_of(key) == slot) ++all;
  }
  return all;
}

}  // namespace

void asking(Invocation& call) {
  if (!is_part(call)) return;
  call.session.asking = true;
  call.reply.status("OK");
}

void cluster_slots(Invocation& call) {
  if (!is_part(call)) return;
  const Slots& slots = call.server.slots;
  const std::vector<Range> ranges = ranges_of(slots);
  call.reply.array(ranges.size());
  for (const Range& each : ranges) {
    call.reply.array(3);
    call.reply.integer(static_cast<std::int64_t>(each.first));
    call.reply.integer(static_cast<std::int64_t>(each.last));
    call.reply.array(4);
    call.reply.bulk(slots.member(each.owner).host);
    call.reply.integer(slots.member(each.owner).port);
    call.reply.bulk(Slots::id_of(each.owner));
    call.reply.array(0);
  }
}

void cluster_shards(Invocation& call) {
  if (!is_part(call)) return;
  const Slots& slots = call.server.slots;
  const std::vector<Range> ranges = ranges_of(slots);
  call.reply.array(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::vector<Range> its = ranges;
    std::erase_if(its, [&](const Range& each) { return each.owner != i; });
    const auto text = [&](std::string_view key, std::string_view value) {
      call.reply.bulk(key);
      call.reply.bulk(value);
    };
    call.reply.array(4);
    call.reply.bulk("slots");
    call.reply.array(2 * its.size());
    for (const Range& each : its) {
      call.reply.integer(static_cast<std::int64_t>(each.first));
      call.reply.integer(static_cast<std::int64_t>(each.last));
    }
    call.reply.bulk("nodes");
    call.reply.array(1);
    call.reply.array(14);
    text("id", Slots::id_of(i));
    call.reply.bulk("port");
    call.reply.integer(slots.member(i).port);
    text("ip", slots.member(i).host);
    text("endpoint", slots.member(i).host);
    text("role", "master");
    call.reply.bulk("replication-offset");
    call.reply.integer(0);
    text("health", "online");
  }
}

void cluster_keyslot(Invocation& call) {
  if (is_part(call)) call.reply.integer(Slots::slot_of(call.word(2)));
}

void cluster_countkeysinslot(Invocation& call) {
  if (!is_part(call)) return;
  if (const auto slot = slot_in(call, call.word(2))) {
    call.reply.integer(static_cast<std::int64_t>(keys_in(call, *slot)));
  }
}

void cluster_myid(Invocation& call) {
  if (is_part(call)) call.reply.bulk(Slots::id_of(call.server.slots.number()));
}

void cluster_setslot(Invocation& call) {
  if (!is_part(call)) return;
  Slots& slots = call.server.slots;
  const auto slot = slot_in(call, call.word(2));
  if (!slot) return;
  const bool named = call.words.size() == 5;
  const auto to = named ? slots.with_id(call.word(4)) : std::nullopt;
  const std::string id = named ? std::string(call.word(4)) : std::string();
  if (named && is_word(call.word(3), "node")) {
    if (!to) return call.reply.error("ERR Unknown node " + id);
    if (slots.owner(*slot) == slots.number() && *to != slots.number() && keys_in(call, *slot) > 0) {
      return call.reply.error("ERR Can't assign hashslot " + std::to_string(*slot) +
                              " to a different node while I still hold keys for this hash slot.");
    }
    slots.assign(*slot, *to);
    return call.reply.status("OK");
  }
  const bool migrates = named && is_word(call.word(3), "migrating");
  if (!migrates && !(named && is_word(call.word(3), "importing"))) {
    return call.reply.error(
        "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP");
  }
  const bool mine = slots.owner(*slot) == slots.number();
  if (migrates != mine) {
    return call.reply.error((migrates ? "ERR I'm not the owner of hash slot "
                                      : "ERR I'm already the owner of hash slot ") +
                            std::to_string(*slot));
  }
  if (!to) return call.reply.error("ERR I don't know about node " + id);
  migrates ? slots.migrate(*slot, *to) : slots.import(*slot, *to);
  call.reply.status("OK");
}

}  // namespace simulation::redis
