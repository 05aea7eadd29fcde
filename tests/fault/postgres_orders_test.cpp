// SPDX-License-Identifier: MIT
// Goal: with the guard and one transaction no order is charged twice, whoever dies or outlives its
// lease. Method: 24 threads of six clients charge 40 orders; of each hundred attempts 15 die with
// the lock in their hands and 15 stand still beyond their lease and go on as if nothing had been.
// The same program without the guard is the control: it must charge some order twice.
#include "fault/postgres_fixture.hpp"
#include "model/dice.hpp"
#include "model/seed.hpp"

#include <array>
#include <atomic>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

constexpr std::uint32_t orders = 40;
constexpr std::uint32_t clients = 6;
constexpr std::uint32_t workers = 24;
constexpr double dies = 0.15;
constexpr double outlives = 0.15;
constexpr std::chrono::milliseconds orders_lease{240};

struct Orders {
  int charged = 0;
  int twice = 0;
  int died = 0;
  int outlived = 0;
  int refused = 0;
};

class PostgresOrders : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (IsSkipped()) return;
    server().talk().run(
        "create table orders (id int primary key, paid boolean not null);"
        "create table charges (id int, token bigint);"
        "grant all on orders, charges to shop");
  }

  Orders run(bool guarded, std::uint64_t seed) {
    server().talk().run(
        "truncate orders, charges;"
        "insert into orders select i, false from generate_series(0, 39) as i");
    std::vector<Client> parties;
    for (std::uint32_t i = 0; i < clients; ++i) parties.push_back(client());
    std::vector<std::thread> all;
    Tally tally;
    for (std::uint32_t i = 0; i < workers; ++i) {
      all.emplace_back([&, i] {
        try {
          Dice dice(seed, i);
          PostgresTalk user = server().user();
          while (charge_one(parties.at(i % clients), user, dice, guarded, tally)) continue;
        } catch (const std::exception& error) {
          const std::lock_guard lock(tally.mutex);
          tally.surprises.emplace_back(error.what());
        }
      });
    }
    for (std::thread& one : all) one.join();
    EXPECT_THAT(tally.surprises, IsEmpty());
    return {.charged = std::stoi(see("select count(*) from orders where paid")),
            .twice = std::stoi(see("select count(*) from (select from charges group by id"
                                   " having count(*) > 1) as twice")),
            .died = tally.died.load(),
            .outlived = tally.outlived.load(),
            .refused = tally.refused.load()};
  }

  void prove(int runs) {
    const std::uint64_t seed = model::test_seed();
    Orders sum;
    for (int i = 0; i < runs; ++i) {
      const Orders outcome = run(true, seed + static_cast<std::uint64_t>(i));
      EXPECT_EQ(outcome.twice, 0) << "run " << i;
      EXPECT_EQ(outcome.charged, static_cast<int>(orders)) << "run " << i;
      sum.died += outcome.died;
      sum.outlived += outcome.outlived;
      sum.refused += outcome.refused;
    }
    std::cout << runs << " runs: 0 of " << orders << " charged twice, " << sum.died << " died, "
              << sum.outlived << " outlived their leases, " << sum.refused << " refused\n";
    EXPECT_GT(sum.died, 0);
    EXPECT_GT(sum.refused, 0) << "no guard had anything to refuse, which proves nothing";
  }

 private:
  using Dice = model::Dice;
  struct Tally {
    std::atomic<int> died{0};
    std::atomic<int> outlived{0};
    std::atomic<int> refused{0};
    std::mutex mutex;
    std::vector<std::string> surprises;
    std::vector<std::unique_ptr<Guard>> of_the_dead;  // whoever dies gives nothing back
  };

  /// False: every order is paid.
  bool charge_one(Client& client, PostgresTalk& user, Dice& dice, bool guarded, Tally& tally) {
    const auto open = user.rows("select id from orders where not paid");
    if (open.empty()) return false;
    const std::string id = open[dice.below(static_cast<std::uint32_t>(open.size()))].front();
    Lock lock = client.make_lock("order/" + id, {.lease = orders_lease, .renew = false});
    std::error_code error;
    auto guard = std::make_unique<Guard>(
        lock, AcquireOptions{.wait = 500ms, .owner = Owner::unique()}, error);
    if (error && !is_retryable(error)) throw std::system_error(error);
    if (!*guard || user.value("select paid from orders where id = $1", {id}) == "t") return true;
    const bool fails = dice.chance(dies);
    const bool late = !fails && dice.chance(outlives);
    const bool inside = dice.chance(0.5);
    if (late && !inside) std::this_thread::sleep_for(orders_lease * 2);
    user.run("begin");
    if (guarded && failure_of([&] { postgres::guard(user.handle(), *guard); }).code) {
      ++tally.refused;
      user.run("rollback");
      return true;
    }
    if (late && inside) std::this_thread::sleep_for(orders_lease * 2);
    user.rows("insert into charges values ($1, $2)", {id, std::to_string(guard->token().value())});
    user.rows("update orders set paid = true where id = $1", {id});
    if (late) ++tally.outlived;
    if (fails) {
      // With its process go the lock, which nobody gives back, and the transaction.
      ++tally.died;
      user = server().user();
      const std::lock_guard lock_of_tally(tally.mutex);
      tally.of_the_dead.push_back(std::move(guard));
      return true;
    }
    user.run("commit");
    return true;
  }
};
class PostgresOrdersLong : public PostgresOrders {};

// Promise: S1
TEST_F(PostgresOrders, WithTheGuardNoneIsChargedTwice) { prove(3); }
TEST_F(PostgresOrdersLong, WithTheGuardNoneIsChargedTwiceInTwentyRuns) { prove(20); }

TEST_F(PostgresOrders, WithoutTheGuardTheSameProgramChargesSomeTwice) {
  constexpr int most_runs = 20;
  const std::uint64_t seed = model::test_seed();
  int twice = 0;
  int runs = 0;
  while (twice == 0 && runs < most_runs) {
    twice += run(false, seed + static_cast<std::uint64_t>(runs++)).twice;
  }
  std::cout << "without the guard: " << twice << " charged twice in run " << runs << '\n';
  EXPECT_GT(twice, 0) << "the program of the proof could not charge twice";
}

}  // namespace
}  // namespace mortise::fault
