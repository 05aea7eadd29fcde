// SPDX-License-Identifier: MIT
// greet.sql and session.sql, and which function a statement calls.
#include "simulation/postgres/functions.hpp"

#include <algorithm>
#include <utility>

namespace simulation::postgres {
namespace {

const Argument& argument(const std::vector<Argument>& all, std::size_t place) {
  if (place >= all.size()) throw SqlError("08P01", "bind message supplies too few parameters");
  return all[place];
}

TakeRequest request_of(const std::vector<Argument>& all) {
  return {.name = argument(all, 0).as_bytes(),
          .attempt = argument(all, 1).as_bytes(),
          .lease = argument(all, 2).as_number(),
          .label = argument(all, 3).as_bytes(),
          .how = argument(all, 4).as_number()};
}

KeyRequest key_request_of(const std::vector<Argument>& all) {
  const std::string key = argument(all, 0).as_bytes();
  const std::vector<std::int64_t> numbers = argument(all, 2).as_number_array();
  const std::vector<std::string> words = argument(all, 3).as_bytes_array();
  return {.key = key,
          .take = {.name = run_name(key),
                   .attempt = argument(all, 1).as_bytes(),
                   .lease = numbers.at(0),
                   .label = words.at(0),
                   .how = numbers.at(1)},
          .fingerprint = words.at(1),
          .repeats = numbers.at(2),
          .keeps = numbers.at(3)};
}

KeyConclusion conclusion_of(Statement statement, const std::vector<Argument>& all) {
  KeyConclusion what{.key = argument(all, 0).as_bytes(), .attempt = argument(all, 1).as_bytes()};
  what.bytes = argument(all, 3).as_bytes();
  if (statement == Statement::conclude_in) {
    what.number = argument(all, 2).as_number();
    what.succeeds = true;
    what.keeps = argument(all, 4).as_number();
    return what;
  }
  const std::vector<std::int64_t> numbers = argument(all, 2).as_number_array();
  what.number = numbers.at(0);
  what.how = numbers.at(1);
  what.succeeds = numbers.at(2) == 1;
  what.keeps = numbers.at(3);
  return what;
}

/// Of renew.sql.
ShareRenewals renewals_of(const std::vector<Argument>& all) {
  return {.names = argument(all, 0).as_bytes_array(),
          .attempts = argument(all, 1).as_bytes_array(),
          .numbers = argument(all, 2).as_number_array(),
          .leases = argument(all, 3).as_number_array()};
}

Strength strength_of(const std::string& words) {
  if (words == "UPDATE") return Strength::update;
  if (words == "NO KEY UPDATE") return Strength::no_key_update;
  return words == "SHARE" ? Strength::share : Strength::key_share;
}

Rows change_setting(Session& session, const Parsed& statement, bool local) {
  const std::vector<std::string>& words = statement.words;
  const std::size_t at = local ? 2 : 1;
  if (words.size() < at + 2) throw SqlError("42601", "syntax error");
  const std::size_t value = words[at + 1] == "TO" || words[at + 1] == "to" ? at + 2 : at + 1;
  session.set(Settings::named(words[at]), words.at(value), local);
  return Rows::command("SET");
}

/// Whatever guard() does: that it says yes at this moment, has to be true.
void judge_guard(Session& session, const std::string& name, std::int64_t number) {
  const LockTuple* const tuple = session.find(name);
  const Version<LockRow>* const now = tuple == nullptr ? nullptr : tuple->committed();
  bool stands = now != nullptr && !now->gone && now->data.number == number;
  if (now != nullptr && now->data.lease == 0) {
    const std::vector<const LockRow*> shares = session.shares(name);
    stands = std::any_of(shares.begin(), shares.end(), [&](const LockRow* each) {
      return each->number == number && each->expires_at > session.clock();
    });
  }
  const bool over = !stands || now->data.expires_at <= session.clock();
  if (over) session.db.break_rule("guard() has tied a transaction to a hold that is over");
  session.tie(name, now == nullptr ? number : now->data.number);
}

Task<Rows> call(Session& session, Statement statement, const std::vector<Argument>& all) {
  // What is awaited has a name of its own: GCC 12 destroys temporaries of such expressions twice.
  const std::string name = argument(all, 0).as_bytes();
  switch (statement) {
    case Statement::release:
    case Statement::release_apart: {
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t number = argument(all, 2).as_number();
      const std::int64_t how = argument(all, 3).as_number();
      Task<std::string> release_it = statement == Statement::release
                                         ? release(session, name, attempt, number, how)
                                         : release_row(session, name, attempt, number, how);
      std::string answer = co_await release_it;
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::cancel: {
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t how = argument(all, 2).as_number();
      std::string answer = co_await cancel(session, name, attempt, how);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::guard: {
      const std::int64_t number = argument(all, 1).as_number();
      const bool stands = co_await guard(session, name, number);
      if (stands) judge_guard(session, name, number);
      co_return Rows::one(Value::of(Type::boolean, stands ? 1 : 0));
    }
    case Statement::lock_in: {
      const std::int64_t wait = argument(all, 1).as_number();
      std::string answer = co_await lock_in(session, name, wait);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::inspect: co_return inspect(session, name);
    default: {
      std::optional<std::int64_t> number;
      std::optional<std::int64_t> permit;
      if (all.size() > 1) number = argument(all, 1).as_number();
      if (all.size() > 2) permit = argument(all, 2).as_number();
      std::optional<std::int64_t> run;
      if (all.size() > 3) run = argument(all, 3).as_number();
      Task<Rows> force_it = force_release(session, name, number, permit, run);
      co_return co_await force_it;
    }
  }
}

Task<Rows> call_of_key(Session& session, Statement statement, const std::vector<Argument>& all) {
  const std::string key = argument(all, 0).as_bytes();
  switch (statement) {
    case Statement::ask_key: {
      const KeyRequest request = key_request_of(all);
      Value value = co_await ask_key(session, request);
      co_return Rows::one(std::move(value));
    }
    case Statement::look_key: co_return look_key(session, key);
    case Statement::forget_key: {
      const std::int64_t number = argument(all, 1).as_number();
      std::string answer = co_await forget_key(session, key, number);
      co_return Rows::one(Value::binary(std::move(answer)));
    }
    case Statement::cancel_key: {
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t how = argument(all, 2).as_number();
      std::string answer = co_await cancel_key(session, key, attempt, how);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::release_key: {
      const std::string name = run_name(key);
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t number = argument(all, 2).as_number();
      const std::int64_t how = argument(all, 3).as_number();
      std::string answer = co_await release_row(session, name, attempt, number, how);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::conclude_key: {
      const KeyConclusion what = conclusion_of(statement, all);
      std::string answer = co_await conclude_key(session, what);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    default: {
      const KeyConclusion what = conclusion_of(statement, all);
      const bool stands = co_await conclude_in(session, what);
      co_return Rows::one(Value::of(Type::boolean, stands ? 1 : 0));
    }
  }
}

Task<Rows> call_of_share(Session& session, Statement statement, const std::vector<Argument>& all) {
  if (statement == Statement::ask_share || statement == Statement::share ||
      statement == Statement::ask_permit) {
    ShareRequest request{.take = request_of(all), .beside = argument(all, 5).as_bytes()};
    if (statement == Statement::ask_share) {
      Value value = co_await ask_share(session, request);
      co_return Rows::one(std::move(value));
    }
    const bool permit = statement == Statement::ask_permit;
    if (permit) request.take.name = gate_name(request.take.name);
    if (permit) request.permits = argument(all, 6).as_number();
    Task<std::string> ask_it =
        permit ? ask_to_share(session, request) : quick_share(session, request);
    std::string answer = co_await ask_it;
    session.db.note_answer(answer);
    co_return Rows::one(Value::of(std::move(answer)));
  }
  const std::string name = gate_name(argument(all, 0).as_bytes());
  const std::string attempt = argument(all, 1).as_bytes();
  if (statement == Statement::cancel_permit) {
    const std::int64_t how = argument(all, 2).as_number();
    std::string answer = co_await cancel(session, name, attempt, how);
    co_return Rows::one(Value::of(std::move(answer)));
  }
  const std::int64_t number = argument(all, 2).as_number();
  const std::int64_t how = argument(all, 3).as_number();
  Task<std::string> release_it = statement == Statement::release_permit
                                     ? release(session, name, attempt, number, how)
                                     : release_row(session, name, attempt, number, how);
  std::string answer = co_await release_it;
  co_return Rows::one(Value::of(std::move(answer)));
}

Task<Rows> call_take(Session& session, Statement statement, const std::vector<Argument>& all) {
  const TakeRequest request = request_of(all);
  switch (statement) {
    case Statement::peek: co_return co_await peek(session, request);
    case Statement::look: {
      Value value = co_await look(session, request);
      co_return Rows::one(std::move(value));
    }
    case Statement::ask: {
      Value value = co_await ask(session, request);
      co_return Rows::one(std::move(value));
    }
    default: break;
  }
  Task<std::string> take_it =
      statement == Statement::take ? take(session, request) : take_row(session, request);
  std::string answer = co_await take_it;
  session.db.note_answer(answer);
  co_return Rows::one(Value::of(std::move(answer)));
}

}  // namespace

Rows greet(const Session& session) {
  const bool standby = session.db.in_recovery;
  const bool read_committed = session.setting(Setting::default_isolation) == "read committed";
  Rows rows;
  rows.columns = {Type::text,    Type::int4,    Type::boolean, Type::boolean, Type::boolean,
                  Type::boolean, Type::boolean, Type::text,    Type::int8};
  // First the versions of clients that the schema serves; last, which server and database this is.
  rows.rows.push_back({Value::of("3 6"), Value::of(Type::int4, session.pid()),
                       Value::of(Type::boolean, standby ? 1 : 0),
                       Value::of(Type::boolean, standby ? 1 : 0),
                       Value::of(Type::boolean, read_committed ? 1 : 0),
                       Value::of(Type::boolean, 1), Value::of(Type::boolean, 1),
                       Value::of(standby ? "" : "7077 " + std::to_string(session.db.timeline)),
                       Value::of(Type::int8, 1)});
  return rows;
}

Rows census(const Session& session, const std::vector<std::int64_t>& processes) {
  std::string living;
  for (const auto& [id, other] : session.db.sessions) {
    if (std::find(processes.begin(), processes.end(), other->pid()) == processes.end()) continue;
    living += (living.empty() ? "" : " ") + std::to_string(other->pid());
  }
  return Rows::one(Value::of(std::move(living)));
}

Rows settle_in(Session& session) {
  session.settle();
  session.set(Setting::default_isolation, "read committed", false);
  session.set(Setting::lock_timeout, "50ms", false);
  const std::string& commit = session.setting(Setting::synchronous_commit);
  if (commit == "off" || commit == "local" || commit == "remote_write") {
    session.set(Setting::synchronous_commit, "on", false);
  }
  constexpr std::size_t columns = 8;
  Rows rows;
  rows.columns.assign(columns, Type::text);
  rows.rows.emplace_back(columns, Value::none());
  return rows;
}

Task<Rows> run_statement(Session& session, const Parsed& statement,
                         const std::vector<Argument>& arguments) {
  switch (statement.statement) {
    case Statement::ask:
    case Statement::look:
    case Statement::peek:
    case Statement::take:
    case Statement::take_apart:
      co_return co_await call_take(session, statement.statement, arguments);
    case Statement::ask_key:
    case Statement::look_key:
    case Statement::forget_key:
    case Statement::cancel_key:
    case Statement::release_key:
    case Statement::conclude_key:
    case Statement::conclude_in:
      co_return co_await call_of_key(session, statement.statement, arguments);
    case Statement::share:
    case Statement::ask_share:
    case Statement::ask_permit:
    case Statement::cancel_permit:
    case Statement::release_permit:
    case Statement::release_permit_apart:
      co_return co_await call_of_share(session, statement.statement, arguments);
    case Statement::renew: {
      Task<std::string> renew_them = renew_all(session, renewals_of(arguments), {});
      std::string answers = co_await renew_them;
      co_return Rows::one(Value::of(std::move(answers)));
    }
    case Statement::renew_share:
    case Statement::renew_share_gate: {
      ShareRenewals asked = renewals_of(arguments);
      if (statement.statement == Statement::renew_share_gate) {
        for (std::string& each : asked.names) each = gate_name(each);
      }
      std::string answers = co_await renew_share(session, asked);
      co_return Rows::one(Value::of(std::move(answers)));
    }
    case Statement::renew_all: {
      Task<std::string> renew_them =
          renew_all(session, renewals_of(arguments), argument(arguments, 4).as_number_array());
      std::string answers = co_await renew_them;
      co_return Rows::one(Value::of(std::move(answers)));
    }
    case Statement::wake_all: {
      const std::vector<std::string> names = argument(arguments, 0).as_bytes_array();
      co_await wake(session, names);
      std::vector<std::string> others;
      for (const std::string& key : argument(arguments, 1).as_bytes_array()) {
        others.push_back(run_name(key));
      }
      for (const std::string& semaphore : argument(arguments, 2).as_bytes_array()) {
        others.push_back(gate_name(semaphore));
      }
      co_await wake(session, others);
      Rows rows;
      rows.columns = {Type::nothing, Type::nothing, Type::nothing};
      rows.rows.emplace_back(3, Value::of(Type::nothing, 0));
      co_return rows;
    }
    case Statement::wake: {
      const std::vector<std::string> names = argument(arguments, 0).as_bytes_array();
      co_await wake(session, names);
      co_return Rows::one(Value::of(Type::nothing, 0));
    }
    case Statement::census: {
      const std::vector<std::int64_t> processes = argument(arguments, 0).as_number_array();
      co_return census(session, processes);
    }
    case Statement::greet: co_return greet(session);
    case Statement::check: co_return Rows::one(Value::of(std::string()));
    case Statement::session: co_return settle_in(session);
    case Statement::savepoint:
    case Statement::release_savepoint: {
      const bool release = statement.statement == Statement::release_savepoint;
      session.savepoint(statement.words.back(), release);
      co_return Rows::command(release ? "RELEASE" : "SAVEPOINT");
    }
    case Statement::listen:
    case Statement::unlisten: {
      const bool on = statement.statement == Statement::listen;
      session.listen(statement.words.at(1), on);
      co_return Rows::command(on ? "LISTEN" : "UNLISTEN");
    }
    case Statement::notify:
      session.notify(statement.words.at(1),
                     statement.words.size() > 2 ? statement.words[2] : std::string());
      co_return Rows::command("NOTIFY");
    case Statement::set: co_return change_setting(session, statement, false);
    case Statement::set_local: co_return change_setting(session, statement, true);
    case Statement::select_one: co_return Rows::one(Value::of(Type::int4, 1));
    case Statement::nothing: co_return Rows::command("");
    case Statement::lock_row: {
      const std::string name = argument(arguments, 0).as_bytes();
      const LockTuple* const tuple =
          co_await session.lock_row(name, strength_of(statement.words.front()), false);
      Rows rows;
      if (tuple != nullptr) rows.rows.emplace_back();
      co_return rows;
    }
    default: co_return co_await call(session, statement.statement, arguments);
  }
}

}  // namespace simulation::postgres
