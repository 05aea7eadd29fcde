// SPDX-License-Identifier: MIT
// ask_key.sql, once_begin.sql, and told() of once_tables.sql.
#include "simulation/postgres/functions.hpp"
#include "simulation/postgres/wire.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {
namespace {

constexpr std::int64_t repeats_never = 1;
constexpr std::int64_t repeats_always = 2;

/// judge() of once_begin.sql.
char verdict_of(const Session& session, const KeyRow& row, bool kept, bool held,
                const KeyRequest& request) {
  if (row.state == '-' || !(kept || held)) return '0';
  const bool other = row.fingerprint != request.fingerprint;
  if (other && !session.db.makes(Mistake::any_request_is_answered)) return 'M';
  if (held) return 'W';
  const bool stands = (row.state == 'Y' && request.repeats != repeats_always) ||
                      (row.state == 'F' && request.repeats == repeats_never);
  return stands ? 'R' : '+';
}

/// As it is told to that request.
KeyRow shown(const Session& session, const KeyRow& row, const KeyRequest& request) {
  KeyRow its = row;
  if (session.db.makes(Mistake::any_request_is_answered)) its.fingerprint = request.fingerprint;
  return its;
}

std::string answer_of(const KeyRow& row, bool held, char verdict) {
  return told(row, held, verdict == 'R' ? row.bytes : std::string());
}

bool has_ticket(const Session& session, const KeyRequest& request) {
  const std::vector<const TicketRow*> all = session.tickets(request.take.name);
  return std::any_of(all.begin(), all.end(),
                     [&](const TicketRow* each) { return each->attempt == request.take.attempt; });
}

/// It ends without a run: what is to be written for that. @return whether the row was locked
/// @param shares whether something was written in this transaction before
Task<bool> ends_without(Session& session, const KeyRequest& request, bool shares) {
  const std::string& name = request.take.name;
  if (!How(request.take.how).fair || !has_ticket(session, request)) co_return false;
  session.only_looks(shares);
  LockTuple* const tuple = co_await session.lock_row(name, Strength::no_key_update, true);
  co_await session.step();
  if (tuple == nullptr) co_return session.see(name) != nullptr;
  delete_ticket(session, name, request.take.attempt);
  co_return false;
}

/// It has just been given the key, and gives it back.
void gives_back(Session& session, const KeyRequest& request) {
  LockTuple* const tuple = session.find(request.take.name);
  LockRow row = session.row(*tuple);
  row.expires_at = minus_infinity;
  session.write(*tuple, std::move(row));
}

Task<std::string> begin_known(Session& session, KeyTuple& tuple, const KeyRequest& request,
                              std::int64_t number) {
  const Moment t = session.clock();
  KeyRow row = session.row(tuple);
  const char verdict = verdict_of(session, row, row.kept_until > t, false, request);
  if (verdict == 'M' || verdict == 'R') {
    gives_back(session, request);
    co_return answer_of(shown(session, row, request), false, verdict);
  }
  const std::int64_t run = verdict == '0' ? 1 : row.run + 1;
  const bool stands = verdict == '+' && row.state != 'P';
  row.stood = {.state = stands ? row.state : '\0',
               .run = row.run,
               .number = row.number,
               .kept_until = row.kept_until};
  if (!stands) row.bytes.clear();
  row.state = 'P';
  row.run = run;
  row.number = number;
  row.fingerprint = request.fingerprint;
  row.kept_until = t + request.keeps;
  session.write(tuple, std::move(row));
  co_return "G " + std::to_string(number) + " 0 " + std::to_string(request.take.lease) + " " +
      std::to_string(run);
}

Task<std::string> begin_new(Session& session, const KeyRequest& request, std::int64_t number) {
  const Moment t = session.clock();
  KeyTuple* inserted = nullptr;
  if (session.see<KeyRow>(request.key) == nullptr) {
    co_await session.step();
    KeyRow row{.name = request.key,
               .state = 'P',
               .run = 1,
               .number = number,
               .kept_until = t + request.keeps,
               .fingerprint = request.fingerprint};
    inserted = co_await session.insert(std::move(row));
  }
  if (inserted == nullptr) {
    gives_back(session, request);
    co_return "L";
  }
  co_await session.step();
  co_await sweep_on(session, t);
  co_return "G " + std::to_string(number) + " 0 " + std::to_string(request.take.lease) + " 1";
}

Task<std::string> begin_key(Session& session, const KeyRequest& request) {
  const bool shares = session.transaction().xid != 0;
  TakeRequest takes = request.take;
  if (const KeyRow* const seen = session.see<KeyRow>(request.key)) {
    const KeyRow row = *seen;
    const LockRow* const runner = session.see(request.take.name);
    const Moment ends = runner != nullptr ? runner->expires_at : minus_infinity;
    co_await session.step();
    const Moment t = session.clock();
    const bool has = ends > t;
    const bool lives = row.state == 'P' && has;
    char verdict = verdict_of(session, row, row.kept_until > t || has, lives, request);
    const bool is_mine = runner != nullptr && runner->attempt == request.take.attempt &&
                         runner->number == row.number;
    const bool once = !session.db.makes(Mistake::last_runner_runs_again);
    if (is_mine && verdict == '+' && row.state != 'P' && once) verdict = 'R';
    if (verdict == 'M' || verdict == 'R') {
      const bool locked = co_await ends_without(session, request, shares);
      co_return locked ? std::string("L") : answer_of(shown(session, row, request), lives, verdict);
    }
    takes.seen_run = verdict == 'W';
  }
  co_await session.step();
  const std::string answer = co_await take_row(session, takes);
  if (answer.starts_with("G")) {
    const KeyRow* const row = session.see<KeyRow>(request.key);
    if (row == nullptr) throw SqlError("XX000", "the model: somebody runs a key without a record");
    co_return answer + " " + std::to_string(row->run);
  }
  if (answer.front() < '0' || answer.front() > '9') co_return answer;
  const std::int64_t number = std::stoll(answer);
  co_await session.step();
  KeyTuple* const tuple =
      co_await session.lock_row<KeyRow>(request.key, Strength::no_key_update, true);
  co_await session.step();
  Task<std::string> begin = tuple != nullptr ? begin_known(session, *tuple, request, number)
                                             : begin_new(session, request, number);
  co_return co_await begin;
}

}  // namespace

std::string told(const KeyRow& row, bool held, const std::string& bytes) {
  std::string out{'\1', row.state, held ? '\1' : '\0'};
  append_number(out, static_cast<std::uint64_t>(row.run), sizeof row.run);
  append_number(out, static_cast<std::uint64_t>(row.number), sizeof row.number);
  append_number(out, row.fingerprint.size(), sizeof(std::int32_t));
  return out + row.fingerprint + (row.state == 'P' ? std::string() : bytes);
}

std::int64_t floor_of_keys(const Session& session) {
  std::int64_t most = 0;
  for (int place = 1; place <= floors; ++place) {
    const KeyRow* const row = session.see<KeyRow>(floor_name(place));
    if (row != nullptr) most = std::max(most, row->number);
  }
  return most;
}

Task<Value> ask_key(Session& session, const KeyRequest& request) {
  const How how(request.take.how);
  const KeyRow* const row = session.see<KeyRow>(request.key);
  if (row != nullptr && row->kept_until > session.clock() &&
      !(how.fair && has_ticket(session, request))) {
    const bool other = row->fingerprint != request.fingerprint &&
                       !session.db.makes(Mistake::any_request_is_answered);
    const bool stands = (row->state == 'Y' && request.repeats != repeats_always) ||
                        (row->state == 'F' && request.repeats == repeats_never) ||
                        ((row->state == 'Y' || row->state == 'F') && other);
    if (stands) {
      const std::string bytes = other ? std::string() : row->bytes;
      co_return Value::binary(told(shown(session, *row, request), false, bytes));
    }
  }
  std::string answer = co_await begin_key(session, request);
  session.db.note_answer(answer);
  co_return Value::binary(std::move(answer));
}

Task<std::string> cancel_key(Session& session, const std::string& key, const std::string& attempt,
                             bool in_doubt, std::int64_t known) {
  const std::string name = run_name(key);
  const std::string answer = co_await cancel(session, name, attempt, in_doubt);
  if (answer.starts_with("G")) {
    const KeyRow* const row = session.see<KeyRow>(key);
    if (row == nullptr) throw SqlError("XX000", "the model: somebody runs a key without a record");
    co_return answer + " " + std::to_string(row->run);
  }
  if (known >= 0 && answer != "L" && !session.db.makes(Mistake::lapsed_copy_is_left)) {
    co_await session.step();
    const LockRow* const row = session.see(name);
    const bool is_unknown = row != nullptr && row->attempt == attempt && row->number != known;
    if (is_unknown) co_await undo_run(session, key, row->number);
  }
  if (in_doubt && answer != "L") {
    co_await session.step();
    if (session.see<KeyRow>(key) == nullptr) {
      KeyRow row{.name = key, .state = '-', .kept_until = session.clock()};
      co_await session.insert(std::move(row));
    }
  }
  co_return answer;
}

}  // namespace simulation::postgres
