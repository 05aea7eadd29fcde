// SPDX-License-Identifier: MIT
// A small synchronous PostgreSQL client for tests: it plays the user's own transactions, and looks
// at what the library left in the server. It shares no code with the library.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct pg_conn;
struct pg_result;

namespace mortise::test {

/// No connection, none any more, or the server refused a command.
class PostgresTalkError : public std::runtime_error {
 public:
  PostgresTalkError(const std::string& words, std::string state)
      : std::runtime_error(words), state_(std::move(state)) {}
  /// @return the five characters of SQLSTATE; empty where no server said it.
  [[nodiscard]] const std::string& state() const noexcept { return state_; }

 private:
  std::string state_;
};

/// Everything as text; a null is an empty one.
using PostgresRow = std::vector<std::string>;

/// One connection. Not thread-safe; move-only.
class PostgresTalk {
 public:
  /// @param conninfo a URL or keywords, as libpq reads them
  explicit PostgresTalk(const std::string& conninfo);

  /// Runs one command, or several that are divided by semicolons.
  /// @throws PostgresTalkError
  void run(const std::string& sql);
  /// @return the rows of one command with parameters $1, $2 ... @throws PostgresTalkError
  std::vector<PostgresRow> rows(const std::string& sql, const PostgresRow& parameters = {});
  /// @return the only value of the only row; empty where there is no row. @throws PostgresTalkError
  std::string value(const std::string& sql, const PostgresRow& parameters = {});
  /// @return the SQLSTATE that the server refuses a command with; empty where it does not.
  std::string refusal(const std::string& sql, const PostgresRow& parameters = {});

  /// The two halves of `run()`: a command that waits for a lock.
  void send(const std::string& sql);
  /// @return whether all of its answers have come in time. @throws PostgresTalkError
  bool answered(std::chrono::milliseconds within);

  /// @return the payload of a notification that has come or comes in time.
  std::optional<std::string> notification(std::chrono::milliseconds within);
  /// @return the process of the server that serves this connection.
  [[nodiscard]] int server_process() const;
  /// @return the connection itself, for the functions under test.
  [[nodiscard]] pg_conn* handle() const noexcept { return connection_.get(); }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  bool wait(std::chrono::steady_clock::time_point until);
  void check(pg_result* result, const std::string& about) const;

  std::unique_ptr<pg_conn, Finish> connection_;
};

}  // namespace mortise::test
