// SPDX-License-Identifier: MIT
#include "simulation/postgres/database.hpp"

#include "simulation/postgres/session.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {

Database::Database(Site& the_site, Options its_options)
    : site(the_site),
      options(std::move(its_options)),
      texts(options.schema),
      scheduler(the_site),
      disk(the_site, scheduler, options),
      in_recovery(options.in_recovery) {
  migrate();
}

void Database::migrate() {
  for (int place = 1; place <= floors; ++place) {
    KeyTuple& tuple = keys[floor_name(place)];
    if (!tuple.history.empty()) continue;
    tuple.xmin = next_xid;
    const KeyRow row{.name = floor_name(place), .state = KeyRow::a_floor};
    tuple.history.push_back({.data = row, .commit = commits});
  }
}

void Database::load(const Image& from) {
  locks.clear();
  tickets.clear();
  keys.clear();
  notifying = {};
  last_ticket = from.last_ticket;
  const Xid xmin = next_xid++;
  ++commits;
  for (const auto& [name, row] : from.locks) {
    LockTuple& tuple = locks[name];
    tuple.xmin = xmin;
    tuple.history.push_back({.data = row, .commit = commits, .gone = false});
  }
  for (const auto& [key, row] : from.tickets) {
    TicketTuple& tuple = tickets[key.first][key.second];
    tuple.xmin = xmin;
    tuple.history.push_back({.data = row, .commit = commits, .gone = false});
  }
  for (const auto& [name, row] : from.keys) {
    KeyTuple& tuple = keys[name];
    tuple.xmin = xmin;
    tuple.history.push_back({.data = row, .commit = commits, .gone = false});
  }
  migrate();
  disk.start(from);
}

bool Database::old_snapshots() const {
  return std::any_of(sessions.begin(), sessions.end(), [](const auto& each) {
    return each.second->transaction().snapshot.has_value();
  });
}

void Database::deliver(const std::string& channel, const std::string& payload, int from) {
  for (const auto& [id, session] : sessions) session->hear(channel, payload, from);
}

void Database::hand_on(PlainLock& lock) {
  if (!lock.free() || lock.waiters.empty()) return;
  Session* const next = lock.waiters.front();
  lock.waiters.pop_front();
  next->give(lock);
  scheduler.wake(*next, Wake::come);
}

void Database::hand_on(TupleLocks& tuple) {
  while (!tuple.waiters.empty()) {
    const Claim next = tuple.waiters.front();
    if (!tuple.free_for(next.by, next.strength)) return;
    tuple.waiters.pop_front();
    next.by->give(tuple, next.strength);
    scheduler.wake(*next.by, Wake::come);
  }
}

}  // namespace simulation::postgres
