// SPDX-License-Identifier: MIT
// What libpq's opaque types are in the simulation: see world_libpq.cpp.
#pragma once

#include "simulation/postgres/wire.hpp"

#include <libpq-fe.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pg_result {
  struct Cell {
    bool null = false;
    std::string bytes{};
  };
  ExecStatusType status = PGRES_COMMAND_OK;
  int columns = 0;
  std::vector<std::vector<Cell>> rows{};
  std::map<char, std::string> fields{};  ///< of an error or a notice
  std::string message{};
  std::string tag{};  ///< of a command that was done
};

struct pg_conn {
  /// As libpq's asyncStatus (libpq-int.h).
  enum class Async : std::uint8_t { idle, busy, ready, between };
  enum class Command : std::uint8_t { simple, extended, prepare, sync };

  std::map<std::string, std::string> keywords{};
  int socket = -1;
  ConnStatusType status = CONNECTION_BAD;
  std::string message{};
  std::string where{};  ///< "connection to server at ... failed: "
  int pid = 0;
  PGTransactionStatusType transaction = PQTRANS_IDLE;
  PGVerbosity verbosity = PQERRORS_DEFAULT;
  PQnoticeReceiver receiver = nullptr;
  void* receiver_context = nullptr;
  bool nonblocking = false;
  PGpipelineStatus pipeline = PQ_PIPELINE_OFF;
  Async async = Async::idle;
  bool write_failed = false;
  std::deque<Command> commands{};
  std::string out{};
  simulation::postgres::MessageStream in{};
  std::unique_ptr<pg_result> result{};
  std::deque<PGnotify*> notifications{};

  pg_conn() = default;
  pg_conn(const pg_conn&) = delete;
  pg_conn& operator=(const pg_conn&) = delete;
  ~pg_conn();

  // world_libpq_traffic.cpp
  /// @return 0: all is sent, 1: not yet, -1: broken
  int flush();
  /// @return whether the connection stands; what has arrived is in `in`
  bool read();
  void parse_input();
  void process_queue();
  void append(Command command);
  void fail(const std::string& words);
  void wait_for_input();
  std::unique_ptr<pg_result> next_result();

  // world_libpq_connect.cpp
  void start();
  PostgresPollingStatusType poll();

 private:
  bool take(const simulation::postgres::Message& message);
  void take_ready(char state);
  void take_error(std::string_view body);
  PostgresPollingStatusType refuse(const std::string& words);
  PostgresPollingStatusType take_greeting();
};

namespace simulation::postgres {

/// Reads the fields of an error or a notice; the message is as verbose as asked for.
[[nodiscard]] std::unique_ptr<pg_result> error_result(std::string_view body, bool verbose);

}  // namespace simulation::postgres
