// SPDX-License-Identifier: MIT
#include "simulation/redis/replication.hpp"

#include "simulation/redis/command.hpp"
#include "simulation/redis/server_state.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace simulation::redis {
namespace {

// What a command takes in the stream; nobody counts it.
constexpr std::int64_t bytes_of_a_command = 64;
constexpr std::chrono::seconds between_tries{1};  // replicationCron()

}  // namespace

struct Replication::All {
  std::array<Keyspace, ServerState::database_count> databases;
  std::int64_t offset = 0;
};

void Replication::join(std::vector<Member> group, std::size_t number, Carry carry) {
  group_ = std::move(group);
  number_ = number;
  carry_ = std::move(carry);
}

// Who copied from it has to begin anew with whoever it copies from itself.
void Replication::follow(std::size_t master) {
  const bool demoted = !master_.has_value();
  leave();
  master_ = master;
  server_.faults.replica = true;
  copiers_.clear();
  if (demoted && on_demoted) on_demoted();
  ask_for_all();
}

void Replication::promote() {
  leave();
  master_.reset();
  server_.faults.replica = false;
  ++link_;
  synchronized_ = false;
  copiers_.clear();
}

// It closes the connection.
void Replication::leave() {
  if (!master_) return;
  Replication* const master = group_[*master_].server;
  send(*master_, [master, me = number_, link = link_] { master->lost_copier(me, link); });
}

void Replication::lost_copier(std::size_t from, std::uint64_t link) {
  std::erase_if(copiers_,
                [&](const Copier& each) { return each.number == from && each.link == link; });
}

// Both ends of its links are gone, and the other ones see that.
void Replication::restarted() {
  if (group_.empty()) return;
  copiers_.clear();
  noted_.clear();
  message_ = false;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    Replication* const other = group_[i].server;
    if (i != number_) send(i, [other, me = number_] { other->lost_master(me); });
  }
  if (master_) ask_for_all();
}

void Replication::lost_master(std::size_t master) {
  if (master_ == master) ask_for_all();
}

void Replication::ask_for_all() {
  synchronized_ = false;
  const std::uint64_t link = ++link_;
  Replication* const master = group_[*master_].server;
  send(*master_, [master, me = number_, link] { master->wants_all(me, link); });
  server_.site.after(between_tries, [this, link] {
    if (link == link_ && master_ && !synchronized_) ask_for_all();
  });
}

// A replica tells what it has as well, but that is not for us: the sentinels lead everybody to the
// master.
void Replication::wants_all(std::size_t from, std::uint64_t link) {
  if (master_) return;
  std::erase_if(copiers_, [&](const Copier& each) { return each.number == from; });
  copiers_.push_back({.number = from, .link = link});
  auto all = std::make_shared<All>();
  all->databases = server_.databases;
  all->offset = offset_;
  Replication* const copier = group_[from].server;
  send(from, [copier, link, all] { copier->take_all(link, *all); });
}

void Replication::take_all(std::uint64_t link, const All& all) {
  if (link != link_) return;
  server_.databases = all.databases;
  offset_ = all.offset;
  synchronized_ = true;
  acknowledge(link);
}

void Replication::note_key(std::size_t database, std::string_view key) {
  const bool there = std::any_of(noted_.begin(), noted_.end(), [&](const auto& each) {
    return each.first == database && each.second == key;
  });
  if (!there) noted_.emplace_back(database, key);
}

void Replication::note(const Command& command, std::span<const std::string_view> words,
                       std::size_t database) {
  if (group_.empty() || (command.flags & writes) == 0) return;
  if (command.name == "flushdb" || command.name == "flushall") {
    for (std::size_t i = 0; i < ServerState::database_count; ++i) {
      if (command.name == "flushdb" && i != database) continue;
      for (const std::string& key : server_.databases.at(i).keys(0)) note_key(i, key);
    }
  } else if (command.name == "del" || command.name == "unlink") {
    for (const std::string_view key : words.subspan(1)) note_key(database, key);
  } else {
    note_key(database, words[1]);
  }
}

void Replication::finish() {
  if (noted_.empty() && !message_) return;
  const auto noted = std::exchange(noted_, {});
  message_ = false;
  if (master_) return;
  // Nothing is counted before the first replica has come (replication.c, the backlog).
  if (copiers_.empty() && offset_ == 0) return;
  auto write = std::make_shared<Write>();
  offset_ += bytes_of_a_command * static_cast<std::int64_t>(1 + noted.size());
  write->offset = offset_;
  if (copiers_.empty()) return;
  const std::int64_t now = server_.now_ms();
  for (const auto& [database, key] : noted) {
    const Value* const value = server_.databases.at(database).find(key, now);
    write->changes.push_back(
        {database, key, value == nullptr ? std::nullopt : std::optional<Value>(*value)});
  }
  for (const Copier& each : copiers_) {
    Replication* const copier = group_[each.number].server;
    send(each.number, [copier, link = each.link, write] { copier->apply(link, *write); });
  }
}

void Replication::apply(std::uint64_t link, const Write& write) {
  if (link != link_ || !synchronized_) return;
  for (const Write::Change& each : write.changes) {
    Keyspace& keys = server_.databases.at(each.database);
    keys.erase(each.key);
    if (!each.value) continue;
    Value& value = keys.add(each.key) = *each.value;
    if (value.ends) keys.expire(each.key, value, *value.ends);
  }
  offset_ = write.offset;
}

void Replication::ask_for_acknowledgements() {
  for (const Copier& each : copiers_) {
    Replication* const copier = group_[each.number].server;
    send(each.number, [copier, link = each.link] { copier->acknowledge(link); });
  }
}

void Replication::acknowledge(std::uint64_t link) {
  if (link != link_ || !synchronized_ || !master_) return;
  Replication* const master = group_[*master_].server;
  send(*master_, [master, me = number_, link, offset = offset_] {
    master->has_acknowledged(me, link, offset);
  });
}

void Replication::has_acknowledged(std::size_t from, std::uint64_t link, std::int64_t offset) {
  for (Copier& each : copiers_) {
    if (each.number != from || each.link != link) continue;
    each.online = true;
    each.acknowledged = std::max(each.acknowledged, offset);
    if (on_acknowledged) on_acknowledged();
    return;
  }
}

std::size_t Replication::acknowledged(std::int64_t offset) const {
  return static_cast<std::size_t>(std::count_if(
      copiers_.begin(), copiers_.end(),
      [&](const Copier& each) { return each.online && each.acknowledged >= offset; }));
}

}  // namespace simulation::redis
