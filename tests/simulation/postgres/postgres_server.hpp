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
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  /// The standby answers in place of the primary, which is gone for ever, with what had reached it.
  /// As `restarted()`: the caller has ended all connections and callbacks.
  void failed_over();
  void set_standby_gone(bool gone);        ///< commits that wait for it hang
  void set_in_recovery(bool in_recovery);  ///< it is a standby: read-only
  void stall_disk(Nanos time);             ///< the next flush takes so much longer
  /// So many sessions of another database notify without a pause for that time: each has the
  /// cluster's lock of notifications over a flush.
  void strangers_notify(std::size_t sessions, Nanos time);
  /// A session, chosen by the seed, gets pg_cancel_backend(), or pg_terminate_backend().
  /// @return false: there is none
  bool cancel_one();
  bool terminate_one();
  void cancel_all();
  void terminate_all();  ///< as a fast shutdown does
  /// A transaction of a stranger's has the row FOR UPDATE for that time. @return false: no row, or
  /// somebody has it
  bool lock_row(const std::string& name, Nanos time);
  /// Somebody deletes the name's row, as its page forbids. @return false: none, or it is locked
  bool delete_row(const std::string& name);

  // For judges: what is committed, on disk or not.
  struct Holder {
    std::string attempt{};
    std::int64_t number = 0;
    Nanos left{};  ///< of its lease, by the server's clock
  };
  [[nodiscard]] std::optional<Holder> holder(std::string_view name) const;
  [[nodiscard]] std::optional<LockRow> row(std::string_view name) const;
  [[nodiscard]] std::map<std::string, LockRow> rows() const;
  [[nodiscard]] std::size_t row_count() const;
  [[nodiscard]] std::vector<TicketRow> tickets() const;
  [[nodiscard]] std::size_t ticket_count() const;
  [[nodiscard]] std::size_t ticket_count(std::string_view name) const;
  [[nodiscard]] std::size_t grave_count() const;  ///< buried attempts of all names
  /// Server processes: also those whose client has gone.
  [[nodiscard]] std::size_t backends() const;
  /// What each of them waits for; "" = a message, or nothing.
  [[nodiscard]] std::map<int, std::string> waits() const;
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
