// SPDX-License-Identifier: MIT
// The library itself at the model, over real sockets: it is believed to be a PostgreSQL server.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>
#include <mortise/lock.hpp>

#include "model/seed.hpp"
#include "simulation/postgres/loopback.hpp"
#include "simulation/postgres/postgres_server.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

namespace simulation::postgres {
namespace {

using namespace std::chrono_literals;

class ModelOfPostgres : public ::testing::Test {
 protected:
  ModelOfPostgres() { site.serve(model); }
  ~ModelOfPostgres() override { site.stop(); }

  [[nodiscard]] std::string url(const std::string& more = "") const {
    return "postgresql://someone@127.0.0.1:" + std::to_string(site.port()) +
           "/locks?sslmode=disable" + more;
  }
  [[nodiscard]] std::optional<PostgresModel::Holder> holder(const std::string& name) {
    return site.with([&] { return model.holder(name); });
  }

  Loopback site{mortise::model::test_seed()};
  PostgresModel model{site};
};

TEST_F(ModelOfPostgres, TakesAndReleases) {
  mortise::Client client(url());
  mortise::Lock lock = client.make_lock("order/1");
  for (int i = 0; i < 20; ++i) {
    mortise::Guard guard(lock, {.wait = 0s});
    ASSERT_TRUE(guard);
    ASSERT_TRUE(holder("order/1").has_value());
    EXPECT_EQ(guard.unlock(), mortise::Released::released);
    EXPECT_FALSE(holder("order/1").has_value());
  }
  EXPECT_EQ(site.with([&] { return model.row_count(); }), 1U);
}

TEST_F(ModelOfPostgres, KeepsTwoClientsApartAndWakesTheWaiter) {
  for (const char* const fair : {"", "&mortise.fair=no"}) {
    mortise::Client one(url(fair));
    mortise::Client other(url(fair));
    mortise::Lock first = one.make_lock(std::string("order/2") + fair);
    mortise::Lock second = other.make_lock(std::string("order/2") + fair);
    mortise::Guard guard(first, {.wait = 0s});
    ASSERT_TRUE(guard);
    EXPECT_FALSE(second.acquire({.wait = 0s}));
    std::thread waiter([&] {
      mortise::Guard late(second, {.wait = 20s});
      EXPECT_TRUE(late);
      EXPECT_GT(late.token().value(), guard.token().value());
    });
    ASSERT_TRUE(mortise::test::eventually(
        [&] { return site.with([&] { return model.row(first.name())->waiters_until > 0; }); }));
    EXPECT_EQ(guard.unlock(), mortise::Released::released);
    waiter.join();
  }
}

TEST_F(ModelOfPostgres, RenewsAndLoses) {
  mortise::Client client(url());
  mortise::Lock lock = client.make_lock("order/3", {.lease = 300ms});
  mortise::Guard guard(lock, {.wait = 0s});
  ASSERT_TRUE(guard);
  const auto before = site.with([&] { return model.row("order/3")->expires_at; });
  EXPECT_TRUE(mortise::test::eventually(
      [&] { return site.with([&] { return model.row("order/3")->expires_at; }) > before; }));
  EXPECT_TRUE(site.with([&] { return model.delete_row("order/3"); }));
  EXPECT_TRUE(mortise::test::eventually([&] { return guard.lost().stop_requested(); }));
}

TEST_F(ModelOfPostgres, SurvivesACrash) {
  mortise::Client client(url());
  mortise::Lock lock = client.make_lock("order/4");
  mortise::Guard guard(lock, {.wait = 0s});
  ASSERT_TRUE(guard);
  site.restart([&] { model.restarted(true); });
  ASSERT_TRUE(holder("order/4").has_value()) << "what was told was not on disk";
  EXPECT_EQ(guard.unlock(), mortise::Released::released);
  EXPECT_TRUE(lock.acquire({.wait = 10s}));
  lock.unlock();
}

// A take whose wait for the standby is cancelled is asked once more. Where that is denied, the
// first one has the name all the same, and nobody would know.
TEST(ModelOfPostgresWithAStandby, GivesBackWhatWasInDoubtAndIsDeniedThen) {
  Loopback site{mortise::model::test_seed()};
  Options options;
  options.standby = Standby::synchronous;
  PostgresModel model{site, options};
  site.serve(model);
  {
    mortise::Client client("postgresql://someone@127.0.0.1:" + std::to_string(site.port()) +
                           "/locks?sslmode=disable");
    client.check(10s);
    mortise::Lock lock = client.make_lock("order/5", {.lease = 60s});
    site.with([&] { model.set_standby_gone(true); });
    std::error_code error;
    std::thread caller([&] { EXPECT_FALSE(lock.acquire({.wait = 20s}, error)); });
    const auto waits = [&] {
      const auto all = model.waits();
      return std::any_of(all.begin(), all.end(),
                         [](const auto& each) { return each.second == "the standby"; });
    };
    EXPECT_TRUE(mortise::test::eventually([&] { return site.with(waits); }));
    site.with([&] {
      model.refuse_takes(true);
      model.cancel_all();
    });
    caller.join();
    EXPECT_EQ(error, mortise::Errc::denied);
    site.with([&] { model.set_standby_gone(false); });
    EXPECT_TRUE(mortise::test::eventually(
        [&] { return site.with([&] { return !model.holder("order/5").has_value(); }); }));
  }
  site.stop();
}

}  // namespace
}  // namespace simulation::postgres
