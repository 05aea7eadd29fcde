// SPDX-License-Identifier: MIT
// The PostgreSQL servers of a run: a primary, and perhaps a standby that can take its place, after
// which the old primary comes back as if nothing had happened.
#pragma once

#include "simulation/postgres/postgres_server.hpp"
#include "simulation/world/room.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace simulation {

class PostgresServers {
 public:
  /// @param end of the storm: until then what befalls them is over
  PostgresServers(Room& room, const postgres::Options& options, std::string_view mistake,
                  Nanos end);

  [[nodiscard]] postgres::PostgresModel& primary() noexcept { return now().model; }
  [[nodiscard]] const postgres::PostgresModel& primary() const noexcept { return now().model; }
  [[nodiscard]] bool has_standby() const noexcept { return standby_ != nullptr && !replaced_; }
  [[nodiscard]] std::string address() const;
  /// @return all of them, as a URL has it.
  [[nodiscard]] std::string addresses(bool standby_first) const;
  [[nodiscard]] std::uint64_t statements() const;
  [[nodiscard]] std::uint64_t requests() const;
  [[nodiscard]] std::size_t processes() const;
  /// A process, or its client, is about to end: what it leaves behind then it has to.
  void ends(const Process& process) { ended_.insert(&process); }
  /// @return what must never be; empty = all is well
  [[nodiscard]] std::string broken() const;
  /// @return whether what was told, but was not on disk, may have been lost since the beginning.
  [[nodiscard]] bool crashed() const noexcept { return replaced_ || crashes_ > 0; }

  void each(const std::function<void(postgres::PostgresModel&)>& act);
  /// Called when what was on disk, or at the standby, is all that there is.
  std::function<void()> when_back{};
  /// Whoever logs in is refused; or whoever takes a lock.
  void refuse_logins(bool refuses);
  void refuse_takes(bool refuses);
  /// @return whether that has happened.
  [[nodiscard]] bool has_refused() const noexcept { return has_refused_; }

  /// What waits for its moment comes no more.
  void calm();
  /// The primary ends right after a commit of that kind, if one comes, and is back in a while.
  void crash_after_a_commit(bool that_renews, Nanos delay, Nanos down);
  /// The answer to a commit is lost, with all connections of the client that it is for, and no new
  /// ones come about for a while.
  void lose_an_answer(Nanos length);
  /// The primary dies; the standby is promoted. Some time later the old primary is there again: it
  /// knows nothing of that, and serves whoever it can get. Clients that have never met the new one
  /// are kept from it, since they cannot know.
  /// @return false: there is no standby, or one of the two is down
  bool fail_over(Nanos down, Nanos back);

 private:
  /// What stands before a server: it counts crashes, and sees who knows the server.
  struct Door final : public Server {
    Door(PostgresServers& its_house, Host& its_host, const postgres::Options& options)
        : house(its_house), host(its_host), model(its_host, options) {}
    void opened(ConnectionId connection) override { model.opened(connection); }
    void received(ConnectionId connection, std::string_view bytes) override;
    void closed(ConnectionId connection) override;
    void restarted(bool keeps_data) override;
    PostgresServers& house;
    Host& host;
    postgres::PostgresModel model;
  };
  [[nodiscard]] Door& now() const noexcept { return replaced_ ? *standby_ : *first_; }

  Room& room_;
  const Nanos end_;
  std::unique_ptr<Door> first_;
  std::unique_ptr<Door> standby_;
  bool replaced_ = false;
  bool calm_ = false;
  bool has_refused_ = false;
  std::set<std::uint64_t> met_;  // processes that know the one that was promoted
  std::uint64_t crashes_ = 0;
  std::set<const Process*> ended_;
  std::map<std::uint64_t, int> forsaken_;  // by process: commits under way that it has left alone
  std::uint64_t watches_ = 0;  // commits that were seen since the last order to wait for one
};

}  // namespace simulation
