// SPDX-License-Identifier: MIT
// The model as a server, and what may befall it. What judges ask it is in postgres_judges.cpp.
#include "simulation/postgres/postgres_server.hpp"

#include "simulation/postgres/session.hpp"
#include "simulation/postgres/stranger.hpp"

#include <utility>
#include <vector>

namespace simulation::postgres {

PostgresModel::PostgresModel(Site& site, Options options) : database_(site, std::move(options)) {
  database_.scheduler.when_done = [this] { forget_ended(); };
}

PostgresModel::~PostgresModel() = default;

void PostgresModel::opened(ConnectionId connection) {
  auto session = std::make_unique<Session>(database_, connection, ++last_pid_);
  Session& begun = *session;
  sessions_.emplace(connection, std::move(session));
  begun.start();
  database_.scheduler.run();
}

void PostgresModel::received(ConnectionId connection, std::string_view bytes) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  found->second->received(bytes);
  database_.scheduler.run();
}

void PostgresModel::closed(ConnectionId connection) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  found->second->left();
  database_.scheduler.run();
}

void PostgresModel::forget_ended() {
  if (!std::exchange(database_.somebody_ended, false)) return;
  std::erase_if(sessions_, [](const auto& each) { return each.second->ended(); });
  std::erase_if(strangers_, [](const auto& each) { return each->ended(); });
}

void PostgresModel::end_all() {
  sessions_.clear();
  strangers_.clear();
}

void PostgresModel::restarted(bool keeps_data) {
  end_all();
  database_.load(keeps_data ? database_.disk.after_crash() : Image{});
}

void PostgresModel::promote(const PostgresModel& primary) {
  // Its sessions go on: at a standby they could change nothing, and so have nothing locked.
  database_.in_recovery = false;
  database_.timeline = primary.database_.timeline + 1;
  database_.load(primary.database_.disk.at_standby());
}

void PostgresModel::stand_alone() { database_.disk.stand_alone(); }

bool PostgresModel::make_mistake(std::string_view name) {
  if (name.empty()) {
    database_.mistake = Mistake::none;
    return true;
  }
  const std::optional<Mistake> mistake = mistake_of(name);
  if (mistake) database_.mistake = *mistake;
  return mistake.has_value();
}

void PostgresModel::set_standby_gone(bool gone) { database_.disk.set_standby_gone(gone); }

void PostgresModel::set_in_recovery(bool in_recovery) { database_.in_recovery = in_recovery; }

void PostgresModel::stall_disk(Nanos time) { database_.disk.stall(time); }

void PostgresModel::end_stall_of_disk() { database_.disk.end_stall(); }

void PostgresModel::strangers_notify(std::size_t sessions, Nanos time) {
  const Nanos end = database_.site.uptime() + time;
  for (std::size_t i = 0; i < sessions; ++i) {
    strangers_.push_back(std::make_unique<Stranger>(database_, ++last_pid_, [this, end] {
      if (database_.site.uptime() >= end) return Stranger::leave();
      return Stranger::simple("NOTIFY of_another_database");
    }));
  }
  database_.scheduler.run();
}

bool PostgresModel::lock_row(const std::string& name, Nanos time) {
  const auto found = database_.locks.find(name);
  if (found == database_.locks.end() || !found->second.claims.empty()) return false;
  auto step = std::make_shared<int>(0);
  auto stranger = std::make_unique<Stranger>(database_, ++last_pid_, [this, name, step] {
    switch ((*step)++) {
      case 0: return Stranger::simple("BEGIN");
      case 1:
        return Stranger::statement(
            "SELECT FROM " + database_.options.schema + ".lock WHERE name = $1 FOR UPDATE", {name});
      case 2: return std::string();  // it stays so
      default: return Stranger::leave();
    }
  });
  database_.site.after(time, [this, one = stranger.get()] {
    for (const auto& each : strangers_) {
      if (each.get() == one) each->go_on();
    }
    database_.scheduler.run();
  });
  strangers_.push_back(std::move(stranger));
  database_.scheduler.run();
  return true;
}

bool PostgresModel::delete_row(const std::string& name) {
  const auto found = database_.locks.find(name);
  if (found == database_.locks.end()) return false;
  const LockTuple& tuple = found->second;
  if (!tuple.claims.empty() || !tuple.waiters.empty() || tuple.pending) return false;
  database_.locks.erase(found);
  LogRecord record;
  record.locks_gone.push_back(name);
  database_.disk.append(std::move(record));
  database_.disk.want_later();
  return true;
}

Session* PostgresModel::any() {
  if (sessions_.empty()) return nullptr;
  auto at = sessions_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(database_.site.random() % sessions_.size()));
  return at->second.get();
}

bool PostgresModel::cancel_one() {
  Session* const session = any();
  if (session == nullptr) return false;
  session->cancel();
  database_.scheduler.run();
  return true;
}

bool PostgresModel::terminate_one() {
  Session* const session = any();
  if (session == nullptr) return false;
  session->terminate();
  database_.scheduler.run();
  return true;
}

void PostgresModel::cancel(ConnectionId connection) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return;
  found->second->cancel();
  database_.scheduler.run();
}

void PostgresModel::cancel_all() {
  for (const auto& [connection, session] : sessions_) session->cancel();
  database_.scheduler.run();
}

void PostgresModel::terminate_all() {
  for (const auto& [connection, session] : sessions_) session->terminate();
  database_.scheduler.run();
}

}  // namespace simulation::postgres
