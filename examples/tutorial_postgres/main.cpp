// SPDX-License-Identifier: MIT
// A step of docs/tutorial.md: the database refuses a holder whose lease has ended. MORTISE_URL
// names the store of the locks, and DATABASE the PostgreSQL database with the table of orders.
#include <mortise/mortise.hpp>

#include <libpq-fe.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection connect() {
  const char* url = std::getenv("DATABASE");
  if (url == nullptr) throw std::runtime_error("set DATABASE to the URL of a database");
  Connection database(PQconnectdb(url), &PQfinish);
  if (PQstatus(database.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(database.get()));
  }
  return database;
}

// @return whether the database accepted the charge
bool charge(PGconn* database, mortise::Token token) {
  const std::string fence = to_string(token);
  const std::array<const char*, 1> values{fence.c_str()};
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexecParams(database,
                   "UPDATE orders SET state = 'charged', fence = $1 WHERE id = 42 AND fence <= $1",
                   1, nullptr, values.data(), nullptr, nullptr, 0),
      &PQclear);
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(PQerrorMessage(database));
  }
  return PQcmdTuples(result.get()) == std::string("1");  // no row: a newer holder was here
}

int charge_under_lock() {
  const Connection database = connect();
  mortise::Client client = mortise::Client::from_env();
  // [charge]
  // Without renewal the lease ends after two seconds, as if this process had been stopped.
  mortise::Guard guard(client, "orders/42", {.wait = 5s}, {.lease = 2s, .renew = false});
  if (!guard) return 1;
  std::cout << "token " << guard.token() << "; press Enter to charge order 42\n";
  std::cin.get();
  std::cout << (charge(database.get(), guard.token()) ? "charged\n" : "refused\n");
  // [/charge]
  return 0;
}

}  // namespace

int main() try { return charge_under_lock(); } catch (const std::exception& e) {
  std::cerr << "tutorial_postgres: " << e.what() << '\n';
  return 2;
}
