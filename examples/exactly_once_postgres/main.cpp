// SPDX-License-Identifier: MIT
// If the data are in the database of the locks, both commit together. A stale holder cannot commit,
// and an outcome is recorded if and only if its effect is committed.
// usage: exactly_once_postgres postgresql://user@host/database
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>

#include <libpq-fe.h>

#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

std::string run(PGconn* db, const char* statement) {
  const Result result(PQexec(db, statement), &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK) return PQgetvalue(result.get(), 0, 0);
  if (status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(db));
  return {};
}

void charge(PGconn* db, mortise::Lock& lock) {
  // [guard]
  mortise::Guard hold(lock);
  run(db, "BEGIN");
  mortise::postgres::guard(db, hold);  // first statement; throws `lost` if the hold is over
  run(db, "UPDATE orders SET charges = charges + 1 WHERE id = 42");
  run(db, "COMMIT");  // no other client could take the lock before this
  // [/guard]
}

mortise::Outcome charge_once(PGconn* db, mortise::Client& client) {
  // [once]
  mortise::Outcome outcome = client.make_once("payment/43").run([&](mortise::Run& payment) {
    run(db, "BEGIN");
    run(db, "UPDATE orders SET charges = charges + 1 WHERE id = 43");
    mortise::postgres::commit(db, payment, "receipt 4711");  // both, or neither
  });
  // [/once]
  return outcome;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "postgresql:///orders";
  mortise::postgres::migrate(url);
  const Connection db(PQconnectdb(url.c_str()), &PQfinish);
  run(db.get(), "CREATE TEMPORARY TABLE orders (id integer PRIMARY KEY, charges integer)");
  run(db.get(), "INSERT INTO orders VALUES (42, 0), (43, 0)");

  mortise::Client client(url);
  mortise::Lock lock = client.make_lock("orders/42");
  charge(db.get(), lock);
  const std::string first = charge_once(db.get(), client).result();
  const std::string second = charge_once(db.get(), client).result();
  std::cout << first << ", and again " << second << "; order 43 was charged "
            << run(db.get(), "SELECT charges FROM orders WHERE id = 43") << " time\n";
  return first == second ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "exactly_once_postgres: " << e.what() << "\n";
  return 2;
}
