// SPDX-License-Identifier: MIT
// Goal: who waits is woken by the release, writes nothing while it waits, and gives its connections
// back. Method: a private server, whose own views tell when the waiter has stopped looking by
// itself.
#include <mortise/mortise.hpp>
#include <mortise/postgres.hpp>

#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;
using contract::Worker;
using test::eventually;

class PostgresWaiting : public ::testing::Test {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_POSTGRES_SERVER();
    server_.emplace();
    migrate(server_->owner_url(), {.role = test::postgres_application});
    talk_.emplace(server_->talk());
  }
  Client client() { return Client(server_->url() + "?mortise.pooled=no"); }
  /// @return whether a client listens, and nobody has asked anything lately.
  bool quiet() {
    return talk_->value(
               "select bool_or(query like 'LISTEN%') and not bool_or(query not like 'LISTEN%' and "
               "clock_timestamp() - query_start < '300 ms') from pg_stat_activity where usename = "
               "'" +
               std::string(test::postgres_application) + "'") == "t";
  }
  /// One client holds the name, and another waits for it.
  class Wait {
   public:
    explicit Wait(PostgresWaiting& test) : one_(test.client()), other_(test.client()) {
      held_.lock();
      served_ = waiter_.start([this] {
        wanted_.lock();
        wanted_.unlock();
      });
    }
    [[nodiscard]] Lock& held() { return held_; }
    void end() {
      held_.unlock();
      served_.get();
    }

   private:
    Client one_;
    Client other_;
    Lock held_ = one_.make_lock("name");
    Lock wanted_ = other_.make_lock("name");
    Worker waiter_;
    std::future<void> served_;
  };

  std::optional<test::PostgresServer> server_;
  std::optional<test::PostgresTalk> talk_;
};

TEST_F(PostgresWaiting, IsEndedByTheNotificationOfTheRelease) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  Worker waiter;
  std::chrono::nanoseconds sum{0};
  for (int round = 0; round < 4; ++round) {
    held.lock();
    auto served = waiter.start([&] {
      wanted.lock();
      wanted.unlock();
    });
    ASSERT_TRUE(eventually([&] { return quiet(); })) << "it never stops looking";
    sum += test::own_duration_of([&] {
      held.unlock();
      served.get();
    });
  }
  // By its own looks it would be served half a second later, on average.
  EXPECT_LT(sum, 1s);
}

TEST_F(PostgresWaiting, WritesNothing) {
  Wait wait(*this);
  ASSERT_TRUE(eventually([&] { return quiet(); }));
  // Which transaction would be the next to write something.
  const std::string before = talk_->value("select pg_snapshot_xmax(pg_current_snapshot())");
  const std::string asked = talk_->value(
      "select max(query_start) from pg_stat_activity where query like '%mortise.take%'");
  ASSERT_TRUE(eventually([&] {
    return talk_->value(
               "select count(*) from pg_stat_activity where query like '%mortise.take%' "
               "and query_start > $1::timestamptz + interval '1.5 s'",
               {asked}) != "0";
  })) << "it does not look each second";
  EXPECT_EQ(talk_->value("select pg_snapshot_xmax(pg_current_snapshot())"), before);
  wait.end();
}

TEST_F(PostgresWaiting, KeepsNoConnectionThatNobodyUses) {
  Wait wait(*this);
  ASSERT_TRUE(eventually([&] { return quiet(); }));
  wait.end();
  EXPECT_TRUE(eventually([&] {
    return talk_->value("select count(*) from pg_stat_activity where usename = $1",
                        {test::postgres_application}) == "2";
  })) << "one for each client is enough";
  wait.held().lock();  // and all still works
  wait.held().unlock();
}

}  // namespace
}  // namespace mortise::postgres
