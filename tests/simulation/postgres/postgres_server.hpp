// SPDX-License-Identifier: MIT
// A PostgreSQL server for the simulation: sessions, transactions, row locks, notifications, a log
// on a disk and at a standby, and the library's SQL functions in C++. It speaks PostgreSQL's
// protocol, and is compared with the real server in *_test.cpp of this folder.
#pragma once

#include "simulation/postgres/database.hpp"
#include "simulation/postgres/options.hpp"
#include "simulation/server.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simulation::postgres {

class Session;
class Stranger;

class PostgresModel final : public Server {
 public:
  using Options = postgres::Options;

  /// @param site outlives it, and calls nothing back after it has gone
  explicit PostgresModel(Site& site, Options options = {});
  ~PostgresModel() override;

  // Server
  void opened(ConnectionId connection) override;
  void received(ConnectionId connection, std::string_view bytes) override;
  void closed(ConnectionId connection) override;
  /// A crash and its recovery: what was not flushed is lost, or the end of it. Sessions are gone.
  void restarted(bool keeps_data) override;

  // Faults.
  /// Its functions have that mistake from now on; "" = none. @return false: there is no such name
  bool make_mistake(std::string_view name);
  /// A standby (`Options::in_recovery`) takes the place of its primary, with what had reached it
  /// from there, on a timeline of its own.
  void promote(const PostgresModel& primary);
  /// A primary that goes on without its standby, and waits for it no more.
  void stand_alone();
  void set_standby_gone(bool gone);        ///< commits that wait for it hang
  void set_in_recovery(bool in_recovery);  ///< it is a standby: read-only
  void stall_disk(Nanos time);             ///< the next flush takes so much longer
  void end_stall_of_disk();
  void refuse_logins(bool refuses) { database_.refuses_logins = refuses; }
  void refuse_takes(bool refuses) { database_.refuses_takes = refuses; }
  /// So many sessions of another database notify without a pause for that time: each has the
  /// cluster's lock of notifications over a flush.
  void strangers_notify(std::size_t sessions, Nanos time);
  /// A session, chosen by the seed, gets pg_cancel_backend(), or pg_terminate_backend().
  /// @return false: there is none
  bool cancel_one();
  bool terminate_one();
  void cancel(ConnectionId connection);
  void cancel_all();
  void terminate_all();  ///< as a fast shutdown does
  /// A transaction of a stranger's has the row FOR UPDATE for that time. @return false: no row, or
  /// somebody has it
  bool lock_row(const std::string& name, Nanos time);
  /// Somebody deletes the name's row, as its page forbids. @return false: none, or it is locked
  bool delete_row(const std::string& name);

  /// Called at each commit that has written something, before it waits for the disk; null = no
  /// more. It must not act on the server by itself.
  /// @param renews whether it has moved ends of holds
  void watch_commits(std::function<void(ConnectionId, bool renews)> watcher) {
    database_.on_commit = std::move(watcher);
  }

  /// Called wherever a process of a client's is with a statement; null = no more.
  /// @param watcher returns how long it stands still there; it must not act on the server by itself
  void watch_points(std::function<Nanos(ConnectionId, Statement, Point)> watcher) {
    database_.on_point = std::move(watcher);
  }
  /// Called for each new owner, before that is committed.
  void watch_grants(std::function<void(ConnectionId, const LockRow&)> watcher) {
    database_.on_grant = std::move(watcher);
  }

  /// @return the longest that a session took to notify, since they were forgotten.
  [[nodiscard]] Nanos longest_in_line() const noexcept { return database_.longest_in_line; }
  /// @return for how long nobody has been told that a row is locked.
  [[nodiscard]] Nanos since_locked() const {
    return database_.site.uptime() - database_.met_locked;
  }
  /// @return for how long no waiter that gave up has passed on that it was told.
  [[nodiscard]] Nanos since_passed_on() const {
    return database_.site.uptime() - database_.passed_on;
  }
  void forget_longest_in_line() noexcept { database_.longest_in_line = Nanos(0); }

  // For judges: what is committed, on disk or not.
  struct Holder {
    std::string attempt{};
    std::int64_t number = 0;
    Nanos left{};  ///< of its lease, by the server's clock
  };
  [[nodiscard]] std::optional<Holder> holder(std::string_view name) const;
  [[nodiscard]] std::optional<LockRow> row(std::string_view name) const;
  /// @return what is left of the same grant where the server crashes now, or its standby has to
  /// take its place; zero: nothing
  [[nodiscard]] Nanos left_in_a_crash(const LockRow& row) const;
  [[nodiscard]] std::map<std::string, LockRow> rows() const;  ///< of locks, runs and semaphores
  /// Of who shares it, or shared it; the first with an empty attempt.
  [[nodiscard]] std::vector<LockRow> shares(std::string_view name) const;
  [[nodiscard]] std::map<std::string, LockRow> shares() const;
  /// @return each of those that stand, by the server's clock: its owner's, or all who share it.
  [[nodiscard]] std::vector<Holder> holds(std::string_view name) const;
  [[nodiscard]] std::size_t row_count() const;
  [[nodiscard]] std::vector<TicketRow> tickets() const;
  [[nodiscard]] std::size_t ticket_count() const;  ///< but of keys, which go with their rows
  [[nodiscard]] std::size_t ticket_count(std::string_view name) const;
  [[nodiscard]] std::map<std::string, KeyRow> keys() const;
  [[nodiscard]] std::int64_t floor_of_keys() const;
  /// Server processes: also those whose client has gone.
  [[nodiscard]] std::size_t backends() const;
  /// @return whether that one's commit waits for the standby.
  [[nodiscard]] bool waits_for_standby(ConnectionId connection) const;
  /// What each of them waits for; "" = a message, or nothing.
  [[nodiscard]] std::map<int, std::string> waits() const;
  /// @return which rule was not kept; empty: none
  [[nodiscard]] const std::string& broken() const noexcept { return database_.broken; }
  /// @return whether a client of ours has taken that connection into use: it knows which server
  /// this is.
  [[nodiscard]] bool settled(ConnectionId connection) const;
  [[nodiscard]] std::uint64_t statements() const noexcept { return database_.statements; }
  [[nodiscard]] std::uint64_t flushes() const noexcept { return database_.disk.flushes(); }

 private:
  void forget_ended();
  void end_all();
  [[nodiscard]] Session* any();

  Database database_;
  std::map<ConnectionId, std::unique_ptr<Session>> sessions_;
  int last_pid_ = 1000;
  std::vector<std::unique_ptr<Stranger>> strangers_;
};

}  // namespace simulation::postgres
