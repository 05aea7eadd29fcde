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
          .how = argument(all, 4).as_number(),
          .beside = argument(all, 5).as_bytes(),
          .void_after = argument(all, 6).as_number()};
}

/// What begins with the clock of when the statement began.
Rows timed(const Session& session, Value value) {
  Rows rows;
  rows.columns = {Type::moment, value.type};
  rows.rows.push_back({Value::of(Type::moment, session.statement_began()), std::move(value)});
  return rows;
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
                   .how = numbers.at(1),
                   .void_after = argument(all, 4).as_number()},
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
  what.confirms = numbers.at(1) == 1;
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
    case Statement::release_permit: {
      const bool permit = statement == Statement::release_permit;
      const std::string of = permit ? gate_name(name) : name;
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t number = argument(all, 2).as_number();
      const std::int64_t how = argument(all, 3).as_number();
      std::string answer = co_await release(session, of, attempt, number, how);
      co_return Rows::one(Value::of(std::move(answer)));
    }
    case Statement::cancel:
    case Statement::cancel_permit: {
      const bool permit = statement == Statement::cancel_permit;
      const std::string of = permit ? gate_name(name) : name;
      const std::string attempt = argument(all, 1).as_bytes();
      const bool in_doubt = argument(all, 2).as_number() != 0;
      std::string answer = co_await cancel(session, of, attempt, in_doubt);
      co_return timed(session, Value::of(std::move(answer)));
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
    case Statement::take_key: {
      const KeyRequest request = key_request_of(all);
      Value value = co_await ask_key(session, request);
      co_return timed(session, std::move(value));
    }
    case Statement::look_key: co_return look_key(session, key);
    case Statement::forget_key: {
      const std::int64_t number = argument(all, 1).as_number();
      std::string answer = co_await forget_key(session, key, number);
      co_return Rows::one(Value::binary(std::move(answer)));
    }
    case Statement::cancel_key: {
      const std::string attempt = argument(all, 1).as_bytes();
      const bool in_doubt = argument(all, 2).as_number() != 0;
      const std::int64_t known = argument(all, 3).as_number();
      std::string answer = co_await cancel_key(session, key, attempt, in_doubt, known);
      co_return timed(session, Value::of(std::move(answer)));
    }
    case Statement::release_key: {
      const std::string attempt = argument(all, 1).as_bytes();
      const std::int64_t number = argument(all, 2).as_number();
      const bool undoes = argument(all, 3).as_number() != 0;
      std::string answer = co_await release_key(session, key, attempt, number, undoes);
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

Task<Rows> call_take(Session& session, Statement statement, const std::vector<Argument>& all) {
  TakeRequest request = request_of(all);
  if (statement == Statement::look) {
    Value value = co_await look(session, request);
    session.db.note_answer(value.bytes);
    co_return timed(session, std::move(value));
  }
  if (statement == Statement::take_permit) request.name = gate_name(request.name);
  std::string answer = co_await take(session, request);
  session.db.note_answer(answer);
  co_return timed(session, Value::of(std::move(answer)));
}

}  // namespace

Rows greet(const Session& session) {
  const bool standby = session.db.in_recovery;
  const bool read_committed = session.setting(Setting::default_isolation) == "read committed";
  Rows rows;
  rows.columns = {Type::int8,    Type::int4,    Type::boolean, Type::boolean, Type::boolean,
                  Type::boolean, Type::boolean, Type::text,    Type::int8,    Type::moment};
  // First the version of the schema; last, which server and database this is, and its clock.
  rows.rows.push_back({Value::of(Type::int8, 1), Value::of(Type::int4, session.pid()),
                       Value::of(Type::boolean, standby ? 1 : 0),
                       Value::of(Type::boolean, standby ? 1 : 0),
                       Value::of(Type::boolean, read_committed ? 1 : 0),
                       Value::of(Type::boolean, 1), Value::of(Type::boolean, 1),
                       Value::of(standby ? "" : "7077 " + std::to_string(session.db.timeline)),
                       Value::of(Type::int8, 1), Value::of(Type::moment, session.clock())});
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
  session.set(Setting::search_path, "ours", false);
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
    case Statement::look:
    case Statement::take:
    case Statement::take_permit:
      co_return co_await call_take(session, statement.statement, arguments);
    case Statement::take_key:
    case Statement::look_key:
    case Statement::forget_key:
    case Statement::cancel_key:
    case Statement::release_key:
    case Statement::conclude_key:
    case Statement::conclude_in:
      co_return co_await call_of_key(session, statement.statement, arguments);
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
    case Statement::wake: {
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
      rows.rows.push_back({Value::of(Type::nothing, 0)});
      for (const std::size_t which : {1U, 2U}) {
        const bool any = !argument(arguments, which).as_bytes_array().empty();
        rows.rows.front().push_back(any ? Value::of(Type::nothing, 0) : Value::none(Type::nothing));
      }
      co_return rows;
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
