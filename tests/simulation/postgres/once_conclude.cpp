// SPDX-License-Identifier: MIT
// once_conclude.sql.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace simulation::postgres {
namespace {

/// As SQL's translate().
std::string translated(std::string text, std::string_view from, std::string_view to) {
  for (char& each : text) {
    const std::size_t at = from.find(each);
    if (at != std::string_view::npos) each = to[at];
  }
  return text;
}

void record(const Session& session, KeyRow& row, const KeyConclusion& what) {
  row.state = what.succeeds ? 'Y' : 'F';
  row.bytes = what.bytes;
  row.stood.state = 0;
  row.kept_until = session.clock() + what.keeps;
}

/// By the transaction's snapshot the lease is over. @return whether it was not renewed since
Task<bool> is_over(Session& session, const std::string& name) {
  const std::size_t mark = session.mark();
  std::optional<SqlError> failure;
  try {
    co_await session.lock_row(name, Strength::no_key_update, false);
    co_return true;
  } catch (const SqlError& error) {
    if (error.state() != "40001") throw;
    failure = error;
  }
  if (failure) session.roll_back_to(mark);
  co_return false;
}

}  // namespace

Task<std::string> conclude_key(Session& session, const KeyConclusion& what) {
  const std::string name = run_name(what.key);
  const LockRow* const seen = session.see(name);
  const bool waited = seen != nullptr && seen->waiters_until > minus_infinity;
  KeyTuple* const tuple =
      co_await session.lock_row<KeyRow>(what.key, Strength::no_key_update, true);
  co_await session.step();
  if (tuple == nullptr && session.see<KeyRow>(what.key) != nullptr) co_return "L";
  std::optional<KeyRow> row;
  if (tuple != nullptr) row = session.row(*tuple);
  const char becomes = what.succeeds ? 'Y' : 'F';
  const bool any = session.db.makes(Mistake::outcome_recorded_after_the_loss);
  const bool mine = row && (row->number == what.number || any);
  std::string answer = co_await release_row(session, name, what.attempt, what.number);
  if (answer == "L") co_return answer;
  if (!session.db.makes(Mistake::outcome_not_on_disk)) session.commit_on_disk();
  co_await session.step();
  if (waited && answer != "A" && answer != "N") {
    delete_old_tickets(session, name, session.clock());
    co_await session.step();
  }
  if (mine && row->state == 'P') {
    if (what.confirms) co_return translated(std::move(answer), "FTAN", "XYXX");
    const bool live = answer == "F" || answer == "T";
    if (!live && !any) {
      co_return translated(std::move(answer), "A", "N");
    }
    record(session, *row, what);
    session.write(*tuple, std::move(*row));
    co_return live ? answer : "F";
  }
  if (!mine || row->state == '-') co_return translated(std::move(answer), "FTAXY", "NMNNM");
  if (answer != "A" && answer != "N") {
    row->kept_until = session.clock() + what.keeps;
    session.write(*tuple, *row);
  }
  if (row->state == becomes && row->bytes == what.bytes) {
    co_return translated(std::move(answer), "XYN", "FTA");
  }
  co_return translated(std::move(answer), "FTAXYN", "SUSSUS");
}

Task<void> undo_run(Session& session, const std::string& key, std::int64_t number) {
  if (session.db.makes(Mistake::undo_leaves_the_key_pending)) co_return;
  co_await session.step();
  const WhereOf<KeyRow> where = [&](const KeyRow& row, const TupleLocks&) {
    return row.number == number && row.state == 'P' && (row.stood.state != 0 || row.run == 1);
  };
  const SetOf<KeyRow> set = [&session](KeyRow& row) {
    const bool was_absent = row.stood.state == 0;
    row.state = was_absent ? '-' : std::exchange(row.stood.state, '\0');
    row.run = was_absent ? 0 : row.stood.run;
    row.number = was_absent ? 0 : row.stood.number;
    row.kept_until = was_absent ? session.clock() : row.stood.kept_until;
  };
  if (co_await session.update(key, where, set) != nullptr) session.commit_on_disk();
}

Task<std::string> release_key(Session& session, const std::string& key, const std::string& attempt,
                              std::int64_t number, bool undoes) {
  const std::string name = run_name(key);
  std::string answer = co_await release_row(session, name, attempt, number);
  const bool was_its = answer == "F" || answer == "T" || answer == "X" || answer == "Y";
  if (undoes && was_its) co_await undo_run(session, key, number);
  co_return answer;
}

Task<bool> conclude_in(Session& session, const KeyConclusion& what) {
  const std::string name = run_name(what.key);
  const std::string& isolation = session.setting(Setting::isolation);
  const bool old = isolation == "repeatable read" || isolation == "serializable";
  const auto numbered = [&](const LockRow* row) {
    return row != nullptr && row->number == what.number;
  };
  LockTuple* tuple = nullptr;
  if (numbered(session.see(name))) {
    tuple = co_await session.lock_row(name, Strength::key_share, false);
  }
  if (tuple == nullptr || !numbered(&session.row(*tuple))) {
    const LockRow* const now = session.see(name);
    if (old && (now == nullptr || now->number <= what.number)) {
      throw SqlError("40001", "the run is younger than the transaction, or forgotten");
    }
    co_return false;
  }
  const LockRow run = session.row(*tuple);
  if (run.attempt != what.attempt || run.expires_at == minus_infinity) co_return false;
  if (run.expires_at <= session.clock()) {
    if (!old) co_return false;
    const bool over = co_await is_over(session, name);
    if (over) co_return false;
  }
  co_await session.step();
  const WhereOf<KeyRow> where = [&](const KeyRow& row, const TupleLocks&) {
    return row.number == what.number && row.state == 'P';
  };
  const SetOf<KeyRow> set = [&](KeyRow& row) {
    record(session, row, what);
    row.kept_until = std::max(session.clock(), run.expires_at) + what.keeps;
  };
  const KeyTuple* const written = co_await session.update(what.key, where, set);
  if (written != nullptr) {
    session.commit_on_disk();
    co_return true;
  }
  const KeyRow* const row = session.see<KeyRow>(what.key);
  if (row != nullptr && row->number == what.number && row->state != '-') {
    throw SqlError("55000", "the run is concluded already");
  }
  co_return false;
}

}  // namespace simulation::postgres
