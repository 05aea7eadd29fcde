// SPDX-License-Identifier: MIT
// Goal: where a commit waits for a standby, nothing is told before that has it, whoever ends the
// wait (S1); and a standby that is gone costs the server no more processes than the page says (L7).
// Method: a standby that must confirm each commit and does not exist; pg_cancel_backend(), a
// shutdown and a crash during the wait.
#include "fault/postgres_lost_standby.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

class PostgresStandby : public PostgresLostStandby {
 protected:
  [[nodiscard]] std::size_t backends() {
    return std::stoul(see(std::string("select count(*) from (") + sessions + ") as s"));
  }
  /// A grant that is committed here and nowhere else is not told; it is once a standby has it.
  void expect_no_grant_by_cancel(const std::string& url) {
    ASSERT_NO_FATAL_FAILURE(lose_standby());
    Party taker(Client(url), "a");
    auto taken = taker.start();
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(eventually([&] { return is_committing(); })) << round;
      ASSERT_GT(cancel_waits(), 0U);
      EXPECT_FALSE(comes_within(taken, 200ms)) << "told what no standby has";
    }
    EXPECT_TRUE(is_held("a")) << "it is not what this test is about";
    find_standby();
    ASSERT_TRUE(comes(taken));
    EXPECT_EQ(grant_of(taken.get()), number("a"));
    EXPECT_EQ(taker.release(), Released::released);
  }
  /// As many backends as it may have, while the standby is gone. @return the most that were seen
  std::size_t try_names_for(std::chrono::milliseconds span, std::size_t threads,
                            const std::string& url) {
    std::size_t most = 0;
    std::atomic<bool> over{false};
    Client mine(url);
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        for (int round = 0; !over.load(); ++round) {
          Lock lock = mine.make_lock(std::to_string(i) + "/" + std::to_string(round % 5));
          std::error_code error;
          if (lock.try_lock_for(300ms, error)) lock.unlock();
        }
      });
    }
    const auto end = std::chrono::steady_clock::now() + span;
    while (std::chrono::steady_clock::now() < end) {
      most = std::max(most, backends());
      std::this_thread::sleep_for(50ms);
    }
    over.store(true);
    all.clear();
    // When it is over they work again, and nothing is left behind.
    find_standby();
    Lock lock = mine.make_lock("after");
    EXPECT_TRUE(lock.try_lock_for(patience));
    lock.unlock();
    EXPECT_TRUE(eventually([&] {
      return see("select count(*) from mortise.lock where expires_at > clock_timestamp()") == "0";
    })) << "a grant that came late is an orphaned grant";
    return most;
  }
  /// The only connection does not answer, and somebody in between is why.
  template <class Afterwards>
  void expect_no_wait_for_a_frozen_one(Afterwards afterwards) {
    Proxy proxy(server().port(), {.protocol = test::ProxyProtocol::postgres});
    Client mine(PostgresServer::url_by(proxy.port()) + "?mortise.connections=1");
    Lock lock = mine.make_lock("a", {.lease = 60s});
    lock.lock();
    ASSERT_GT(proxy.freeze(true), 0U);
    std::error_code error;
    Lock other = mine.make_lock("b", {.lease = 60s});
    EXPECT_FALSE(other.try_lock_for(1500ms, error));
    afterwards();
    EXPECT_TRUE(other.try_lock_for(12s)) << "the only connection is waited for, for ever";
  }
};
class PostgresStandbyLong : public PostgresStandby {};

TEST_F(PostgresStandby, AGrantWhoseWaitIsCancelledIsNotTold) {
  expect_no_grant_by_cancel(server().url());
}

TEST_F(PostgresStandby, NorWhereTheRoleHearsNoWarnings) {
  server().talk().run("alter role shop set client_min_messages = error");
  expect_no_grant_by_cancel(server().url());
}

TEST_F(PostgresStandby, NorOnASessionThatMayBeAnybodys) {
  server().talk().run("alter role shop set client_min_messages = error");
  server().talk().run("alter role shop set synchronous_commit = local");
  expect_no_grant_by_cancel(server().url() + "?mortise.pooled=yes");
}

TEST_F(PostgresStandby, ARenewalWhoseWaitIsCancelledIsNone) {
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock lock = mine.make_lock("a", {.lease = 1500ms});
  lock.lock();
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  const std::size_t before = record->count(Record::Kind::renewed);
  std::size_t cancelled = 0;
  EXPECT_TRUE(eventually([&] {
    cancelled += cancel_waits();
    return lock.lost().stop_requested();
  })) << "it believes in renewals that no standby has";
  EXPECT_GT(cancelled, 0U);
  // One may have been under way to the standby that there was.
  EXPECT_LE(record->count(Record::Kind::renewed), before + 1);
  find_standby();
}

// Or its row would be locked until there is a standby: for the holder's release, too.
TEST_F(PostgresStandby, WhoHasToWaitAndWhoGivesUpWaitsForNone) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s, .renew = false});
  lock.lock();
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  PostgresTalk waiter = server().user();
  const std::vector<std::string> calls{"take('a', '\\x01', 1000000, '', 11, '', 'infinity')",
                                       "take('a', '\\x02', 1000000, '', 3, '', 'infinity')",
                                       "cancel('a', '\\x02', false)"};
  for (const std::string& call : calls) {
    waiter.send("select mortise." + call);
    ASSERT_TRUE(waiter.answered(patience)) << call;
  }
  EXPECT_EQ(see("select count(*) from mortise.ticket"), "1");
  EXPECT_EQ(lock.release(), Released::released);
  find_standby();
}

TEST_F(PostgresStandby, ThatIsGoneFailsTheCheck) {
  Client mine = client();
  mine.check(patience);
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  EXPECT_EQ(failure_of([&] { mine.check(1s); }).code, Errc::unavailable);
  find_standby();
  mine.check(patience);
}

TEST_F(PostgresStandby, AShutdownOrACrashDuringTheWaitTellsNothing) {
  for (const bool crash : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(lose_standby());
    Party taker(client(), crash ? "crash" : "shutdown");
    auto taken = taker.start();
    ASSERT_TRUE(eventually([&] { return is_committing(); }));
    crash ? server().crash() : server().shutdown();
    EXPECT_FALSE(comes_within(taken, 200ms));
    server().start();
    EXPECT_FALSE(comes_within(taken, 500ms)) << "told what no standby has";
    find_standby();
    ASSERT_TRUE(comes(taken));
    EXPECT_EQ(taker.release(), Released::released);
  }
}

TEST_F(PostgresStandby, ThatIsGoneCostsNoMoreProcessesThanThePageSays) {
  static_cast<void>(server());
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  // Two for statements, and one that listens.
  EXPECT_LE(try_names_for(5s, 6, server().url() + "?mortise.connections=2"), 2U + 1U);
}

TEST_F(PostgresStandbyLong, ThatIsGoneCostsNoMoreProcessesThanThePageSays) {
  static_cast<void>(server());
  ASSERT_NO_FATAL_FAILURE(lose_standby());
  const std::size_t most = try_names_for(18s, 16, server().url());
  EXPECT_LE(most, 8U + 1U);
  std::printf("backends of the application in 18 s without its standby: at most %zu\n", most);
}

// Somebody in between has lost the connection, and no side learns of it: the server does.
TEST_F(PostgresStandby, AConnectionWhoseProcessHasGoneIsNotKept) {
  expect_no_wait_for_a_frozen_one([this] { terminate_all(); });
}

// Nor one that somebody in between holds on both sides, and forwards nothing of: the process lives,
// and has nothing to do.
TEST_F(PostgresStandbyLong, NorOneWhoseProcessIsIdle) {
  expect_no_wait_for_a_frozen_one([] {});
}

}  // namespace
}  // namespace mortise::fault
