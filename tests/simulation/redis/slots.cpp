// SPDX-License-Identifier: MIT
#include "simulation/redis/slots.hpp"

#include "simulation/redis/command.hpp"
#include "simulation/redis/numbers.hpp"
#include "simulation/redis/redis_server.hpp"
#include "simulation/redis/server_state.hpp"
#include "simulation/redis/session.hpp"

#include <algorithm>
#include <utility>

namespace simulation::redis {
namespace {

bool is_of_a_shard(const Command& command) {
  return command.name == "ssubscribe" || command.name == "sunsubscribe" ||
         command.name == "spublish";
}

// The cluster's specification: CRC-16, XMODEM. Bit by bit, since it is not ours to copy.
unsigned crc16(std::string_view bytes) noexcept {
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? ((crc << 1U) ^ 0x1021U) & 0xffffU : (crc << 1U) & 0xffffU;
    }
  }
  return crc;
}

}  // namespace

std::uint16_t Slots::slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return static_cast<std::uint16_t>(crc16(key) % count);
}

std::vector<std::string_view> keys_of(const Command& command,
                                      std::span<const std::string_view> words) {
  static constexpr std::array none_at_all{
      std::string_view("ping"),      std::string_view("echo"),        std::string_view("auth"),
      std::string_view("hello"),     std::string_view("quit"),        std::string_view("reset"),
      std::string_view("select"),    std::string_view("info"),        std::string_view("time"),
      std::string_view("role"),      std::string_view("wait"),        std::string_view("publish"),
      std::string_view("dbsize"),    std::string_view("keys"),        std::string_view("flushdb"),
      std::string_view("subscribe"), std::string_view("unsubscribe"), std::string_view("flushall"),
      std::string_view("asking")};
  const std::string_view name = command.name;
  if (name.find('|') != std::string_view::npos || words.size() < 2 ||
      std::find(none_at_all.begin(), none_at_all.end(), name) != none_at_all.end()) {
    return {};
  }
  if (name == "eval" || name == "evalsha") {
    const auto many = parse_integer(words[2]).value_or(0);
    const auto size = static_cast<std::int64_t>(words.size());
    if (many <= 0 || many > size - 3) return {};
    const auto keys = words.subspan(3, static_cast<std::size_t>(many));
    return {keys.begin(), keys.end()};
  }
  const bool many = name == "del" || name == "unlink" || name == "exists" || name == "ssubscribe" ||
                    name == "sunsubscribe";
  if (!many) return {words[1]};
  const auto keys = words.subspan(1);
  return {keys.begin(), keys.end()};
}

void Slots::join(std::vector<Member> members, std::size_t number, Carry carry) {
  members_ = std::move(members);
  number_ = number;
  carry_ = std::move(carry);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t end = count * (i + 1) / members_.size();
    for (std::size_t slot = count * i / members_.size(); slot < end; ++slot) table_[slot] = i;
  }
}

std::string Slots::id_of(std::size_t number) {
  return std::string(39, '0') + std::to_string(number);
}

std::optional<std::size_t> Slots::with_id(std::string_view id) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (id_of(i) == id) return i;
  }
  return std::nullopt;
}

void Slots::assign(std::uint16_t slot, std::size_t to) {
  migrating_.erase(slot);
  const bool was_mine = table_[slot] == number_;
  table_[slot] = to;
  if (was_mine && on_left) on_left(slot);  // also where it is said of its own
  if (to != number_ || importing_.erase(slot) == 0) return;
  // Everybody else learns it by a newer epoch of the configuration.
  const std::uint64_t epoch = ++epochs_[slot];
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == number_) continue;
    Slots& other = members_[i].server->slots();
    carry_(number_, i, [&other, slot, to, epoch] { other.learn(slot, to, epoch); });
  }
}

// clusterUpdateSlotsConfigWith()
void Slots::learn(std::uint16_t slot, std::size_t owner, std::uint64_t epoch) {
  std::uint64_t& known = epochs_[slot];
  if (epoch <= known || importing_.contains(slot)) return;
  known = epoch;
  const bool was_mine = table_[slot] == number_;
  table_[slot] = owner;
  migrating_.erase(slot);
  if (!was_mine || owner == number_) return;
  if (on_left) on_left(slot);
  // Its dirty slots: whatever was left there.
  Keyspace& keys = server_.databases[0];
  for (const std::string& key : keys.keys(server_.now_ms())) {
    if (slot_of(key) == slot) keys.erase(key);
  }
}

std::string Slots::lead_to(std::size_t member, std::uint16_t slot, bool for_once) const {
  const Member& to = members_.at(member);
  return std::string(for_once ? "ASK " : "MOVED ") + std::to_string(slot) + " " + to.host + ":" +
         std::to_string(to.port);
}

std::string Slots::redirection(const Session& session, const Command& command,
                               std::span<const std::string_view> words) const {
  const std::vector<std::string_view> keys = keys_of(command, words);
  if (keys.empty()) return {};
  const std::uint16_t slot = slot_of(keys.front());
  const bool several = std::any_of(keys.begin(), keys.end(),
                                   [&](std::string_view key) { return key != keys.front(); });
  for (const std::string_view key : keys) {
    if (slot_of(key) != slot) return "CROSSSLOT Keys in request don't hash to the same slot";
  }
  if (!table_[slot]) return "CLUSTERDOWN Hash slot not served";
  const std::size_t owner = *table_[slot];
  const auto migrating = owner == number_ ? migrating_.find(slot) : migrating_.end();
  const bool imports = migrating == migrating_.end() && importing_.contains(slot);
  std::size_t missing = 0;
  std::size_t present = 0;
  if ((migrating != migrating_.end() || imports) && !is_of_a_shard(command)) {
    for (const std::string_view key : keys) {
      const bool there = server_.databases[0].find(key, server_.now_ms()) != nullptr;
      ++(there ? present : missing);
    }
  }
  constexpr const char* unstable = "TRYAGAIN Multiple keys request during rehashing of slot";
  // cluster-allow-pubsubshard-when-down, which is yes unless said.
  if (down_ && !is_of_a_shard(command)) return "CLUSTERDOWN The cluster is down";
  if (migrating != migrating_.end() && missing > 0) {
    return present > 0 ? unstable : lead_to(migrating->second, slot, true);
  }
  if (imports && session.asking) return several && missing > 0 ? unstable : std::string();
  return owner == number_ ? std::string() : lead_to(owner, slot, false);
}

void Slots::tell_the_others(std::string_view channel, std::string_view message) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i == number_) continue;
    carry_(number_, i,
           [other = members_[i].server, channel = std::string(channel),
            message = std::string(message)] { other->hear(channel, message); });
  }
}

}  // namespace simulation::redis
