// SPDX-License-Identifier: MIT
// The transactions of a session: how they begin, how they commit, and how they are undone.
#include "simulation/postgres/functions.hpp"
#include "simulation/postgres/session.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {

void Session::begin_if_none() {
  if (tx_.open) return;
  tx_ = Transaction{};
  tx_.open = true;
  tx_.renewals_before = db.renewals;
  settings_.of(Setting::isolation) = settings_.of(Setting::default_isolation);
}

Task<Rows> Session::run(const Parsed& statement, const std::vector<Argument>& arguments) {
  begin_if_none();
  check_interrupts();
  switch (statement.statement) {
    case Statement::begin:
    case Statement::commit:
    case Statement::rollback:
    case Statement::rollback_to: co_return co_await control(statement);
    default: break;
  }
  if (tx_.failed) {
    throw SqlError("25P02",
                   "current transaction is aborted, commands ignored until end of transaction "
                   "block");
  }
  ++db.statements;
  latest_ = statement.statement;
  co_await reach(Point::begins);
  if (db.refuses_takes && latest_ >= Statement::look && latest_ <= Statement::take) {
    throw SqlError("42501", "permission denied for function");
  }
  tx_.statement_began = clock();
  // The first statement that reads takes the snapshot.
  const bool reads = statement.statement != Statement::savepoint &&
                     statement.statement != Statement::release_savepoint &&
                     statement.statement != Statement::set &&
                     statement.statement != Statement::set_local;
  if (reads && !tx_.snapshot && settings_.of(Setting::isolation) != "read committed") {
    tx_.snapshot = db.commits;
  }
  co_return co_await run_statement(*this, statement, arguments);
}

Task<void> Session::reach(Point point) {
  if (!db.on_point || outlet_) co_return;
  const Nanos pause = db.on_point(connection_, latest_, point);
  if (pause.count() > 0) co_await sleep(point == Point::begins, pause);
  if (point == Point::begins) check_interrupts();
}

Task<Rows> Session::control(const Parsed& statement) {
  switch (statement.statement) {
    case Statement::begin: {
      const auto says = [&](std::string_view word) {
        return std::any_of(
            statement.words.begin(), statement.words.end(), [&](const std::string& each) {
              return std::equal(each.begin(), each.end(), word.begin(), word.end(),
                                [](char one, char other) { return (one | ' ') == (other | ' '); });
            });
      };
      tx_.block = true;
      if (says("repeatable")) settings_.of(Setting::isolation) = "repeatable read";
      if (says("serializable")) settings_.of(Setting::isolation) = "serializable";
      co_return Rows::command("BEGIN");
    }
    case Statement::commit: {
      const bool failed = tx_.failed;
      if (failed) {
        abort();
        co_return Rows::command("ROLLBACK");
      }
      tx_.block = false;
      co_await commit();
      co_return Rows::command("COMMIT");
    }
    case Statement::rollback: abort(); co_return Rows::command("ROLLBACK");
    default: break;
  }
  const std::string& name = statement.words.back();
  while (!tx_.savepoints.empty() && tx_.savepoints.back().name != name) tx_.savepoints.pop_back();
  if (tx_.savepoints.empty()) {
    throw SqlError("3B001", "savepoint \"" + name + "\" does not exist");
  }
  roll_back_to(tx_.savepoints.back().undo);
  tx_.notifications.resize(tx_.savepoints.back().notifications);
  tx_.failed = false;
  co_return Rows::command("ROLLBACK");
}

void Session::savepoint(const std::string& name, bool release) {
  if (!tx_.block) {
    throw SqlError("25P01", "SAVEPOINT can only be used in transaction blocks");
  }
  if (!release) {
    tx_.savepoints.push_back(
        {.name = name, .undo = tx_.undo.size(), .notifications = tx_.notifications.size()});
    return;
  }
  while (!tx_.savepoints.empty()) {
    const bool found = tx_.savepoints.back().name == name;
    tx_.savepoints.pop_back();
    if (found) return;
  }
  throw SqlError("3B001", "savepoint \"" + name + "\" does not exist");
}

void Session::listen(const std::string& channel, bool on) {
  if (on) {
    tx_.listens.push_back(channel);
  } else {
    tx_.unlistens = true;
  }
}

void Session::notify(const std::string& channel, const std::string& payload) {
  const std::pair one{channel, payload};
  std::vector<std::pair<std::string, std::string>>& all = tx_.notifications;
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

void Session::set(Setting which, const std::string& value, bool local) {
  Undo entry{.kind = local ? Undo::Kind::local_setting : Undo::Kind::setting};
  entry.setting = which;
  entry.text = std::exchange(settings_.of(which), value);
  tx_.undo.push_back(std::move(entry));
}

void Session::only_looks(bool shares) {
  if (shares) return;
  tx_.looks = true;
  if (!db.makes(Mistake::looks_wait_for_the_disk)) set(Setting::synchronous_commit, "off", true);
}

void Session::commit_on_disk() {
  tx_.promised = true;
  const std::string& value = settings_.of(Setting::synchronous_commit);
  if (value == "off" || value == "local" || value == "remote_write") {
    set(Setting::synchronous_commit, "on", true);
  }
}

Task<void> Session::commit() {
  if (!tx_.open) co_return;
  if (!tx_.notifications.empty()) {
    assign_xid();
    tx_.in_line_since = db.site.uptime();
    if (db.notifying.free()) {
      give(db.notifying);
    } else {
      db.notifying.waiters.push_back(this);
      co_await wait_for_lock(
          "the notifications of others", [this] { return db.notifying.holder == this; },
          [this] { std::erase(db.notifying.waiters, this); });
    }
  }
  if (tx_.xid != 0) {
    const Place place = db.disk.append(log_record());
    if (db.on_commit) db.on_commit(connection_, db.renewals != tx_.renewals_before);
    if (settings_.waits_for_disk()) {
      if (tx_.looks && !tx_.promised) db.break_rule("a row is locked over a flush, for nothing");
      db.disk.want(place);
      waits_for_ = "the disk";
      while (!db.disk.on_disk(place)) {
        db.disk.add_waiter(*this);
        co_await sleep(false);
      }
      waits_for_.clear();
      if (settings_.waits_for_standby() && db.waits_for_standby()) {
        co_await replicated(place);
      }
    } else {
      db.disk.want_later();
    }
  }
  co_await reach(Point::commits);
  finish_commit();
  co_await reach(Point::answers);
}

/// Waits for the standby. It is committed here already: who is interrupted can only say so
/// (SyncRepWaitForLSN in syncrep.c), and the commit counts as a success.
Task<void> Session::replicated(Place place) {
  waits_for_ = "the standby";
  while (db.waits_for_standby() && !db.disk.on_standby(place)) {
    db.disk.add_waiter(*this);
    if (!terminate_ && !cancel_) co_await sleep(true);
    db.disk.remove_waiter(*this);
    if (terminate_) {
      hang_up();  // nothing is told any more
      break;
    }
    if (std::exchange(cancel_, false)) {
      say('N', "WARNING",
          SqlError("01000", "canceling wait for synchronous replication due to user request"));
      break;
    }
  }
  waits_for_.clear();
}

LogRecord Session::log_record() const {
  LogRecord record;
  for (const Undo& entry : tx_.undo) {
    // The first change of a row finds its last state.
    if (entry.had || entry.kind != Undo::Kind::change) continue;
    std::visit(
        [&record](const auto& change) {
          record.add(change.tuple->pending->data, change.tuple->pending->gone);
        },
        entry.change);
  }
  record.last_ticket = db.last_ticket;
  return record;
}

namespace {

template <class Data>
void become_visible(Tuple<Data>& tuple, Commit commit, bool keep_old) {
  const Claim* const claim = tuple.claim_of(tuple.writer);
  if (!keep_old) tuple.history.clear();
  tuple.pending->key = claim != nullptr && claim->strength == Strength::update;
  tuple.pending->commit = commit;
  tuple.history.push_back(std::move(*tuple.pending));
  tuple.pending.reset();
  tuple.writer = nullptr;
  tuple.xmin = tuple.pending_xmin;
  tuple.xmax = tuple.pending_xmax;
}

}  // namespace

void Session::finish_commit() {
  for (const auto& [name, number] : tx_.ties) {
    // It has the hold's row: nobody can have become the owner since.
    const LockTuple* const tuple = find(name);
    const Version<LockRow>* const now = tuple == nullptr ? nullptr : tuple->committed();
    if (now == nullptr || now->data.number == number) continue;
    db.break_rule("a transaction is committed that was tied to a hold, and there is a new owner");
  }
  ++db.commits;
  tx_.snapshot.reset();
  const bool keep_old = db.old_snapshots();
  std::vector<std::pair<std::string, std::int64_t>> gone;
  for (Undo& entry : tx_.undo) {
    if (entry.had || entry.kind != Undo::Kind::change) continue;
    if (const auto* const ticket = std::get_if<Change<TicketRow>>(&entry.change)) {
      const Version<TicketRow>& last = *ticket->tuple->pending;
      if (last.gone && !keep_old) gone.emplace_back(last.data.name, last.data.ticket);
    }
    std::visit([&](const auto& change) { become_visible(*change.tuple, db.commits, keep_old); },
               entry.change);
  }
  // What stays is undone by nobody; what ends with the transaction is.
  std::erase_if(tx_.undo, [](const Undo& entry) {
    return entry.kind == Undo::Kind::change || entry.kind == Undo::Kind::setting;
  });
  for (const auto& [name, number] : gone) {
    const auto found = db.tickets.find(name);
    found->second.erase(number);
    if (found->second.empty()) db.tickets.erase(found);
  }
  const std::vector<std::pair<std::string, std::string>> told = std::move(tx_.notifications);
  if (tx_.unlistens) channels_.clear();
  for (const std::string& channel : tx_.listens) channels_.insert(channel);
  abort();
  for (const auto& [channel, payload] : told) db.deliver(channel, payload, pid_);
}

void Session::abort() {
  roll_back_to(0);
  if (db.notifying.holder == this) {
    db.longest_in_line = std::max(db.longest_in_line, db.site.uptime() - tx_.in_line_since);
    db.notifying.holder = nullptr;
    db.hand_on(db.notifying);
  }
  tx_ = Transaction{};
}

void Session::roll_back_to(std::size_t mark) {
  undo_to(mark);
  tx_.xid = 0;  // what comes is another subtransaction
}

void Session::undo_to(std::size_t mark) {
  while (tx_.undo.size() > mark) {
    Undo entry = std::move(tx_.undo.back());
    tx_.undo.pop_back();
    undo(entry);
  }
}

void Session::undo(Undo& entry) {
  switch (entry.kind) {
    case Undo::Kind::claim:
      if (entry.had) {
        for (Claim& each : entry.tuple->claims) {
          if (each.by == this) each.fall(entry.strength);
        }
      } else {
        std::erase_if(entry.tuple->claims, [&](const Claim& each) { return each.by == this; });
      }
      db.hand_on(*entry.tuple);
      return;
    case Undo::Kind::change:
      std::visit(
          [&entry](auto& change) {
            if (entry.had) {
              change.tuple->pending = std::move(*change.before);
            } else {
              change.tuple->pending.reset();
              change.tuple->writer = nullptr;
            }
          },
          entry.change);
      return;
    case Undo::Kind::setting:
    case Undo::Kind::local_setting: settings_.of(entry.setting) = entry.text; return;
  }
}

}  // namespace simulation::postgres
