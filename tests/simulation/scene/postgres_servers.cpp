// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_servers.hpp"

#include <algorithm>
#include <utility>

namespace simulation {

PostgresServers::PostgresServers(Room& room, const postgres::Options& options,
                                 std::string_view mistake, Nanos end)
    : room_(room), end_(end) {
  Host& host = room.network.host("postgres");
  first_ = std::make_unique<Door>(*this, host, options);
  first_->model.make_mistake(mistake);
  host.serve(*first_);
  if (options.standby == postgres::Standby::none) return;
  postgres::Options other = options;
  other.standby = postgres::Standby::none;
  other.in_recovery = true;
  Host& second = room.network.host("standby");
  standby_ = std::make_unique<Door>(*this, second, other);
  standby_->model.make_mistake(mistake);
  second.serve(*standby_);
}

void PostgresServers::Door::received(ConnectionId connection, std::string_view bytes) {
  const Connection* const from = house.room_.network.find(connection);
  if (from != nullptr && house.replaced_) {
    const std::uint64_t process = from->process().number();
    if (this == house.first_.get() && (house.calm_ || !house.met_.contains(process))) {
      model.closed(connection);  // its process ends, too
      return host.hang_up(connection);
    }
    if (this == house.standby_.get() && model.settled(connection)) house.met_.insert(process);
  }
  model.received(connection, bytes);
}

void PostgresServers::Door::closed(ConnectionId connection) {
  const Connection* const from = house.room_.network.find(connection);
  // One may be left before the client knows that all it has sent has arrived.
  if (from != nullptr && from->left() && !house.ended_.contains(&from->process()) && !house.calm_ &&
      !house.replaced_ && model.waits_for_standby(connection)) {
    ++house.forsaken_[from->process().number()];
  }
  model.closed(connection);
}

void PostgresServers::Door::restarted(bool keeps_data) {
  ++house.crashes_;
  model.restarted(keeps_data);
  if (this == &house.now() && house.when_back) house.when_back();
  if (house.replaced_ && this == house.first_.get()) model.stand_alone();
}

std::string PostgresServers::address() const { return replaced_ ? "10.0.0.2" : "10.0.0.1"; }

std::string PostgresServers::addresses(bool standby_first) const {
  if (!standby_) return "10.0.0.1:5432";
  return standby_first ? "10.0.0.2:5432,10.0.0.1:5432" : "10.0.0.1:5432,10.0.0.2:5432";
}

std::uint64_t PostgresServers::statements() const {
  return first_->model.statements() + (standby_ ? standby_->model.statements() : 0);
}

std::uint64_t PostgresServers::requests() const {
  return first_->host.requests + (standby_ ? standby_->host.requests : 0);
}

std::size_t PostgresServers::processes() const {
  return first_->model.backends() + (standby_ ? standby_->model.backends() : 0);
}

std::string PostgresServers::broken() const {
  for (const auto& [process, count] : forsaken_) {
    if (count > 1)
      return "a client leaves its server processes behind, each in the middle of a commit";
  }
  if (!standby_ || !first_->model.broken().empty()) return first_->model.broken();
  return standby_->model.broken();
}

void PostgresServers::crash_after_a_commit(bool that_renews, Nanos delay, Nanos down) {
  Door& door = now();
  watches_ = 0;
  door.model.watch_commits([this, &door, that_renews, delay, down](ConnectionId, bool renews) {
    if (that_renews && !renews) return;
    // Not now: the server is in the middle of it.
    room_.world.after(delay, [this, &door, down, id = ++watches_] {
      if (id != 1 || room_.world.now() >= end_) return;
      door.model.watch_commits({});
      room_.world.note(door.host.name(), "crashes");
      door.host.restart(std::min(room_.world.now() + down, end_), true);
    });
  });
}

void PostgresServers::lose_an_answer(Nanos length) {
  Door& door = now();
  watches_ = 0;
  door.model.watch_commits([this, &door, length](ConnectionId id, bool) {
    const Connection* const connection = room_.network.find(id);
    if (connection == nullptr) return;  // a stranger's
    room_.world.after(
        Nanos(0), [this, &door, length, id = ++watches_, &process = connection->process()] {
          if (id != 1 || room_.world.now() >= end_) return;
          door.model.watch_commits({});
          room_.world.note("network", process.name() + " is cut off, and an answer is lost");
          const auto all = room_.network.connections();  // a copy: connections forget themselves
          for (const auto& [each, other] : all) {
            if (&other->process() == &process && other->held()) other->cut(true);
          }
          room_.network.part(process, door.host, std::min(room_.world.now() + length, end_));
        });
  });
}

void PostgresServers::each(const std::function<void(postgres::PostgresModel&)>& act) {
  act(first_->model);
  if (standby_) act(standby_->model);
}

void PostgresServers::refuse_logins(bool refuses) {
  has_refused_ = true;
  each([refuses](postgres::PostgresModel& model) { model.refuse_logins(refuses); });
}

void PostgresServers::refuse_takes(bool refuses) {
  has_refused_ = true;
  each([refuses](postgres::PostgresModel& model) { model.refuse_takes(refuses); });
}

void PostgresServers::calm() {
  primary().set_standby_gone(false);
  primary().watch_commits({});
  each([](postgres::PostgresModel& model) { model.end_stall_of_disk(); });
  if (has_refused_) {
    refuse_logins(false);
    refuse_takes(false);
  }
  // Somebody has noticed that there are two.
  calm_ = true;
  if (replaced_) first_->model.terminate_all();
}

bool PostgresServers::fail_over(Nanos down, Nanos back) {
  if (!has_standby() || !first_->host.up() || !standby_->host.up()) return false;
  World& world = room_.world;
  first_->host.restart(world.now() + down + back, true);
  first_->model.watch_commits({});
  replaced_ = true;
  world.after(down, [this] {
    room_.world.note(standby_->host.name(), "is promoted");
    // Servers of one cluster have the same time.
    standby_->host.step_wall_clock(first_->host.wall() - standby_->host.wall());
    standby_->model.promote(first_->model);
    if (when_back) when_back();
  });
  return true;
}

}  // namespace simulation
