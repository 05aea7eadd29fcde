// SPDX-License-Identifier: MIT
// Rows and locks, as statements use them. The life of a session is in session.cpp.
#include "simulation/postgres/session.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {
namespace {

// Several transactions that have a row locked are one number, which no transaction has.
constexpr Xid several = Xid{1} << 63U;

}  // namespace

void Session::refuse_if_read_only(const char* what) const {
  if (!db.in_recovery) return;
  throw SqlError("25006", std::string("cannot execute ") + what + " in a read-only transaction");
}

void Session::assign_xid() {
  if (tx_.xid == 0) tx_.xid = db.next_xid++;
}

void Session::give(TupleLocks& tuple, Strength strength) {
  assign_xid();
  Undo entry{.kind = Undo::Kind::claim, .tuple = &tuple};
  const bool others = tuple.others(this);
  for (Claim& each : tuple.claims) {
    if (each.by != this) continue;
    if (each.strength >= strength) return;
    entry.had = true;
    entry.strength = each.strength;
    each.rise(strength, db.commits);
  }
  if (!entry.had) {
    tuple.claims.push_back({.by = this});
    tuple.claims.back().rise(strength, db.commits);
  }
  tx_.undo.push_back(std::move(entry));
  (tuple.writer == this ? tuple.pending_xmax : tuple.xmax) =
      others ? several | db.next_xid++ : tx_.xid;
}

Task<bool> Session::claim(TupleLocks& tuple, Strength strength, bool skip) {
  if (!tuple.free_for(this, strength)) {
    if (skip) co_return false;
    tuple.waiters.push_back({.by = this, .strength = strength});
    co_await wait_for_lock(
        "a row",
        [this, &tuple, strength] {
          const Claim* const mine = tuple.claim_of(this);
          return mine != nullptr && mine->strength >= strength;
        },
        [this, &tuple] {
          std::erase_if(tuple.waiters, [&](const Claim& each) { return each.by == this; });
        });
    co_return true;
  }
  give(tuple, strength);
  co_return true;
}

template <class Row>
void Session::check_snapshot(const Tuple<Row>& tuple, Strength strength) const {
  if (!tx_.snapshot || tuple.writer == this) return;
  for (const Version<Row>& each : tuple.history) {
    if (each.commit <= *tx_.snapshot) continue;
    // A lock of the key is in nobody's way who leaves the key as it is.
    if (each.gone || each.key || strength != Strength::key_share) {
      throw SqlError("40001", "could not serialize access due to concurrent update");
    }
  }
}

/// At repeatable read the version of the snapshot is locked, and who had it locked before it was
/// changed is waited for first, whatever comes then.
template <class Row>
bool Session::waits_at_old_version(const Tuple<Row>& tuple, Strength strength) const {
  if (!tx_.snapshot) return false;
  const auto changed = std::find_if(tuple.history.begin(), tuple.history.end(),
                                    [&](const auto& each) { return each.commit > *tx_.snapshot; });
  return changed != tuple.history.end() &&
         std::any_of(tuple.claims.begin(), tuple.claims.end(), [&](const Claim& each) {
           return each.by != this && each.was_in_the_way(strength, changed->commit);
         });
}

template <class Row>
Task<Tuple<Row>*> Session::lock_row(const std::string& name, Strength strength, bool skip) {
  if (strength != Strength::key_share) refuse_if_read_only("SELECT FOR UPDATE");
  Tuple<Row>* const tuple = find<Row>(name);
  if (tuple == nullptr || see<Row>(name) == nullptr) co_return nullptr;
  co_await step();
  if (!waits_at_old_version(*tuple, strength)) check_snapshot(*tuple, strength);
  const bool taken = co_await claim(*tuple, strength, skip);
  if (!taken) co_return nullptr;
  check_snapshot(*tuple, strength);
  co_return tuple->seen_by(this, newest) == nullptr ? nullptr : tuple;
}

template <class Row>
Task<Tuple<Row>*> Session::update(const std::string& name, const WhereOf<Row>& where,
                                  const SetOf<Row>& set) {
  refuse_if_read_only("UPDATE");
  Tuple<Row>* const tuple = find<Row>(name);
  const Row* const seen = see<Row>(name);
  if (seen == nullptr || !where(*seen, *tuple)) co_return nullptr;
  Row values = *seen;
  set(values);
  const Commit version = tuple->committed() == nullptr ? 0 : tuple->committed()->commit;
  const Strength strength = changes_key(*seen, values) ? Strength::update : Strength::no_key_update;
  co_await step();
  co_await claim(*tuple, strength, false);
  check_snapshot(*tuple, strength);
  const Version<Row>* const now = tuple->committed();
  if (now != nullptr && now->commit != version && !db.makes(Mistake::no_second_look)) {
    // Somebody has changed it meanwhile: as read committed has it, the new version counts.
    if (now->gone || !where(now->data, *tuple)) co_return nullptr;
    values = now->data;
    set(values);
  }
  write(*tuple, std::move(values));
  co_return tuple;
}

/// Keeps what a row of this transaction's was before, and makes it its own.
template <class Row>
Undo Session::change_of(Tuple<Row>& tuple) {
  Undo entry{.kind = Undo::Kind::change, .had = tuple.pending.has_value()};
  Change<Row> change{.tuple = &tuple};
  if (tuple.pending) change.before = std::make_unique<Version<Row>>(std::move(*tuple.pending));
  tuple.writer = this;
  entry.change = std::move(change);
  return entry;
}

template <class Row>
void Session::write(Tuple<Row>& tuple, Row values) {
  assign_xid();
  const Claim* const mine = tuple.claim_of(this);
  const bool locked_before = mine != nullptr && tuple.xmax == tx_.xid;
  const bool key = tuple.committed() == nullptr || changes_key(tuple.committed()->data, values);
  give(tuple, key ? Strength::update : Strength::no_key_update);
  Undo entry = change_of(tuple);
  if (!entry.had) {
    tuple.pending_xmin = tx_.xid;
    // The new version keeps who has the old one locked, oneself included.
    tuple.pending_xmax = tuple.others(this) ? tuple.xmax : locked_before ? tx_.xid : 0;
    if (!tuple.others(this)) tuple.xmax = tx_.xid;
  }
  tuple.pending = Version<Row>{.data = std::move(values), .commit = 0, .gone = false};
  tx_.undo.push_back(std::move(entry));
}

template <class Row>
void Session::remove(Tuple<Row>& tuple) {
  Row last = row(tuple);
  give(tuple, Strength::update);
  tx_.undo.push_back(change_of(tuple));
  tuple.pending_xmin = tuple.pending_xmax = tx_.xid;
  tuple.pending = Version<Row>{.data = std::move(last), .commit = 0, .gone = true};
}

template <class Row>
Task<Tuple<Row>*> Session::insert(Row values) {
  refuse_if_read_only("INSERT");
  co_await step();
  Tuple<Row>& tuple = db.table(&values)[values.name];
  // Another one's insertion of the name is waited for, and its change; but not those who only have
  // the row locked (heapam's HeapTupleSatisfiesDirty tells of no xmax that is a mere lock).
  const bool others_write = tuple.pending && tuple.writer != this;
  const Version<Row>* there = tuple.committed();
  if (others_write || there == nullptr || there->gone) {
    co_await claim(tuple, Strength::update, false);
    there = tuple.committed();
  }
  const bool mine = tuple.pending && tuple.writer == this;
  const bool conflicts = mine ? !tuple.pending->gone : there != nullptr && !there->gone;
  if (conflicts && tx_.snapshot && tuple.seen_by(this, *tx_.snapshot) == nullptr) {
    throw SqlError("40001", "could not serialize access due to concurrent update");
  }
  if (conflicts) co_return nullptr;
  write(tuple, std::move(values));
  tuple.pending_xmax = 0;
  co_return &tuple;
}

template Task<LockTuple*> Session::lock_row<LockRow>(const std::string&, Strength, bool);
template Task<KeyTuple*> Session::lock_row<KeyRow>(const std::string&, Strength, bool);
template Task<LockTuple*> Session::update<LockRow>(const std::string&, const Where&, const Set&);
template Task<KeyTuple*> Session::update<KeyRow>(const std::string&, const WhereOf<KeyRow>&,
                                                 const SetOf<KeyRow>&);
template void Session::write<LockRow>(LockTuple&, LockRow);
template void Session::write<KeyRow>(KeyTuple&, KeyRow);
template void Session::remove<LockRow>(LockTuple&);
template void Session::remove<KeyRow>(KeyTuple&);
template Task<LockTuple*> Session::insert<LockRow>(LockRow);
template Task<KeyTuple*> Session::insert<KeyRow>(KeyRow);

std::vector<const TicketRow*> Session::tickets(std::string_view name) const {
  std::vector<const TicketRow*> rows;
  const auto found = db.tickets.find(name);
  if (found == db.tickets.end()) return rows;
  for (const auto& [number, tuple] : found->second) {
    if (const TicketRow* const row = tuple.seen_by(this, tx_.sees_until())) rows.push_back(row);
  }
  return rows;
}

std::vector<const LockRow*> Session::shares(std::string_view name) const {
  std::vector<const LockRow*> rows;
  const std::string first = share_name(name, "");
  for (auto each = db.locks.lower_bound(first); each != db.locks.end(); ++each) {
    if (!each->first.starts_with(first)) break;
    if (const LockRow* const row = each->second.seen_by(this, tx_.sees_until())) {
      rows.push_back(row);
    }
  }
  return rows;
}

void Session::write_ticket(const TicketRow& values, bool gone) {
  assign_xid();
  TicketTuple& tuple = db.tickets[values.name][values.ticket];
  // Nobody else can be at it: who changes tickets has the lock's row.
  if (tuple.pending && tuple.writer != this) {
    throw SqlError("XX000", "the model: two transactions at one ticket");
  }
  tx_.undo.push_back(change_of(tuple));
  tuple.pending = Version<TicketRow>{.data = values, .commit = 0, .gone = gone};
}

void Session::give(PlainLock& lock) { lock.holder = this; }

Task<void> Session::wait_for_lock(std::string what, std::function<bool()> come,
                                  std::function<void()> give_up) {
  const std::optional<Nanos> limit = settings_.lock_timeout();
  waits_for_ = std::move(what);
  const Wake why = co_await sleep(true, limit);
  waits_for_.clear();
  if (come()) co_return;
  give_up();
  check_interrupts();
  if (why == Wake::time) throw SqlError("55P03", "canceling statement due to lock timeout");
  throw SqlError("XX000", "the model: woken for nothing");
}

void Session::check_interrupts() {
  if (terminate_) {
    throw SqlError("57P01", "terminating connection due to administrator command", true);
  }
  if (std::exchange(cancel_, false)) {
    throw SqlError("57014", "canceling statement due to user request");
  }
}

Task<void> Session::step() {
  const std::uint64_t every = db.options.pause_every;
  if (every != 0 && db.options.longest_pause.count() > 0) {
    if (steps_left_ == 0) steps_left_ = 1 + db.site.random() % (2 * every);
    if (--steps_left_ == 0) {
      const auto longest = static_cast<std::uint64_t>(db.options.longest_pause.count());
      const Nanos pause(1 + db.site.random() % longest);
      co_await sleep(false, pause);
    }
  }
  check_interrupts();
}

}  // namespace simulation::postgres
