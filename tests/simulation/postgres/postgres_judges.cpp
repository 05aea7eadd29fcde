// SPDX-License-Identifier: MIT
// What judges ask the model.
#include "simulation/postgres/postgres_server.hpp"
#include "simulation/postgres/session.hpp"

#include <algorithm>

namespace simulation::postgres {
namespace {

template <class Data>
const Data* committed(const Tuple<Data>& tuple) {
  const Version<Data>* const last = tuple.committed();
  return last == nullptr || last->gone ? nullptr : &last->data;
}

std::size_t count(const Tickets& tickets) {
  std::size_t all = 0;
  for (const auto& [number, tuple] : tickets) all += committed(tuple) != nullptr ? 1U : 0U;
  return all;
}

}  // namespace

std::optional<LockRow> PostgresModel::row(std::string_view name) const {
  const auto found = database_.locks.find(name);
  const LockRow* const last = found == database_.locks.end() ? nullptr : committed(found->second);
  return last == nullptr ? std::nullopt : std::optional(*last);
}

std::optional<PostgresModel::Holder> PostgresModel::holder(std::string_view name) const {
  const std::optional<LockRow> last = row(name);
  const Moment now = database_.clock();
  if (!last || last->expires_at <= now) return std::nullopt;
  return Holder{.attempt = last->attempt,
                .number = last->number,
                .left = std::chrono::microseconds(last->expires_at - now)};
}

Nanos PostgresModel::left_in_a_crash(const LockRow& row) const {
  const auto left_in = [&](const Image& image) {
    const auto found = image.locks.find(row.name);
    const bool there = found != image.locks.end() && found->second.number == row.number;
    return there ? Nanos(std::chrono::microseconds(found->second.expires_at - database_.clock()))
                 : Nanos(0);
  };
  const Nanos here = left_in(database_.disk.after_a_crash());
  return database_.waits_for_standby() ? std::min(here, left_in(database_.disk.at_standby()))
                                       : here;
}

std::map<std::string, LockRow> PostgresModel::rows() const {
  std::map<std::string, LockRow> all;
  for (const auto& [name, tuple] : database_.locks) {
    if (is_share(name)) continue;
    if (const LockRow* const last = committed(tuple)) all.emplace(name, *last);
  }
  return all;
}

std::vector<LockRow> PostgresModel::shares(std::string_view name) const {
  std::vector<LockRow> all;
  const std::string first = share_name(name, "");
  for (auto each = database_.locks.lower_bound(first); each != database_.locks.end(); ++each) {
    if (!each->first.starts_with(first)) break;
    if (const LockRow* const last = committed(each->second)) all.push_back(*last);
  }
  return all;
}

std::map<std::string, LockRow> PostgresModel::shares() const {
  std::map<std::string, LockRow> all;
  for (const auto& [name, tuple] : database_.locks) {
    const LockRow* const last = committed(tuple);
    if (is_share(name) && last != nullptr) all.emplace(name, *last);
  }
  return all;
}

std::vector<PostgresModel::Holder> PostgresModel::holds(std::string_view name) const {
  const std::optional<LockRow> last = row(name);
  const Moment now = database_.clock();
  if (!last || last->expires_at <= now) return {};
  std::vector<Holder> all;
  const auto add = [&](const LockRow& each) {
    if (each.attempt.empty() || each.expires_at <= now) return;
    all.push_back({.attempt = each.attempt,
                   .number = each.number,
                   .left = std::chrono::microseconds(each.expires_at - now)});
  };
  if (last->lease != 0) {
    add(*last);
  } else {
    for (const LockRow& each : shares(name)) add(each);
  }
  return all;
}

std::size_t PostgresModel::row_count() const {
  std::size_t all = 0;
  for (const auto& [name, tuple] : database_.locks) {
    all += committed(tuple) != nullptr && !is_share(name) ? 1U : 0U;
  }
  return all;
}

std::vector<TicketRow> PostgresModel::tickets() const {
  std::vector<TicketRow> all;
  for (const auto& [name, tickets] : database_.tickets) {
    for (const auto& [number, tuple] : tickets) {
      if (const TicketRow* const last = committed(tuple)) all.push_back(*last);
    }
  }
  return all;
}

std::size_t PostgresModel::ticket_count() const {
  std::size_t all = 0;
  for (const auto& [name, tickets] : database_.tickets) {
    // A key's go with it: nobody may ask for it again. Nor for a permit, when all is over.
    if (is_gate(name)) continue;
    if (!is_run(name) || !row(name)) all += count(tickets);
  }
  return all;
}

std::size_t PostgresModel::ticket_count(std::string_view name) const {
  const auto found = database_.tickets.find(name);
  return found == database_.tickets.end() ? 0 : count(found->second);
}

std::map<std::string, KeyRow> PostgresModel::keys() const {
  std::map<std::string, KeyRow> all;
  for (const auto& [name, tuple] : database_.keys) {
    const KeyRow* const last = committed(tuple);
    if (last != nullptr && last->state != KeyRow::a_floor) all.emplace(name, *last);
  }
  return all;
}

std::int64_t PostgresModel::floor_of_keys() const {
  std::int64_t most = 0;
  for (int place = 1; place <= floors; ++place) {
    const auto found = database_.keys.find(floor_name(place));
    const KeyRow* const last = committed(found->second);
    if (last != nullptr) most = std::max(most, last->number);
  }
  return most;
}

bool PostgresModel::settled(ConnectionId connection) const {
  const auto found = sessions_.find(connection);
  return found != sessions_.end() && found->second->settled();
}

bool PostgresModel::waits_for_standby(ConnectionId connection) const {
  const auto found = sessions_.find(connection);
  return found != sessions_.end() && found->second->waits_for() == "the standby";
}

std::size_t PostgresModel::backends() const { return sessions_.size(); }

std::map<int, std::string> PostgresModel::waits() const {
  std::map<int, std::string> all;
  for (const auto& [connection, session] : sessions_) {
    all.emplace(session->pid(), session->waits_for());
  }
  return all;
}

}  // namespace simulation::postgres
