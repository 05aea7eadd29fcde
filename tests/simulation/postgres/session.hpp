// SPDX-License-Identifier: MIT
// A server process: one connection's messages in, one statement after the other, one transaction at
// a time. It goes on after its client has gone, until it notices.
#pragma once

#include "simulation/postgres/database.hpp"
#include "simulation/postgres/process.hpp"
#include "simulation/postgres/settings.hpp"
#include "simulation/postgres/task.hpp"
#include "simulation/postgres/transaction.hpp"
#include "simulation/postgres/wire.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::postgres {

/// The condition and the new values of an UPDATE.
template <class Row>
using WhereOf = std::function<bool(const Row&, const TupleLocks&)>;
template <class Row>
using SetOf = std::function<void(Row&)>;
using Where = WhereOf<LockRow>;
using Set = SetOf<LockRow>;

class Session final : public Process {
 public:
  /// Where its bytes go.
  using Outlet = std::function<void(std::string_view)>;

  Session(Database& database, ConnectionId connection, int pid);
  /// Of a stranger, who has no connection in this world.
  Session(Database& database, int pid, Outlet outlet);
  ~Session() override;

  // From outside.
  void start();
  void received(std::string_view bytes);
  void left();       ///< its client, or the way to it
  void cancel();     ///< pg_cancel_backend()
  void terminate();  ///< pg_terminate_backend(), and a shutdown
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] bool greeted() const noexcept { return greeted_; }
  /// @return whether it was made ready as our clients do (session.sql).
  [[nodiscard]] bool settled() const noexcept { return settled_; }
  void settle() noexcept { settled_ = true; }
  [[nodiscard]] int pid() const noexcept { return pid_; }
  /// Tells who watches that this transaction has a new owner.
  void granted(const LockRow& row) const {
    if (db.on_grant) db.on_grant(connection_, row);
  }
  [[nodiscard]] ConnectionId connection() const noexcept { return connection_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& waits_for() const noexcept { return waits_for_; }
  [[nodiscard]] const Transaction& transaction() const noexcept { return tx_; }
  [[nodiscard]] std::uint64_t cancel_key() const noexcept { return id(); }
  void hear(const std::string& channel, const std::string& payload, int from);

  // For statements: clocks and settings.
  Database& db;
  [[nodiscard]] Moment clock() const { return db.clock(); }
  [[nodiscard]] Moment statement_began() const noexcept { return tx_.statement_began; }
  [[nodiscard]] const std::string& setting(Setting which) const { return settings_.of(which); }
  void set(Setting which, const std::string& value, bool local);
  /// `IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') ...`
  void commit_on_disk();
  /// Nothing of what this function writes need be on disk when it is told.
  /// @param shares whether something was written in this transaction before
  void only_looks(bool shares);
  /// Between two steps of a function: another process may come in between.
  Task<void> step();

  // Rows. What is seen is committed, or one's own.
  template <class Row = LockRow>
  [[nodiscard]] const Row* see(std::string_view name) const {
    const Tuple<Row>* const tuple = find<Row>(name);
    return tuple == nullptr ? nullptr : tuple->seen_by(this, tx_.sees_until());
  }
  template <class Row = LockRow>
  [[nodiscard]] Tuple<Row>* find(std::string_view name) const {
    auto& table = db.table(static_cast<const Row*>(nullptr));
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  template <class Row>
  [[nodiscard]] const Row& row(const Tuple<Row>& tuple) const {
    return *tuple.seen_by(this, tx_.sees_until());
  }
  /// SELECT ... FOR `strength` [SKIP LOCKED]. @return null: no row, or passed over
  /// @throws SqlError: waited in vain
  template <class Row = LockRow>
  Task<Tuple<Row>*> lock_row(const std::string& name, Strength strength, bool skip);
  /// UPDATE ... WHERE name = `name` AND `where`. @return null: no such row
  template <class Row>
  Task<Tuple<Row>*> update(const std::string& name, const WhereOf<Row>& where,
                           const SetOf<Row>& set);
  /// The same of a row that this transaction has locked.
  template <class Row>
  void write(Tuple<Row>& tuple, Row values);
  /// DELETE of one that it has locked FOR UPDATE.
  template <class Row>
  void remove(Tuple<Row>& tuple);
  /// INSERT ... ON CONFLICT DO NOTHING. @return null: there is one
  template <class Row>
  Task<Tuple<Row>*> insert(Row values);
  [[nodiscard]] std::vector<const TicketRow*> tickets(std::string_view name) const;
  /// Of who shares that name; the first with an empty attempt.
  [[nodiscard]] std::vector<const LockRow*> shares(std::string_view name) const;
  void write_ticket(const TicketRow& values, bool gone);
  void notify(const std::string& channel, const std::string& payload);
  void listen(const std::string& channel, bool on);
  void savepoint(const std::string& name, bool release);
  /// This transaction's commit shall say so if the hold is over then.
  void tie(const std::string& name, std::int64_t number) { tx_.ties.emplace_back(name, number); }
  [[nodiscard]] std::size_t mark() const noexcept { return tx_.undo.size(); }
  void roll_back_to(std::size_t mark);
  /// The same of a subtransaction, whose end leaves the transaction its number.
  void undo_to(std::size_t mark);
  void refuse_if_read_only(const char* what) const;
  void give(TupleLocks& tuple, Strength strength);  ///< a claim, once it is free
  void give(PlainLock& lock);

 private:
  struct Portal {
    Parsed statement{};
    std::vector<Argument> arguments{};
    std::vector<bool> formats{};  // of results: binary; one for all, or one each
    bool described = false;
  };
  // Its life.
  Task<void> live();
  Task<bool> greet_client();
  Task<bool> await_message();
  Task<void> serve(char kind, std::string body);
  void say(char kind, const char* severity, const SqlError& what);
  void fail(const SqlError& why);
  void end();
  void hang_up();
  void stopped() override;
  // Messages.
  void parse(std::string_view body);
  void bind(std::string_view body);
  Task<void> execute();
  Task<void> sync();
  Task<void> simple(std::string text);
  void answer(const Rows& rows, const std::vector<bool>& formats, bool with_columns);
  void ready_for_query();
  void tell_heard();
  void flush();
  void send(std::string_view bytes);
  // Transactions.
  void begin_if_none();
  Task<Rows> run(const Parsed& statement, const std::vector<Argument>& arguments);
  Task<Rows> control(const Parsed& statement);
  Task<void> commit();
  Task<void> replicated(Place place);
  void finish_commit();
  [[nodiscard]] LogRecord log_record() const;
  void abort();
  void undo(Undo& entry);
  void assign_xid();
  /// Stands still for a while, if somebody wants it.
  Task<void> reach(Point point);
  // Locks.
  Task<bool> claim(TupleLocks& tuple, Strength strength, bool skip);
  Task<void> wait_for_lock(std::string what, std::function<bool()> come,
                           std::function<void()> give_up);
  void check_interrupts();
  template <class Row>
  [[nodiscard]] bool waits_at_old_version(const Tuple<Row>& tuple, Strength strength) const;
  template <class Row>
  void check_snapshot(const Tuple<Row>& tuple, Strength strength) const;
  template <class Row>
  [[nodiscard]] Undo change_of(Tuple<Row>& tuple);

  const ConnectionId connection_;
  const Outlet outlet_{};  // in place of a connection
  const int pid_;
  std::string user_{};
  Task<void> life_{};
  MessageStream in_{};
  std::string out_{};
  bool greeted_ = false;
  bool settled_ = false;
  bool ended_ = false;
  bool client_left_ = false;
  bool cancel_ = false;
  bool terminate_ = false;
  bool in_statement_ = false;
  bool skips_ = false;  // till the next Sync
  std::uint64_t steps_left_ = 0;
  Statement latest_ = Statement::nothing;
  std::string waits_for_{};
  std::map<std::string, Parsed, std::less<>> prepared_{};
  std::optional<Portal> portal_{};
  std::set<std::string, std::less<>> channels_{};
  std::vector<std::string> heard_{};
  Settings settings_{};
  Transaction tx_{};
};

}  // namespace simulation::postgres
