// SPDX-License-Identifier: MIT
#include "support/postgres_talk.hpp"

#include <libpq-fe.h>

#include <poll.h>

#include <algorithm>

namespace mortise::test {
namespace {

struct Clear {
  void operator()(PGresult* result) const noexcept { ::PQclear(result); }
};
using Result = std::unique_ptr<PGresult, Clear>;

struct Free {
  void operator()(PGnotify* notice) const noexcept { ::PQfreemem(notice); }
};

// A notice is for somebody who reads the terminal.
void ignore_notice(void* /*context*/, const PGresult* /*result*/) {}

bool is_good(const PGresult* result) {
  switch (::PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY: return true;
    default: return false;
  }
}

std::string state_of(const PGresult* result) {
  const char* const state = ::PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state != nullptr ? state : "";
}

}  // namespace

void PostgresTalk::Finish::operator()(pg_conn* connection) const noexcept {
  ::PQfinish(connection);
}

PostgresTalk::PostgresTalk(const std::string& conninfo)
    : connection_(::PQconnectdb(conninfo.c_str())) {
  if (::PQstatus(connection_.get()) != CONNECTION_OK) {
    throw PostgresTalkError(::PQerrorMessage(connection_.get()), {});
  }
  ::PQsetNoticeReceiver(connection_.get(), ignore_notice, nullptr);
}

void PostgresTalk::check(PGresult* result, const std::string& about) const {
  if (is_good(result)) return;
  throw PostgresTalkError(about + ": " + ::PQerrorMessage(connection_.get()), state_of(result));
}

void PostgresTalk::run(const std::string& sql) {
  const Result result(::PQexec(connection_.get(), sql.c_str()));
  check(result.get(), sql);
}

std::vector<PostgresRow> PostgresTalk::rows(const std::string& sql, const PostgresRow& parameters) {
  std::vector<const char*> texts;
  for (const std::string& one : parameters) texts.push_back(one.c_str());
  const Result result(::PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()),
                                     nullptr, texts.data(), nullptr, nullptr, 0));
  check(result.get(), sql);
  std::vector<PostgresRow> out;
  for (int row = 0; row < ::PQntuples(result.get()); ++row) {
    PostgresRow& values = out.emplace_back();
    for (int column = 0; column < ::PQnfields(result.get()); ++column) {
      values.emplace_back(::PQgetvalue(result.get(), row, column),
                          static_cast<std::size_t>(::PQgetlength(result.get(), row, column)));
    }
  }
  return out;
}

std::string PostgresTalk::value(const std::string& sql, const PostgresRow& parameters) {
  const std::vector<PostgresRow> all = rows(sql, parameters);
  if (all.empty()) return {};
  if (all.size() > 1 || all.front().size() != 1) {
    throw PostgresTalkError("more than one value: " + sql, {});
  }
  return all.front().front();
}

std::string PostgresTalk::refusal(const std::string& sql, const PostgresRow& parameters) {
  try {
    rows(sql, parameters);
    return {};
  } catch (const PostgresTalkError& error) {
    if (error.state().empty()) throw;
    return error.state();
  }
}

void PostgresTalk::send(const std::string& sql) {
  if (::PQsendQuery(connection_.get(), sql.c_str()) != 1) {
    throw PostgresTalkError(sql + ": " + ::PQerrorMessage(connection_.get()), {});
  }
}

bool PostgresTalk::wait(std::chrono::steady_clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0)));
  pollfd polled{.fd = ::PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
  if (::poll(&polled, 1, static_cast<int>(left.count())) < 1) return false;
  if (::PQconsumeInput(connection_.get()) == 1) return true;
  throw PostgresTalkError(::PQerrorMessage(connection_.get()), {});
}

bool PostgresTalk::answered(std::chrono::milliseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  for (;;) {
    while (::PQisBusy(connection_.get()) == 0) {
      const Result result(::PQgetResult(connection_.get()));
      if (!result) return true;
      if (is_good(result.get())) continue;
      const std::string words = ::PQerrorMessage(connection_.get());
      while (const Result rest{::PQgetResult(connection_.get())}) continue;
      throw PostgresTalkError(words, state_of(result.get()));
    }
    if (!wait(until)) return false;
  }
}

std::optional<std::string> PostgresTalk::notification(std::chrono::milliseconds within) {
  const auto until = std::chrono::steady_clock::now() + within;
  for (;;) {
    const std::unique_ptr<PGnotify, Free> notice(::PQnotifies(connection_.get()));
    if (notice) return notice->extra;
    if (!wait(until)) return std::nullopt;
  }
}

int PostgresTalk::server_process() const { return ::PQbackendPID(connection_.get()); }

}  // namespace mortise::test
