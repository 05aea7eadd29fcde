// SPDX-License-Identifier: MIT
// CRC-16 as the cluster's specification has it (XMODEM: polynomial 0x1021, no reflection), and the
// words of servers. Behind NAT, or before it has met another one, a server announces no host, or
// "?", which means: the one by which it was asked.
#include "redis/topology/slots.hpp"

#include "base/whole_number.hpp"
#include "redis/store/lock_key.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <utility>

namespace mortise::redis {
namespace {

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < table.size(); ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? 0x1021U : 0U);
    }
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}
constexpr std::array<std::uint16_t, 256> crc_table = make_table();

unsigned crc_of(unsigned crc, std::string_view bytes) noexcept {
  for (const char c : bytes) {
    crc = ((crc << 8U) & 0xffffU) ^ crc_table[(crc >> 8U) ^ static_cast<unsigned char>(c)];
  }
  return crc;
}

/// It is connected to, and stands in messages. @return nothing = it is no host
std::optional<std::string> host_or(std::string_view said, const base::Address& asked) {
  if (said.empty() || said == "?") return asked.host;
  if (!base::Address::is_host(said)) return std::nullopt;
  return std::string(said);
}

std::optional<std::uint16_t> slot_in(const Reply& reply) {
  const bool good = reply.kind == Reply::Kind::integer && reply.integer >= 0 &&
                    reply.integer < static_cast<long long>(slot_count);
  if (!good) return std::nullopt;
  return static_cast<std::uint16_t>(reply.integer);
}

/// The host, or nothing, and the port of a node; what stands behind them is left out.
std::optional<base::Address> node_in(const Reply& reply, const base::Address& asked) {
  if (reply.kind != Reply::Kind::array || reply.items.size() < 2) return std::nullopt;
  const Reply& host = reply.items[0];
  const Reply& port = reply.items[1];
  const bool named = host.kind == Reply::Kind::string;
  if (!named && host.kind != Reply::Kind::nil) return std::nullopt;
  if (port.kind != Reply::Kind::integer || port.integer < 1 || port.integer > 65535) {
    return std::nullopt;
  }
  std::optional<std::string> its = host_or(named ? std::string_view(host.text) : "", asked);
  if (!its) return std::nullopt;
  return base::Address{
      .host = *std::move(its), .port = static_cast<std::uint16_t>(port.integer), .path = {}};
}

std::optional<SlotRange> range_in(const Reply& item, const base::Address& asked) {
  if (item.kind != Reply::Kind::array || item.items.size() < 3) return std::nullopt;
  const std::optional<std::uint16_t> first = slot_in(item.items[0]);
  const std::optional<std::uint16_t> last = slot_in(item.items[1]);
  std::optional<base::Address> master = node_in(item.items[2], asked);
  if (!first || !last || *first > *last || !master) return std::nullopt;
  return SlotRange{.first = *first, .last = *last, .master = *std::move(master)};
}

/// @return false: one of its slots is marked already
bool mark(std::bitset<slot_count>& seen, const SlotRange& range) {
  // Not slot by slot: an answer may have 65,000 ranges that overlap.
  std::bitset<slot_count> its;
  its.set();
  its >>= slot_count - 1 - (range.last - range.first);
  its <<= range.first;
  if ((seen & its).any()) return false;
  seen |= its;
  return true;
}

/// Of the master and the replicas of a range, the third word each.
void collect_nodes(const Reply& item, SlotTable& into) {
  constexpr std::size_t longest_id = 64;
  constexpr std::size_t most = 4096;  // a cluster has up to about 1,000
  for (std::size_t i = 2; i < item.items.size() && into.nodes.size() < most; ++i) {
    const Reply& node = item.items[i];
    if (node.kind != Reply::Kind::array || node.items.size() < 3) continue;
    const Reply& id = node.items[2];
    const bool good = id.kind == Reply::Kind::string && !id.text.empty() &&
                      id.text.size() <= longest_id && base::Address::is_host(id.text);
    if (!good) continue;
    into.nodes.insert(id.text);
    if (i == 2) into.masters.insert(id.text);
  }
}

}  // namespace

// Of the name as it stands in the key, without writing that.
std::uint16_t slot_of(std::string_view name) noexcept {
  unsigned crc = 0;
  while (!name.empty()) {
    const std::size_t plain = std::min(name.find_first_of("{}%"), name.size());
    crc = crc_of(crc, name.substr(0, plain));
    name.remove_prefix(plain);
    if (name.empty()) break;
    crc = crc_of(crc, escape_of(name.front()));
    name.remove_prefix(1);
  }
  return static_cast<std::uint16_t>(crc % slot_count);
}

std::uint16_t slot_of_tag(std::string_view tag) noexcept {
  return static_cast<std::uint16_t>(crc_of(0, tag) % slot_count);
}

std::optional<SlotTable> parse_slots(const Reply& reply, const base::Address& asked) {
  if (reply.kind != Reply::Kind::array) return std::nullopt;
  SlotTable table;
  std::bitset<slot_count> seen;  // so that there are no more masters than slots
  for (const Reply& item : reply.items) {
    collect_nodes(item, table);
    std::optional<SlotRange> range = range_in(item, asked);
    if (range && mark(seen, *range)) {
      table.ranges.push_back(*std::move(range));
    } else {
      table.whole = false;
    }
  }
  if (!table.whole && table.ranges.empty() && table.nodes.empty()) return std::nullopt;
  return table;
}

bool is_redirection(std::string_view words) noexcept {
  return words.starts_with("MOVED ") || words.starts_with("ASK ");
}

std::optional<Redirection> parse_redirection(std::string_view words, const base::Address& asked) {
  Redirection redirection;
  if (words.starts_with("ASK ")) {
    redirection.for_once = true;
    words.remove_prefix(4);
  } else if (words.starts_with("MOVED ")) {
    words.remove_prefix(6);
  } else {
    return std::nullopt;
  }
  const std::size_t space = words.find(' ');
  const std::optional<std::uint16_t> slot =
      base::whole_number<std::uint16_t>(words.substr(0, space));
  if (!slot || *slot >= slot_count || space == std::string_view::npos) return std::nullopt;
  redirection.slot = *slot;
  words.remove_prefix(space + 1);
  // The address of IPv6 has colons of its own, and no brackets.
  const std::size_t colon = words.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<std::uint16_t> port =
      base::whole_number<std::uint16_t>(words.substr(colon + 1));
  if (!port || *port == 0) return std::nullopt;
  std::optional<std::string> host = host_or(words.substr(0, colon), asked);
  if (!host) return std::nullopt;
  redirection.to = {.host = *std::move(host), .port = *port, .path = {}};
  return redirection;
}

}  // namespace mortise::redis
