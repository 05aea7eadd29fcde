// SPDX-License-Identifier: MIT
// What the sessions of a server share: tables, locks that are not of rows, the log, who listens.
#pragma once

#include "simulation/postgres/disk.hpp"
#include "simulation/postgres/mistakes.hpp"
#include "simulation/postgres/options.hpp"
#include "simulation/postgres/process.hpp"
#include "simulation/postgres/statements.hpp"
#include "simulation/postgres/tuple.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace simulation::postgres {

/// A lock that is not of a row, taken by one at a time in the order of asking.
struct PlainLock {
  Session* holder = nullptr;
  bool stranger = false;  ///< a session of another database has it
  std::deque<Session*> waiters{};
  [[nodiscard]] bool free() const noexcept { return holder == nullptr && !stranger; }
};

using Tickets = std::map<std::int64_t, TicketTuple>;

struct Database {
  Database(Site& the_site, Options its_options);

  Site& site;
  const Options options;
  const StatementTexts texts;
  Mistake mistake = Mistake::none;
  Scheduler scheduler;
  Disk disk;

  std::map<std::string, LockTuple, std::less<>> locks{};
  std::map<std::string, Tickets, std::less<>> tickets{};
  std::map<std::string, KeyTuple, std::less<>> keys{};
  /// Who notifies has it from before its commit until after it, in the whole cluster ("Async
  /// notification" in async.c: "lock database 0").
  PlainLock notifying{};
  /// The longest that a session took for that, its place in the line included; for judges.
  Nanos longest_in_line{0};
  /// When somebody who asked for a lock was last told that its row is locked; for judges.
  Nanos met_locked{Nanos::min() / 2};
  /// An answer to such a question.
  void note_answer(std::string_view answer) {
    if (answer == "L") met_locked = site.uptime();
  }
  /// When somebody who gave up was last told that the next one in the queue is to be told; for
  /// judges.
  Nanos passed_on{Nanos::min() / 2};
  std::int64_t last_ticket = 0;
  Xid next_xid = 700;
  Commit commits = 0;
  bool in_recovery = false;
  std::int64_t timeline = 1;                     ///< grows when a standby takes over
  std::map<std::uint64_t, Session*> sessions{};  ///< by process
  bool somebody_ended = false;
  std::uint64_t statements = 0;  ///< executed since the beginning
  std::uint64_t renewals = 0;    ///< statements that have moved the end of a hold
  /// Somebody wants to know of the next commits that have written something: of which connection,
  /// and whether it is a renewal.
  std::function<void(std::uint64_t, bool)> on_commit{};
  /// Somebody wants to know where the processes of clients are with their statements. @return how
  /// long that one stands still there
  std::function<Nanos(std::uint64_t, Statement, Point)> on_point{};
  /// The same of new owners, before they are committed.
  std::function<void(std::uint64_t, const LockRow&)> on_grant{};
  bool refuses_logins = false;  ///< the role may not
  bool refuses_takes = false;   ///< its rights to what takes locks are revoked
  std::string broken{};         ///< the first rule that was not kept, for judges; empty: none

  [[nodiscard]] Moment clock() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(site.wall()).count() -
           epoch_offset;
  }
  [[nodiscard]] bool waits_for_standby() const noexcept {
    return disk.has_standby() && options.standby == Standby::synchronous;
  }
  [[nodiscard]] bool makes(Mistake one) const noexcept { return mistake == one; }
  void break_rule(const char* words) {
    if (broken.empty()) broken = words;
  }
  [[nodiscard]] auto& table(const LockRow* /*row*/) noexcept { return locks; }
  [[nodiscard]] auto& table(const KeyRow* /*row*/) noexcept { return keys; }
  /// Empties the tables and fills them from a disk.
  void load(const Image& from);
  /// The rows that a migration makes.
  void migrate();
  /// @return whether some session has a snapshot that is older than now.
  [[nodiscard]] bool old_snapshots() const;
  void deliver(const std::string& channel, const std::string& payload, int from);
  /// Gives a lock that has become free to the first who waits for it.
  void hand_on(PlainLock& lock);
  void hand_on(TupleLocks& tuple);
};

}  // namespace simulation::postgres
