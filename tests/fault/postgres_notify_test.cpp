// SPDX-License-Identifier: MIT
// Goal: a release depends on nothing that others do to NOTIFY, whose commit takes a lock of the
// whole cluster (L4); those who wait are told as soon as that can be had. Method: a session of
// another database that has that lock, and sixteen that take it without pause.
#include "fault/postgres_fixture.hpp"
#include "support/force.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

// The lock that a NOTIFY takes at commit is database 0 (src/backend/commands/async.c). It is held
// until the end of that commit, which a standby that does not exist delays where it writes, too.
class PostgresNotify : public PostgresTest {
 protected:
  /// Somebody of another database, whose NOTIFY is in the middle of its commit.
  class Notifier {
   public:
    explicit Notifier(const PostgresServer& server)
        : server_(server), talk_(server.talk("postgres")) {
      PostgresTalk settings = server.talk("postgres");
      settings.run("create table written (i int)");
      settings.run("alter system set synchronous_standby_names = 'nobody'");
      settings.run("select pg_reload_conf()");
      EXPECT_TRUE(eventually([&] {
        talk_.send("insert into written values (1); notify other");
        return !talk_.answered(100ms);
      }));
    }
    /// Stops it there. What others write waits for a standby no more, and what they tell for this.
    void stop() {
      ASSERT_EQ(::kill(talk_.server_process(), SIGSTOP), 0);
      PostgresTalk settings = server_.talk("postgres");
      settings.run("alter system reset synchronous_standby_names");
      settings.run("select pg_reload_conf()");
      settings.run("set statement_timeout = '100ms'");
      ASSERT_TRUE(
          eventually([&] { return settings.refusal("insert into written values (2)").empty(); }));
    }
    ~Notifier() {
      ::kill(talk_.server_process(), SIGCONT);
      PostgresTalk settings = server_.talk("postgres");
      settings.run("alter system reset synchronous_standby_names");
      settings.run("select pg_reload_conf()");
      EXPECT_TRUE(talk_.answered(patience));
    }
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;

   private:
    const PostgresServer& server_;
    PostgresTalk talk_;
  };
  /// @return how long each of so many hand-offs took, from one client to another, sorted.
  std::vector<std::chrono::microseconds> hand_offs(int rounds) {
    std::vector<std::chrono::microseconds> took;
    Client theirs = client();
    Lock lock = theirs.make_lock("a");
    Party waiter(client(), "a");
    for (int round = 0; round < rounds; ++round) {
      EXPECT_TRUE(lock.try_lock_for(patience));
      auto served = waiter.start();
      EXPECT_TRUE(waiter.worker().falls_asleep());
      std::this_thread::sleep_for(5ms);  // it waits in earnest: nothing is sure, this is a figure
      const auto before = std::chrono::steady_clock::now();
      EXPECT_EQ(lock.release(), Released::released);
      EXPECT_TRUE(comes(served));
      took.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - before));
      EXPECT_EQ(waiter.release(), Released::released);
    }
    std::sort(took.begin(), took.end());
    return took;
  }
};
class PostgresNotifyLong : public PostgresNotify {};

TEST_F(PostgresNotify, OfAnotherDatabaseDelaysNoRelease) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  Lock other = mine.make_lock("b", {.lease = 20s});
  lock.lock();
  other.lock();
  Party waiter(client(), "a", {.lease = 20s});
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  {
    const Notifier notifier(server());
    // Releases wait for no standby, and so for nothing.
    Released outcome{};
    EXPECT_LT(own_duration_of([&] { outcome = lock.release(); }), 500ms);
    EXPECT_EQ(outcome, Released::released);
    EXPECT_FALSE(is_held("a"));
    ASSERT_TRUE(eventually([&] {
      return see("select count(*) from pg_locks where locktype = 'object' and classid = 1262"
                 " and objid = 0 and not granted") == "1";
    })) << "nobody is told by NOTIFY: this test is about nothing";
    // Whoever knocks at that door does not stand in the way of others.
    EXPECT_EQ(other.release(), Released::released);
  }
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

// It is on disk, and at the standbys, before it is told: there is none here.
TEST_F(PostgresNotify, OfAnotherDatabaseDelaysNoReleaseByForce) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  Party waiter(client(), "a", {.lease = 20s});
  auto served = waiter.start();
  ASSERT_TRUE(comes_to_wait("a"));
  {
    Notifier notifier(server());
    ASSERT_NO_FATAL_FAILURE(notifier.stop());
    std::vector<Holder> ended;
    EXPECT_LT(
        own_duration_of([&] { ended = test::force_release(server().owner_url(), "a", patience); }),
        500ms);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended.front().token, lock.token());
    ASSERT_TRUE(eventually([&] {
      return see("select count(*) from pg_locks where locktype = 'object' and classid = 1262"
                 " and objid = 0 and not granted") == "1";
    })) << "nobody is told by NOTIFY: this test is about nothing";
  }
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

// A release says that somebody waits; its client has that one told.
TEST_F(PostgresNotify, IsDoneBehindTheRelease) {
  PostgresTalk talk = server().user();
  talk.run("listen mortise");
  PostgresTalk user = server().user();
  const auto take = [&] {
    return user.value("select mortise.take('a', '\\x01', 20000000, '', 0, '', 'infinity')");
  };
  std::string number = take();
  server().talk().run("update mortise.lock set waiters_until = now() + interval '1 minute'");
  EXPECT_EQ(user.value("select mortise.release('a', '\\x01', " + number + ", 0)"), "T");
  EXPECT_EQ(talk.notification(100ms), std::nullopt) << "the release waits for others";
  user.run("select mortise.wake('{a}')");
  EXPECT_EQ(talk.notification(patience), "61");
  number = take();
  user.run("select mortise.wake('{a}')");
  EXPECT_EQ(talk.notification(100ms), std::nullopt) << "told of what is held";
}

// Notifications come on a connection of their own. Without it the waiter looks once per second; the
// refusal may be an administrator's mistake of a minute.
TEST_F(PostgresNotify, AreListenedForAgainAfterARefusal) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a", {.lease = 60s});
  lock.lock();
  Party waiter(client(), "a");
  waiter.client().check(patience);
  const auto connections = [&] {
    return see(std::string("select count(*) from (") + sessions + ") as all_of_them");
  };
  ASSERT_EQ(connections(), "2");
  server().talk().run("alter role shop nologin");
  auto served = waiter.start();
  EXPECT_TRUE(comes_to_wait("a"));
  EXPECT_TRUE(eventually([&] {
    return server().log().find("not permitted to log in") != std::string::npos;
  })) << "nothing was refused: this test is about nothing";
  server().talk().run("alter role shop login");
  EXPECT_TRUE(eventually([&] { return connections() == "3"; })) << "it never listens again";
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

/// Sixteen sessions of another database that say the same without pause, until this goes. All of
/// them, and the server's processes that serve them, share one processor: what they cost others is
/// then what they lock, and not the time of all processors.
class Noise {
 public:
  Noise(const PostgresServer& server, std::string statement) {
    for (int i = 0; i < 16; ++i) {
      sessions_.emplace_back([this, &server, statement] {
        PostgresTalk talk = server.talk("postgres");
        stay_together(0);
        stay_together(talk.server_process());
        while (!over_.load()) talk.run(statement);
      });
    }
  }
  ~Noise() { over_.store(true); }
  Noise(const Noise&) = delete;
  Noise& operator=(const Noise&) = delete;

 private:
  static void stay_together(pid_t process) {
    cpu_set_t allowed;
    ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
    cpu_set_t first;
    CPU_ZERO(&first);
    std::size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    CPU_SET(cpu, &first);
    ASSERT_EQ(::sched_setaffinity(process, sizeof first, &first), 0);
  }

  std::atomic<bool> over_{false};
  std::vector<std::jthread> sessions_;
};

// Sixteen sessions that only ask show what the processor costs that they share; what is above
// that, NOTIFY's lock would have cost.
TEST_F(PostgresNotifyLong, WithoutPauseElsewhereMakesNoHandOffTwiceAsLong) {
  const auto percentile = [](const auto& sorted, std::size_t of_hundred) {
    return static_cast<double>(
               sorted[std::min(sorted.size() - 1, sorted.size() * of_hundred / 100)].count()) /
           1000;
  };
  struct Beside {
    const char* who;
    const char* statement;
    std::vector<std::chrono::microseconds> took{};
  };
  std::array<Beside, 3> all{
      {{"nobody", ""}, {"16 that notify", "notify other"}, {"16 that only ask", "select 1"}}};
  for (int round = 0; round < 3; ++round) {
    for (Beside& each : all) {
      std::optional<Noise> noise;
      if (*each.statement != '\0') noise.emplace(server(), each.statement);
      const auto took = hand_offs(200);
      each.took.insert(each.took.end(), took.begin(), took.end());
    }
  }
  for (Beside& each : all) {
    std::sort(each.took.begin(), each.took.end());
    std::printf("hand-off beside %s, ms: p50 %.2f p99 %.2f\n", each.who, percentile(each.took, 50),
                percentile(each.took, 99));
  }
  const double notify = percentile(all[1].took, 99);
  EXPECT_LT(notify, 2 * percentile(all[0].took, 99));
  // Before: a second for the release, and 25 to 30 for the waiter.
  EXPECT_LT(notify, 500);
}

}  // namespace
}  // namespace mortise::fault
