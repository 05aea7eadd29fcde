// SPDX-License-Identifier: MIT
// The service's own transactions, with libpq. Each thread has one connection.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace shop {

using Rows = std::vector<std::vector<std::string>>;

/// One transaction on this thread's connection. Rolls back unless it was committed. A thread has at
/// most one at a time.
class Transaction {
 public:
  explicit Transaction(const std::string& url) : connection_(connect(url)) { run("BEGIN"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (PQtransactionStatus(connection_) != PQTRANS_IDLE) PQclear(PQexec(connection_, "ROLLBACK"));
  }

  /// For `mortise::postgres::guard()` and `commit()`.
  [[nodiscard]] PGconn* connection() const noexcept { return connection_; }
  /// Runs one statement with parameters $1, $2 ... @throws std::runtime_error
  template <class... Values>
  Rows run(const char* statement, const Values&... values) {
    return run(statement, std::vector<std::string>{text(values)...});
  }
  void commit() { run("COMMIT"); }

 private:
  static std::string text(const auto& value) {
    using std::to_string;
    if constexpr (std::is_convertible_v<decltype(value), std::string>) {
      return value;
    } else {
      return to_string(value);  // of a number, or of a token
    }
  }

  static PGconn* connect(const std::string& url) {
    thread_local std::unique_ptr<PGconn, decltype(&PQfinish)> mine(nullptr, &PQfinish);
    if (mine && PQstatus(mine.get()) == CONNECTION_OK) return mine.get();
    mine.reset(PQconnectdb(url.c_str()));
    // A copy that is paused in a transaction would block its rows for all other copies.
    PQclear(PQexec(mine.get(), "SET idle_in_transaction_session_timeout = '5s'"));
    return mine.get();
  }

  Rows run(const char* statement, const std::vector<std::string>& values) {
    std::vector<const char*> pointers;
    pointers.reserve(values.size());
    for (const std::string& value : values) pointers.push_back(value.c_str());
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexecParams(connection_, statement, static_cast<int>(pointers.size()), nullptr,
                     pointers.data(), nullptr, nullptr, 0),
        &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(connection_));
    }
    Rows rows(static_cast<std::size_t>(PQntuples(result.get())));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        rows[row].emplace_back(PQgetvalue(result.get(), static_cast<int>(row), column));
      }
    }
    return rows;
  }

  PGconn* connection_;
};

}  // namespace shop
