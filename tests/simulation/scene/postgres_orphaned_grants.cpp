// SPDX-License-Identifier: MIT
#include "simulation/scene/postgres_orphaned_grants.hpp"

#include "simulation/scene/bounds.hpp"

#include <algorithm>

namespace simulation {

PostgresOrphanedGrants::PostgresOrphanedGrants(Room& room, PostgresServers& servers,
                                               const Plan& plan)
    : room_(room), servers_(servers), names_(plan.names) {
  servers_.each([this](postgres::PostgresModel& model) {
    model.watch_grants([this](ConnectionId id, const postgres::LockRow& row) {
      if (const Connection* const from = room_.network.find(id)) {
        clients_[row.attempt.substr(0, client_size)] = &from->process();
      }
    });
  });
  servers_.when_back = [this] { came_back(); };
}

bool PostgresOrphanedGrants::lives(const std::string& attempt) const {
  const auto found = clients_.find(attempt.substr(0, client_size));
  return found != clients_.end() && !found->second->dead() && !excused_.contains(found->second);
}

// close() waits for a second: a row may be locked for longer, by a commit that is under way, and
// the server be out of reach. Where it took less it has left nothing.
std::optional<Verdict> PostgresOrphanedGrants::closed(const Process& process, Nanos took) {
  if (took >= a_close) return std::nullopt;
  excused_.erase(&process);
  for (const auto& [name, row] : servers_.primary().rows()) {
    for (const auto& hold : servers_.primary().holds(name)) {
      const auto found = clients_.find(hold.attempt.substr(0, client_size));
      const bool its = found != clients_.end() && found->second == &process;
      if (!its || back_.contains({name, hold.number}) || hold.left < nearly_over) continue;
      return Verdict{"S9", process.name() + " was closed, and still holds " + name + ", number " +
                               std::to_string(hold.number)};
    }
  }
  return std::nullopt;
}

// A release need not be on disk when it is told.
void PostgresOrphanedGrants::came_back() {
  for (const auto& [name, row] : servers_.primary().rows()) {
    back_.emplace(name, row.number);
    for (const auto& hold : servers_.primary().holds(name)) back_.emplace(name, hold.number);
  }
}

std::optional<Verdict> PostgresOrphanedGrants::look(const Judge& judge, Nanos quiet) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (auto verdict = look_at(names_[i], i, judge, quiet)) return verdict;
  }
  return std::nullopt;
}

std::optional<Verdict> PostgresOrphanedGrants::look_at(Name& name, std::size_t index,
                                                       const Judge& judge, Nanos quiet) {
  const std::string its = lock_name(index);
  const Nanos now = room_.world.now();
  Name there;
  for (const auto& hold : servers_.primary().holds(its)) {
    const auto known = name.find(hold.number);
    const Nanos since = known == name.end() ? now : known->second;
    const bool owned = judge.knows(index, static_cast<std::uint64_t>(hold.number)) ||
                       !lives(hold.attempt) || back_.contains({its, hold.number});
    there.emplace(hold.number, owned ? now : since);
    if (owned || std::min(now - since, quiet) < soon) continue;
    return Verdict{"S5", its + " is held by an attempt that nobody knows of, number " +
                             std::to_string(hold.number)};
  }
  name = std::move(there);
  return std::nullopt;
}

}  // namespace simulation
