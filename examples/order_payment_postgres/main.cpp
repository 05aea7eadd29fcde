// SPDX-License-Identifier: MIT
// Orders and locks are in one PostgreSQL database. Each order is submitted several times at once,
// and some workers pause for longer than their lease. No order is charged twice, because the
// transaction that charges it also checks the hold. --no-guard shows the result without this check.
// usage: order_payment_postgres <postgresql://user@host/database> [--no-guard]
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int orders = 40;
constexpr int submissions_of_each = 3;
constexpr int workers = 8;
constexpr std::chrono::milliseconds lease{400};

/// The shop's own connection to its database.
class Database {
 public:
  explicit Database(const std::string& url) : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(handle()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(handle()));
    PQsetNoticeProcessor(
        handle(), [](void*, const char*) {}, nullptr);
  }
  [[nodiscard]] PGconn* handle() const noexcept { return connection_.get(); }

  /// @return the value of the only row, or an empty string.
  std::string run(const std::string& sql) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(handle(), sql.c_str()),
                                                               &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      throw std::runtime_error(PQerrorMessage(handle()));
    }
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

struct Tally {
  std::atomic<int> charged{0};
  std::atomic<int> found_charged{0};
  std::atomic<int> refused{0};  // the hold was over when the transaction began
};

/// Charges an order once, even if other workers try. @return false: try again
bool charge(Database& db, mortise::Lock& lock, int order, bool guarded, bool pauses, Tally& tally) {
  const mortise::Guard hold(lock);
  if (pauses && order % 2 == 0) std::this_thread::sleep_for(lease * 3 / 2);
  const std::string id = std::to_string(order);
  db.run("BEGIN");
  try {
    // [guard]
    // No other client gets the lock before this transaction ends. If the hold is over, this fails.
    if (guarded) mortise::postgres::guard(db.handle(), hold);
    // [/guard]
    const bool open = db.run("SELECT state FROM payment WHERE id = " + id) == "new";
    // Pauses here, as a machine can at any moment.
    if (pauses) std::this_thread::sleep_for(lease * 3 / 2);
    if (open) {
      db.run("UPDATE payment SET state = 'charged', charges = charges + 1 WHERE id = " + id);
    }
    db.run("COMMIT");
    ++(open ? tally.charged : tally.found_charged);
    return true;
  } catch (const mortise::Error& error) {
    db.run("ROLLBACK");
    if (error.errc() != mortise::Errc::lost && !mortise::is_retryable(error.code())) throw;
    ++tally.refused;
    return false;
  }
}

void work(const std::string& url, mortise::Client& client, const std::vector<int>& submissions,
          std::atomic<std::size_t>& next, bool guarded, Tally& tally) {
  Database db(url);
  for (std::size_t mine = next++; mine < submissions.size(); mine = next++) {
    const int order = submissions[mine];
    mortise::Lock lock =
        client.make_lock("payment/" + std::to_string(order), {.lease = lease, .renew = false});
    // The worker of every seventh submission pauses.
    bool pauses = mine % 7 == 0;
    while (!charge(db, lock, order, guarded, pauses, tally)) pauses = false;
  }
}

int sell(const std::string& url, bool guarded) {
  mortise::postgres::migrate(url);
  Database db(url);
  db.run(
      "DROP TABLE IF EXISTS payment; CREATE TABLE payment (id integer PRIMARY KEY, "
      "state text NOT NULL DEFAULT 'new', charges integer NOT NULL DEFAULT 0); "
      "INSERT INTO payment (id) SELECT generate_series(1, " +
      std::to_string(orders) + ")");
  std::vector<int> submissions;
  for (int copy = 0; copy < submissions_of_each; ++copy) {
    for (int order = 1; order <= orders; ++order) submissions.push_back(order);
  }
  // The copies of an order arrive together, as if a customer clicked twice.
  std::sort(submissions.begin(), submissions.end());

  mortise::Client client(url);
  Tally tally;
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&] { work(url, client, submissions, next, guarded, tally); });
    }
  }
  const std::string once = db.run("SELECT count(*) FROM payment WHERE charges = 1");
  const std::string twice = db.run("SELECT count(*) FROM payment WHERE charges > 1");
  std::cout << (guarded ? "With" : "Without") << " guard(): " << submissions.size()
            << " submissions of " << orders << " orders; charged once " << once
            << ", more than once " << twice << "; stale workers stopped " << tally.refused << "\n";
  return twice == "0" && once == std::to_string(orders) ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) try {
  const bool guarded = argc < 3 || std::string_view(argv[2]) != "--no-guard";
  if (argc < 2 || (argc > 2 && guarded)) {
    std::cerr << "usage: order_payment_postgres <postgresql://...> [--no-guard]\n";
    return 2;
  }
  return sell(argv[1], guarded);
} catch (const std::exception& error) {
  std::cerr << "order_payment_postgres: " << error.what() << "\n";
  return 1;
}
