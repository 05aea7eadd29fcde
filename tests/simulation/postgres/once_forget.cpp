// SPDX-License-Identifier: MIT
// once_forget.sql, and look_key.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace simulation::postgres {
namespace {

constexpr std::size_t most_in_a_sweep = 16;

/// @return the keys whose time is over, and was not before `since`; the oldest first.
std::vector<std::string> keys_over(const Session& session, Moment since, Moment t) {
  std::vector<std::pair<Moment, std::string>> all;
  for (const auto& [name, tuple] : session.db.keys) {
    const KeyRow* const row = session.see<KeyRow>(name);
    if (row == nullptr || row->kept_until > t || row->kept_until < since) continue;
    all.emplace_back(row->kept_until, name);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<std::string> names;
  for (auto& [until, name] : all) names.push_back(std::move(name));
  return names;
}

/// @return the number of what it has removed; 0: nothing
Task<std::int64_t> sweep_key(Session& session, KeyTuple& tuple, Moment t) {
  KeyRow row = session.row(tuple);
  const std::string name = run_name(row.name);
  LockTuple* const runs = co_await session.lock_row(name, Strength::update, true);
  co_await session.step();
  if (runs == nullptr && session.see(name) != nullptr) co_return 0;
  std::int64_t number = 0;
  if (runs != nullptr) {
    const LockRow run = session.row(*runs);
    const bool keeps_runner = !session.db.makes(Mistake::sweep_removes_what_is_run);
    if (run.expires_at > t && keeps_runner) {
      row.kept_until = run.expires_at;
      session.write(tuple, std::move(row));
      co_return 0;
    }
    number = run.number;
  }
  co_await session.step();
  for (const TicketRow* const each : session.tickets(name)) {
    session.write_ticket(TicketRow(*each), true);
  }
  if (runs != nullptr) session.remove(*runs);
  session.remove(tuple);
  co_return number;
}

Task<void> sweep_keys(Session& session, Moment since) {
  const Moment t = session.clock();
  KeyTuple* floor = nullptr;
  for (int place = 1; place <= floors && floor == nullptr; ++place) {
    const std::string name = floor_name(place);
    floor = co_await session.lock_row<KeyRow>(name, Strength::no_key_update, true);
  }
  if (floor == nullptr) co_return;
  co_await session.step();
  std::int64_t most = 0;
  std::size_t done = 0;
  for (const std::string& name : keys_over(session, since, t)) {
    KeyTuple* const tuple = co_await session.lock_row<KeyRow>(name, Strength::update, true);
    if (tuple == nullptr || session.row(*tuple).kept_until > t) continue;
    const std::int64_t number = co_await sweep_key(session, *tuple, t);
    most = std::max(most, number);
    if (++done == most_in_a_sweep) break;
  }
  KeyRow row = session.row(*floor);
  if (row.number >= most) co_return;
  row.number = std::max(most, std::min(most + second, epoch(t)));
  session.write(*floor, std::move(row));
}

}  // namespace

Task<void> sweep_on(Session& session, Moment t) {
  constexpr Moment counts = 60 * second;
  Moment until = 0;
  Moment since = minus_infinity;
  std::istringstream mark(session.setting(Setting::swept));
  if (!(mark >> until >> since) || until < t || until > t + counts) {
    until = t + counts;
    since = minus_infinity;
  }
  Moment oldest = infinity;
  for (const auto& [name, tuple] : session.db.keys) {
    const KeyRow* const row = session.see<KeyRow>(name);
    if (row != nullptr && row->kept_until >= since) oldest = std::min(oldest, row->kept_until);
  }
  session.set(Setting::swept, std::to_string(until) + " " + std::to_string(std::min(oldest, t)),
              false);
  co_await session.step();
  if (oldest <= t) co_await sweep_keys(session, oldest);
}

Task<std::string> forget_key(Session& session, const std::string& key, std::int64_t number) {
  session.commit_on_disk();
  const std::string name = run_name(key);
  const LockTuple* const runs = co_await session.lock_row(name, Strength::update, true);
  co_await session.step();
  if (runs == nullptr && session.see(name) != nullptr) co_return "L";
  const Moment t = session.clock();
  const bool held = runs != nullptr && session.row(*runs).expires_at > t;
  KeyTuple* const tuple = co_await session.lock_row<KeyRow>(key, Strength::update, true);
  co_await session.step();
  if (tuple == nullptr) {
    co_return session.see<KeyRow>(key) != nullptr ? std::string("L") : std::string();
  }
  KeyRow row = session.row(*tuple);
  const bool lives = held && row.state == 'P';
  if (row.state == '-' || !(held || row.kept_until > t)) co_return std::string();
  std::string answer = told(row, lives, row.bytes);
  const bool that = row.number == (row.state == 'P' ? -number : number);
  if (!lives && (that || session.db.makes(Mistake::forgets_whatever_it_finds))) {
    row.state = '-';
    row.bytes.clear();
    row.kept_until = t;
    session.write(*tuple, std::move(row));
  }
  co_return answer;
}

Rows look_key(const Session& session, const std::string& key) {
  Rows rows;
  rows.columns = {Type::bytea};
  const KeyRow* const row = session.see<KeyRow>(key);
  const LockRow* const run = session.see(run_name(key));
  const Moment t = session.clock();
  const bool held = run != nullptr && run->expires_at > t;
  if (row == nullptr || row->state == '-' || !(held || row->kept_until > t)) return rows;
  const bool lives = held && row->state == 'P';
  rows.rows.push_back({Value::binary(told(*row, lives, row->bytes))});
  return rows;
}

}  // namespace simulation::postgres
