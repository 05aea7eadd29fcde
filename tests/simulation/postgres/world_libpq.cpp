// SPDX-License-Identifier: MIT
// libpq for the simulation: what src/postgres/pq.cpp calls, over ordinary sockets, which the
// simulation leads into its own network. It behaves as libpq 15 does, and tests compare it with the
// real server; what nobody calls is not there, so that it cannot be linked by mistake.
#include "simulation/postgres/world_libpq.hpp"

#include <poll.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

using simulation::postgres::MessageWriter;

namespace {

using Command = pg_conn::Command;

/// @return false: cannot be sent now, as libpq says
bool may_send(pg_conn* connection) {
  if (connection == nullptr) return false;
  if (connection->status != CONNECTION_OK) {
    connection->message = "no connection to the server\n";
    return false;
  }
  if (connection->pipeline == PQ_PIPELINE_OFF && connection->async != pg_conn::Async::idle) {
    connection->message = "another command is already in progress\n";
    return false;
  }
  return true;
}

int sent(pg_conn* connection, Command command) {
  if (connection->pipeline == PQ_PIPELINE_OFF) {
    MessageWriter(connection->out, 'S');
    connection->append(command);
    return connection->flush() < 0 ? 0 : 1;
  }
  connection->append(command);
  constexpr std::size_t too_much = 65'536;
  if (connection->out.size() >= too_much) return connection->flush() < 0 ? 0 : 1;
  return 1;
}

void append_execution(pg_conn* connection, const char* statement, int count,
                      const char* const* values, const int* lengths, const int* formats,
                      int result_format) {
  {
    MessageWriter bind(connection->out, 'B');
    bind.text("").text(statement).int16(static_cast<std::int16_t>(count));
    for (int i = 0; i < count; ++i) {
      bind.int16(static_cast<std::int16_t>(formats != nullptr ? formats[i] : 0));
    }
    bind.int16(static_cast<std::int16_t>(count));
    for (int i = 0; i < count; ++i) {
      if (values == nullptr || values[i] == nullptr) {
        bind.int32(-1);
        continue;
      }
      const bool binary = formats != nullptr && formats[i] != 0;
      const std::size_t size =
          binary ? static_cast<std::size_t>(lengths[i]) : std::strlen(values[i]);
      bind.int32(static_cast<std::int32_t>(size)).bytes({values[i], size});
    }
    bind.int16(1).int16(static_cast<std::int16_t>(result_format));
  }
  MessageWriter(connection->out, 'D').byte('P').text("");
  MessageWriter(connection->out, 'E').text("").int32(0);
}

/// The last result of a command that was sent, as PQexec() returns it.
pg_result* last_result(pg_conn* connection) {
  std::unique_ptr<pg_result> last;
  while (std::unique_ptr<pg_result> next = connection->next_result()) last = std::move(next);
  return last.release();
}

pg_result* failed(const pg_conn* connection) {
  auto result = std::make_unique<pg_result>();
  result->status = PGRES_FATAL_ERROR;
  if (connection != nullptr) result->message = connection->message;
  return result.release();
}

}  // namespace

extern "C" {

// --- A connection.

PGconn* PQconnectStartParams(const char* const* keywords, const char* const* values,
                             int /*expand_dbname*/) {
  auto connection = std::make_unique<pg_conn>();
  for (std::size_t i = 0; keywords[i] != nullptr; ++i) {
    if (values[i] != nullptr) connection->keywords[keywords[i]] = values[i];
  }
  connection->start();
  return connection.release();
}

PGconn* PQconnectdb(const char* conninfo) {
  char* words = nullptr;
  PQconninfoOption* const options = PQconninfoParse(conninfo, &words);
  auto connection = std::make_unique<pg_conn>();
  if (options == nullptr) {
    connection->message = words != nullptr ? words : "out of memory";
    PQfreemem(words);
    return connection.release();
  }
  for (const PQconninfoOption* each = options; each->keyword != nullptr; ++each) {
    if (each->val != nullptr) connection->keywords[each->keyword] = each->val;
  }
  PQconninfoFree(options);
  connection->start();
  for (auto status = PGRES_POLLING_WRITING; connection->status != CONNECTION_BAD;) {
    const short what = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd polled{.fd = connection->socket, .events = what, .revents = 0};
    ::poll(&polled, 1, -1);
    status = connection->poll();
    if (status == PGRES_POLLING_OK || status == PGRES_POLLING_FAILED) break;
  }
  return connection.release();
}

PostgresPollingStatusType PQconnectPoll(PGconn* connection) { return connection->poll(); }

void PQfinish(PGconn* connection) {
  if (connection == nullptr) return;
  if (connection->status == CONNECTION_OK) {
    MessageWriter(connection->out, 'X');
    static_cast<void>(connection->flush());
  }
  delete connection;
}

int PQsocket(const PGconn* connection) { return connection == nullptr ? -1 : connection->socket; }
int PQbackendPID(const PGconn* connection) {
  return connection == nullptr || connection->status != CONNECTION_OK ? 0 : connection->pid;
}
int PQconnectionNeedsPassword(const PGconn* /*connection*/) { return 0; }
ConnStatusType PQstatus(const PGconn* connection) {
  return connection == nullptr ? CONNECTION_BAD : connection->status;
}
char* PQerrorMessage(const PGconn* connection) {
  static char none[] = "connection pointer is NULL\n";
  return connection == nullptr ? none : const_cast<char*>(connection->message.c_str());  // NOLINT
}
PGTransactionStatusType PQtransactionStatus(const PGconn* connection) {
  if (connection == nullptr || connection->status != CONNECTION_OK) return PQTRANS_UNKNOWN;
  return connection->async != pg_conn::Async::idle ? PQTRANS_ACTIVE : connection->transaction;
}
PGVerbosity PQsetErrorVerbosity(PGconn* connection, PGVerbosity verbosity) {
  return connection == nullptr ? PQERRORS_DEFAULT : std::exchange(connection->verbosity, verbosity);
}
PQnoticeReceiver PQsetNoticeReceiver(PGconn* connection, PQnoticeReceiver receiver, void* context) {
  if (connection == nullptr) return nullptr;
  connection->receiver_context = context;
  return std::exchange(connection->receiver, receiver);
}
int PQsetnonblocking(PGconn* connection, int on) {
  if (connection == nullptr || connection->status == CONNECTION_BAD) return -1;
  connection->nonblocking = on != 0;
  return 0;
}
int PQenterPipelineMode(PGconn* connection) {
  if (connection == nullptr || connection->async != pg_conn::Async::idle) return 0;
  if (connection->pipeline == PQ_PIPELINE_OFF) connection->pipeline = PQ_PIPELINE_ON;
  return 1;
}
PGpipelineStatus PQpipelineStatus(const PGconn* connection) {
  return connection == nullptr ? PQ_PIPELINE_OFF : connection->pipeline;
}

// --- Statements.

int PQsendPrepare(PGconn* connection, const char* name, const char* text, int count,
                  const Oid* types) {
  if (!may_send(connection)) return 0;
  {
    MessageWriter parse(connection->out, 'P');
    parse.text(name).text(text).int16(static_cast<std::int16_t>(types != nullptr ? count : 0));
    for (int i = 0; types != nullptr && i < count; ++i) {
      parse.int32(static_cast<std::int32_t>(types[i]));
    }
  }
  return sent(connection, Command::prepare);
}

int PQsendQueryPrepared(PGconn* connection, const char* name, int count, const char* const* values,
                        const int* lengths, const int* formats, int result_format) {
  if (!may_send(connection)) return 0;
  append_execution(connection, name, count, values, lengths, formats, result_format);
  return sent(connection, Command::extended);
}

int PQsendQueryParams(PGconn* connection, const char* text, int count, const Oid* types,
                      const char* const* values, const int* lengths, const int* formats,
                      int result_format) {
  if (!may_send(connection)) return 0;
  {
    MessageWriter parse(connection->out, 'P');
    parse.text("").text(text).int16(static_cast<std::int16_t>(types != nullptr ? count : 0));
    for (int i = 0; types != nullptr && i < count; ++i) {
      parse.int32(static_cast<std::int32_t>(types[i]));
    }
  }
  append_execution(connection, "", count, values, lengths, formats, result_format);
  return sent(connection, Command::extended);
}

int PQsendQuery(PGconn* connection, const char* text) {
  if (!may_send(connection) || connection->pipeline != PQ_PIPELINE_OFF) return 0;
  MessageWriter(connection->out, 'Q').text(text);
  connection->append(Command::simple);
  return connection->flush() < 0 ? 0 : 1;
}

int PQpipelineSync(PGconn* connection) {
  if (connection == nullptr || connection->pipeline == PQ_PIPELINE_OFF ||
      connection->status != CONNECTION_OK) {
    return 0;
  }
  MessageWriter(connection->out, 'S');
  connection->append(Command::sync);
  return connection->flush() < 0 ? 0 : 1;
}

int PQflush(PGconn* connection) {
  if (connection == nullptr || connection->status == CONNECTION_BAD) return -1;
  return connection->flush();
}

int PQconsumeInput(PGconn* connection) {
  if (connection == nullptr) return 0;
  if (connection->nonblocking && connection->flush() < 0) return 0;
  return connection->read() ? 1 : 0;
}

int PQisBusy(PGconn* connection) {
  if (connection == nullptr) return 0;
  connection->parse_input();
  return connection->async == pg_conn::Async::busy ? 1 : 0;
}

PGresult* PQgetResult(PGconn* connection) {
  return connection == nullptr ? nullptr : connection->next_result().release();
}

PGresult* PQexec(PGconn* connection, const char* text) {
  if (PQsendQuery(connection, text) != 1) return failed(connection);
  return last_result(connection);
}

PGresult* PQexecParams(PGconn* connection, const char* text, int count, const Oid* types,
                       const char* const* values, const int* lengths, const int* formats,
                       int result_format) {
  if (connection != nullptr && connection->pipeline != PQ_PIPELINE_OFF) {
    connection->message = "synchronous command execution functions are not allowed in pipeline\n";
    return failed(connection);
  }
  if (PQsendQueryParams(connection, text, count, types, values, lengths, formats, result_format) !=
      1) {
    return failed(connection);
  }
  return last_result(connection);
}

PGnotify* PQnotifies(PGconn* connection) {
  if (connection == nullptr) return nullptr;
  connection->parse_input();
  if (connection->notifications.empty()) return nullptr;
  PGnotify* const first = connection->notifications.front();
  connection->notifications.pop_front();
  return first;
}

// --- Results.

ExecStatusType PQresultStatus(const PGresult* result) {
  return result == nullptr ? PGRES_FATAL_ERROR : result->status;
}
char* PQresultErrorMessage(const PGresult* result) {
  static char none[] = "";
  return result == nullptr ? none : const_cast<char*>(result->message.c_str());  // NOLINT
}
char* PQresultErrorField(const PGresult* result, int field) {
  if (result == nullptr) return nullptr;
  const auto found = result->fields.find(static_cast<char>(field));
  return found == result->fields.end() ? nullptr
                                       : const_cast<char*>(found->second.c_str());  // NOLINT
}
char* PQcmdStatus(PGresult* result) {
  static char none[] = "";
  return result == nullptr ? none : result->tag.data();
}
int PQntuples(const PGresult* result) {
  return result == nullptr ? 0 : static_cast<int>(result->rows.size());
}
int PQnfields(const PGresult* result) { return result == nullptr ? 0 : result->columns; }
char* PQgetvalue(const PGresult* result, int row, int column) {
  const auto& cell =
      result->rows.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(column));
  return const_cast<char*>(cell.bytes.c_str());  // NOLINT: the interface is C's
}
int PQgetlength(const PGresult* result, int row, int column) {
  return static_cast<int>(result->rows.at(static_cast<std::size_t>(row))
                              .at(static_cast<std::size_t>(column))
                              .bytes.size());
}
int PQgetisnull(const PGresult* result, int row, int column) {
  return result->rows.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(column)).null
             ? 1
             : 0;
}
void PQclear(PGresult* result) { delete result; }
void PQfreemem(void* memory) { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)

}  // extern "C"
