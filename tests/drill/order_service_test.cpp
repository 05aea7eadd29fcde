// SPDX-License-Identifier: MIT
// Goal: a service that is built on the locks keeps its books right while one copy is killed and
// another one is stopped, and an operator sees which lock is stuck, who holds it, and who waits.
// Method: three copies of examples/order_service under load; at the end the database is searched
// for rows that contradict the books. The service has two forms: a thread per request, and an event
// loop of Boost.Asio.
#include "drill/order_service.hpp"

#include <mortise/postgres.hpp>

#include "drill/order_load.hpp"
#include "model/seed.hpp"
#include "support/eventually.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "support/text_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace mortise::drill {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::PostgresTalk;

constexpr std::chrono::seconds length{45};
// For what has to wait for the end of a lease, on a busy machine.
constexpr std::chrono::seconds long_patience{60};
// Of an item that the load does not sell.
const Form an_order{{"item", "item21"}, {"quantity", "1"}, {"amount", "10"}};

/// What has to be so at the end, and the rows of the database that contradict it.
const std::map<std::string, std::string> invariants{
    {"no key was ordered twice", "SELECT key FROM orders GROUP BY key HAVING count(*) > 1"},
    {"each order was charged once",
     "SELECT id FROM orders LEFT JOIN charges ON order_id = id GROUP BY id "
     "HAVING count(order_id) <> 1"},
    {"no order was shipped twice",
     "SELECT order_id FROM shipments GROUP BY order_id HAVING count(*) > 1"},
    {"an order is called shipped if there is a shipment",
     "SELECT id FROM orders LEFT JOIN shipments ON order_id = id "
     "WHERE (state = 'shipped') <> (order_id IS NOT NULL)"},
    {"the stock is what was there, without what was sold",
     "SELECT item FROM stock LEFT JOIN orders USING (item) GROUP BY item, stock.quantity, initial "
     "HAVING stock.quantity <> initial - coalesce(sum(orders.quantity), 0)"},
    {"no item was sold that was not there", "SELECT item FROM stock WHERE quantity < 0"},
    {"no money came or went",
     "SELECT sum(balance) FROM accounts HAVING sum(balance) <> sum(initial)"},
    {"each balance is the sum of its transfers",
     "SELECT id FROM accounts WHERE balance <> initial "
     "+ (SELECT coalesce(sum(amount), 0) FROM transfers WHERE creditor = id) "
     "- (SELECT coalesce(sum(amount), 0) FROM transfers WHERE debtor = id)"},
    {"no day was closed twice", "SELECT day FROM closed_days GROUP BY day HAVING count(*) > 1"},
};

/// @return whether one line of the text has all of these parts.
bool has_line(const std::string& text, const std::vector<std::string>& parts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto is_there = [&](const std::string& part) {
      return (line + '\n').find(part) != std::string::npos;
    };
    if (std::all_of(parts.begin(), parts.end(), is_there)) return true;
  }
  return false;
}

long threads_of(pid_t process) {
  const std::filesystem::directory_iterator threads("/proc/" + std::to_string(process) + "/task");
  return std::distance(begin(threads), end(threads));
}

/// The parameter is the program of the service.
class OrderService : public ::testing::TestWithParam<const char*> {
 protected:
  using Asking = std::future<Answer>;

  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    MORTISE_NEEDS_POSTGRES_SERVER();
    redis_.emplace();
    postgres_.emplace(test::PostgresServerOptions{.settings = {"max_connections = 150"}});
    postgres::migrate(postgres_->owner_url(), {.role = test::postgres_application});
    PostgresTalk owner(postgres_->owner_url());
    owner.run(test::text_of(MORTISE_ORDER_SERVICE_SCHEMA));
    owner.run(
        "INSERT INTO stock SELECT 'item' || n, 150, 150 FROM generate_series(1, 21) n;"
        "INSERT INTO accounts SELECT n, 1000, 1000 FROM generate_series(1, 10) n;"
        "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO " +
        std::string(test::postgres_application));
    for (std::size_t copy = 0; copy < ServiceCopies::count; ++copy) start(copy);
  }

  void TearDown() override {
    if (!HasFailure()) return;
    for (std::size_t copy = 0; copy < ServiceCopies::count; ++copy) {
      std::cout << "copy " << copy << ":\n" << copies_.log(copy);
    }
  }

  void start(std::size_t copy) {
    const std::string seconds_of_a_day = "5";
    copies_.start(copy, {postgres_->url(), redis_->url(), partner_.address(), seconds_of_a_day});
  }

  /// Asks one copy until it ships the order.
  [[nodiscard]] Asking ask_to_ship(std::size_t copy, const std::string& order) const {
    return std::async(std::launch::async, [this, copy, order] {
      Answer answer;
      static_cast<void>(eventually(
          [&] {
            answer = copies_.post(copy, "/orders/" + order + "/ship");
            return answer.status == 200;
          },
          long_patience));
      return answer;
    });
  }
  /// The copy holds the order's lock, and waits for the partner: once this has returned.
  [[nodiscard]] Asking leave_at_the_partner(std::size_t copy, const std::string& order) {
    partner_.keep(order);
    Asking asking;
    const bool kept = eventually([&] {
      if (!asking.valid() || asking.wait_for(0s) == std::future_status::ready) {
        asking = std::async(std::launch::async, [this, copy, order] {
          return copies_.post(copy, "/orders/" + order + "/ship", {}, {}, long_patience);
        });
      }
      return partner_.keeps(order);
    });
    EXPECT_TRUE(kept) << copies_.log(copy);
    return asking;
  }

  /// What the tool prints to an operator.
  [[nodiscard]] std::string watch() const {
    const std::string file = directory_.file("watch");
    const std::string command =
        "MORTISE_URL=" + redis_->url() + " " MORTISE_TOOL " watch --once >" + file + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << test::text_of(file);
    return test::text_of(file);
  }

  /// @param waiters how many threads of which copies
  void expect_to_see(const std::string& name, const std::string& holder,
                     const std::map<std::size_t, int>& waiters) const {
    const std::string processes = " " + std::to_string(waiters.size()) + "\n";
    EXPECT_TRUE(eventually([&] {
      return has_line(watch(), {name + " ", holder + " ", processes});
    })) << name
        << " is not in\n"
        << watch();
    for (const auto& [copy, threads] : waiters) {
      const std::vector<std::string> parts{"mortise_waiting_threads{", "name=\"" + name + "\"",
                                           holder + "\"", "store=\"redis\"",
                                           "} " + std::to_string(threads) + "\n"};
      EXPECT_TRUE(eventually([&, at = copy] { return has_line(copies_.metrics(at), parts); }))
          << name << " is not in\n"
          << copies_.metrics(copy);
    }
  }

  /// @return how many requests of a copy wait for a name, according to its metrics.
  [[nodiscard]] int waiting_requests(std::size_t copy, const std::string& name) const {
    std::istringstream lines(copies_.metrics(copy));
    for (std::string line; std::getline(lines, line);) {
      if (!has_line(line, {"mortise_waiting_threads{", "name=\"" + name + "\""})) continue;
      return std::stoi(line.substr(line.rfind(' ')));
    }
    return 0;
  }

  void expect_right_books(const OrderLoad& load) {
    PostgresTalk books = postgres_->talk();
    for (const auto& [invariant, contradicting] : invariants) {
      std::string found;
      for (const auto& row : books.rows(contradicting)) found += " " + row[0];
      EXPECT_EQ(found, "") << invariant;
    }
    for (const auto& [key, answer] : load.ordered()) {
      const std::string order = books.value("SELECT id FROM orders WHERE key = $1", {key});
      EXPECT_EQ(order, answer == "sold out" ? "" : answer) << key << " was answered otherwise";
    }
    for (const std::string& order : load.shipped()) {
      const std::string token =
          books.value("SELECT max(token) FROM shipments WHERE order_id = $1", {order});
      EXPECT_NE(token, "") << order << " was not shipped";
    }
    std::cout << books.value(
                     "SELECT count(*) || ' orders, ' || count(*) FILTER (WHERE run > 1) || "
                     "' of them by a later run, ' || count(*) FILTER (WHERE state = "
                     "'shipped') || ' shipped' FROM orders")
              << ", " << books.value("SELECT count(*) FROM transfers") << " transfers, "
              << books.value("SELECT count(*) FROM closed_days") << " days\n";
  }

  model::TemporaryDirectory directory_;
  std::optional<test::RedisServer> redis_;
  std::optional<test::PostgresServer> postgres_;
  LabelPartner partner_;
  ServiceCopies copies_{GetParam()};
};

TEST_P(OrderService, KeepsItsBooksWhileOneCopyIsKilledAndAnotherOneIsStopped) {
  const auto began = std::chrono::steady_clock::now();
  OrderLoad load(copies_, model::test_seed());
  ASSERT_TRUE(eventually([&] { return load.ordered().size() > 50; }, long_patience));

  // Copy 0 dies with an order in its hands. Another one ships it.
  const std::string left = load.order("left", an_order);
  Asking asked = leave_at_the_partner(0, left);
  copies_.process(0).kill();
  EXPECT_EQ(asked.get().status, 0);
  partner_.answer(left);
  EXPECT_EQ(ask_to_ship(1, left).get().status, 200);
  start(0);

  // Copy 1 is stuck at the partner. An operator sees the lock, its holder, and who waits for it.
  const std::string stuck = load.order("stuck", an_order);
  asked = leave_at_the_partner(1, stuck);
  std::vector<Asking> waiting;
  for (const std::size_t copy : {0U, 0U, 0U, 2U, 2U}) waiting.push_back(ask_to_ship(copy, stuck));
  const std::string name = "orders/" + stuck;
  const std::string holder = ":" + std::to_string(copies_.process(1).pid());
  expect_to_see(name, holder, {{0, 3}, {2, 2}});

  // Then it is stopped for longer than its lease. Another one ships the order, once.
  ASSERT_TRUE(copies_.process(1).stop());
  for (Asking& each : waiting) EXPECT_EQ(each.get().status, 200);
  partner_.answer(stuck);
  copies_.process(1).resume();
  EXPECT_EQ(asked.get().status, 503) << "it has shipped an order that was not its own any more";

  // Copy 2 ends in good order while it has requests.
  copies_.process(2).terminate();
  const auto exit = copies_.process(2).wait_for(test::patience);
  ASSERT_TRUE(exit) << copies_.log(2);
  EXPECT_EQ(exit->code, 0) << copies_.log(2);
  start(2);

  // Each store fails for a moment.
  postgres_->restart();
  redis_->stop();
  std::this_thread::sleep_for(3s);
  redis_->resume();
  EXPECT_EQ(ask_to_ship(0, load.order("later", an_order)).get().status, 200);

  std::this_thread::sleep_until(began + length);  // the load goes on
  load.stop();
  EXPECT_THAT(load.contradictions(), ::testing::IsEmpty());
  EXPECT_LE(partner_.most(), 3) << "labels at a time";
  expect_right_books(load);
}

INSTANTIATE_TEST_SUITE_P(Threads, OrderService, ::testing::Values(MORTISE_ORDER_SERVICE));

#ifdef MORTISE_ORDER_SERVICE_ASIO
INSTANTIATE_TEST_SUITE_P(Asio, OrderService, ::testing::Values(MORTISE_ORDER_SERVICE_ASIO));

using AsioOrderService = OrderService;

TEST_P(AsioOrderService, HasNoThreadForARequestThatWaits) {
  constexpr int requests = 100;
  const std::string order = copies_.post(0, "/orders", an_order, "one").body;
  Asking holder = leave_at_the_partner(0, order);
  std::vector<Asking> waiting;
  for (int i = 0; i < requests; ++i) waiting.push_back(ask_to_ship(1, order));
  long threads = 0;
  // A request waits for 3 s, and its sender repeats it. So a few requests may be in flight.
  EXPECT_TRUE(eventually([&] {
    threads = threads_of(copies_.process(1).pid());
    return waiting_requests(1, "orders/" + order) >= requests - 10;
  }));
  EXPECT_LT(threads, requests / 2);
  partner_.answer(order);
  EXPECT_EQ(holder.get().body, "shipped");
  for (Asking& each : waiting) EXPECT_EQ(each.get().body, "shipped before");
}

INSTANTIATE_TEST_SUITE_P(Asio, AsioOrderService, ::testing::Values(MORTISE_ORDER_SERVICE_ASIO));
#endif

}  // namespace
}  // namespace mortise::drill
