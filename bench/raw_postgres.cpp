// SPDX-License-Identifier: MIT
#include "raw_postgres.hpp"

#include <libpq-fe.h>

#include <poll.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace mortise::bench {
namespace {

// A row as the library keeps it; names and attempts are bytes.
constexpr const char* table = R"sql(
create table public.raw_lock (
  name bytea primary key, number bigint not null default 0, attempt bytea,
  expires_at timestamptz not null default '-infinity', lease bigint, label bytea,
  unique (number, name)) with (fillfactor = 50);
grant all on public.raw_lock to shop;
create table public.raw_receipt (payment bytea primary key, receipt bytea);
grant all on public.raw_receipt to shop)sql";

constexpr const char* take_sql = R"sql(
insert into public.raw_lock as l (name, number, attempt, expires_at, lease, label)
values ($1, (extract(epoch from clock_timestamp()) * 1000000)::bigint, $2,
        clock_timestamp() + $3 * interval '1 microsecond', $3, $4)
on conflict (name) do update
  set number = greatest(l.number + 1, excluded.number), attempt = excluded.attempt,
      expires_at = excluded.expires_at, lease = excluded.lease, label = excluded.label
  where l.expires_at <= clock_timestamp()
returning number)sql";

constexpr const char* give_sql = R"sql(
update public.raw_lock set expires_at = '-infinity'
from (select set_config('synchronous_commit', 'off', true)) as quick
where name = $1 and attempt = $2 and number = $3)sql";

constexpr const char* give_and_notify_sql = R"sql(
with freed as (
  update public.raw_lock set expires_at = '-infinity'
  from (select set_config('synchronous_commit', 'off', true)) as quick
  where name = $1 and attempt = $2 and number = $3 returning 1)
select pg_notify($4, '') from freed)sql";

constexpr const char* look_sql =
    "select number, attempt, expires_at from public.raw_lock where name = $1";

constexpr const char* waited_sql =
    "select 1 from mortise.lock where name = $1 and waiters_until > clock_timestamp()";

constexpr const char* write_sql =
    "insert into public.raw_receipt (payment, receipt) values ($1, $2)";

constexpr const char* read_sql = "select receipt from public.raw_receipt where payment = $1";

std::string hexadecimal(const std::string& bytes) {
  std::string out = "\\x";
  for (const char byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(byte) >> 4U];
    out += digits[static_cast<unsigned char>(byte) & 15U];
  }
  return out;
}

}  // namespace

void RawPostgres::Finish::operator()(pg_conn* connection) const noexcept { ::PQfinish(connection); }

void RawPostgres::Clear::operator()(pg_result* result) const noexcept { ::PQclear(result); }

std::string RawPostgres::schema() { return table; }

RawPostgres::RawPostgres(const std::string& url, const std::string& name)
    : connection_(::PQconnectdb(url.c_str())), name_(hexadecimal(name)) {
  if (::PQstatus(connection_.get()) != CONNECTION_OK) {
    throw std::runtime_error(::PQerrorMessage(connection_.get()));
  }
  const std::array<std::pair<const char*, const char*>, 7> statements{
      {{"take", take_sql},
       {"give", give_sql},
       {"notify", give_and_notify_sql},
       {"look", look_sql},
       {"waited", waited_sql},
       {"write", write_sql},
       {"read", read_sql}}};
  for (const auto& [statement, sql] : statements) {
    const Result prepared(::PQprepare(connection_.get(), statement, sql, 0, nullptr));
    if (::PQresultStatus(prepared.get()) != PGRES_COMMAND_OK) {
      throw std::runtime_error(::PQerrorMessage(connection_.get()));
    }
  }
}

RawPostgres::Result RawPostgres::run(const char* sql) {
  Result result(::PQexec(connection_.get(), sql));
  if (::PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(::PQerrorMessage(connection_.get()));
  }
  return result;
}

RawPostgres::Result RawPostgres::execute(const char* statement,
                                         std::initializer_list<std::string> parameters,
                                         bool binary) {
  std::array<const char*, 4> texts{};
  std::size_t count = 0;
  for (const std::string& one : parameters) texts.at(count++) = one.c_str();
  Result result(::PQexecPrepared(connection_.get(), statement, static_cast<int>(count),
                                 texts.data(), nullptr, nullptr, binary ? 1 : 0));
  const ExecStatusType status = ::PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(::PQerrorMessage(connection_.get()));
  }
  return result;
}

bool RawPostgres::take() {
  // As long as a real one, and new each time.
  attempt_ = "\\x" + std::string(32, 'a') + std::to_string(1'000'000'000'000'000 + ++sequence_);
  const Result result = execute("take", {name_, attempt_, "30000000", "\\x686f73743a31323334"});
  if (::PQntuples(result.get()) != 1) return false;
  number_ = ::PQgetvalue(result.get(), 0, 0);
  return true;
}

void RawPostgres::give() {
  const Result result = execute("give", {name_, attempt_, number_});
  if (std::string(::PQcmdTuples(result.get())) != "1") {
    throw std::runtime_error("the raw lock was not held");
  }
}

void RawPostgres::give_and_notify(const std::string& channel) {
  const Result result = execute("notify", {name_, attempt_, number_, channel});
  if (::PQntuples(result.get()) != 1) throw std::runtime_error("the raw lock was not held");
}

std::string RawPostgres::look() {
  const Result result = execute("look", {name_});
  return ::PQntuples(result.get()) == 1 ? ::PQgetvalue(result.get(), 0, 0) : "";
}

void RawPostgres::write_receipt(const std::string& payment, const std::string& bytes) {
  execute("write", {hexadecimal(payment), hexadecimal(bytes)});
}

std::string RawPostgres::read_receipt(const std::string& payment) {
  const Result result = execute("read", {hexadecimal(payment)}, true);
  if (::PQntuples(result.get()) != 1) return {};
  return {::PQgetvalue(result.get(), 0, 0),
          static_cast<std::size_t>(::PQgetlength(result.get(), 0, 0))};
}

bool RawPostgres::is_waited_for() {
  const Result result = execute("waited", {name_});
  return ::PQntuples(result.get()) == 1;
}

void RawPostgres::listen(const std::string& channel) { run(("listen " + channel).c_str()); }

void RawPostgres::hear() {
  for (;;) {
    if (PGnotify* const notice = ::PQnotifies(connection_.get()); notice != nullptr) {
      ::PQfreemem(notice);
      return;
    }
    pollfd polled{.fd = ::PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
    if (::poll(&polled, 1, 10'000) < 1) throw std::runtime_error("no notification came");
    if (::PQconsumeInput(connection_.get()) != 1) {
      throw std::runtime_error(::PQerrorMessage(connection_.get()));
    }
  }
}

}  // namespace mortise::bench
