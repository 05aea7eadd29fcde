// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on PostgreSQL. Method: the scenes of
// broken_scenes.hpp, and crashes that are real ones, with the right functions in the server and
// with a broken one.
#include <mortise/postgres.hpp>

#include "model/broken_scenes.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::PostgresServer;

struct PrivatePostgres {
  // What no commit waits for is on disk late, so that a kill can lose it.
  PostgresServer server{{.settings = {"wal_writer_delay = 10s"}}};
};

struct PostgresPlay : PrivatePostgres, ServerPlay {
  PostgresPlay()
      : ServerPlay([this] { return postgres::backend(server.url()); },
                   // Time for a session's first statement on a slow machine, and to release.
                   {.unrenewed = {.lease = 600ms, .renew = false},
                    .lasting = {.lease = 20s, .renew = false},
                    .renewed = {.lease = 300ms}}) {
    postgres::migrate(server.owner_url(), {.role = test::postgres_application});
  }

  // Has a function of the library's do something else.
  void break_function(const std::string& name, const std::string& right, const std::string& wrong) {
    test::PostgresTalk talk = server.talk();
    std::string text = talk.value("select pg_get_functiondef(('mortise.' || $1)::regproc)", {name});
    std::size_t at = text.find(right);
    if (at == std::string::npos) throw std::logic_error(name + "() has no \"" + right + "\"");
    for (; at != std::string::npos; at = text.find(right, at + wrong.size())) {
      text.replace(at, right.size(), wrong);
    }
    talk.run(text);
  }
  Wrap break_releases(const std::shared_ptr<HeldMessages>& messages) override {
    break_function("release_row", "l.attempt <> me OR l.number <> my_number", "false");
    return hold_back_releases(messages);
  }
  // Has grants be told before they are on disk, in the plain case and in the others.
  void tell_too_early() {
    break_function("take", "THEN l.number::pg_catalog.text ELSE",
                   "AND pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL"
                   " THEN l.number::pg_catalog.text ELSE");
    break_function("promise",
                   "current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
                   "true");
    break_function("promise", "'synchronous_commit', 'on'", "'synchronous_commit', 'off'");
    break_function("take", "'synchronous_commit', 'on'", "'synchronous_commit', 'off'");
  }
  void kill_and_start() {
    server.kill();
    server.start();
  }
};

class BrokenPostgres : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_POSTGRES_SERVER(); }
};

TEST_F(BrokenPostgres, ALeaseCountedFromTheReplyIsCaught) {
  expect_caught<PostgresPlay>(Fault::overlap, scenes::late_reply);
}

TEST_F(BrokenPostgres, AReleaseThatFreesWhoeverHoldsIsCaught) {
  expect_caught<PostgresPlay>(Fault::overlap, scenes::late_release);
}

// A holds; the server is killed and comes back; B tries.
Report crash_under_a_holder(PostgresPlay& play, bool broken) {
  play.server.talk().run("alter role shop set synchronous_commit = off");
  if (broken) play.tell_too_early();
  Actor a(play, {}, play.leases.lasting);
  Actor b(play, {}, play.leases.lasting);
  // What a kill loses is the server's to say: some times, until it has lost a grant.
  const int most = broken ? 5 : 1;
  bool both = false;
  for (int time = 0; time < most && !both; ++time) {
    EXPECT_TRUE(a.take(scene_patience));
    play.kill_and_start();
    both = b.take(1s);
    if (both) b.give_back();
    a.give_back();
  }
  EXPECT_EQ(both, broken);
  return play.check();
}

TEST_F(BrokenPostgres, AGrantThatIsNotOnDiskIsCaught) {
  expect_caught<PostgresPlay>(Fault::overlap, crash_under_a_holder);
}

// Numbers that only count, and whose last ones are forgotten in a crash.
Report tokens_over_a_crash(PostgresPlay& play, bool broken) {
  if (broken) {
    play.tell_too_early();
    play.break_function("take", "extract(epoch FROM pg_catalog.clock_timestamp())", "0.000001");
    play.break_function("take_row", "extract(epoch FROM t)", "0.000001");
  }
  // A release that the crash undoes costs its lease.
  const LockOptions brief{.lease = 1s, .renew = false};
  Actor a(play, {}, brief);
  Actor b(play, {}, brief);
  // What a kill loses is the server's to say: it writes its log a page at a time. So this begins on
  // a page of its own, and happens more than once.
  const int times = broken ? 3 : 1;
  for (int kill = 0; kill < times; ++kill) {
    play.server.talk().run("select pg_catalog.pg_switch_wal()");
    for (int time = 0; time < 3; ++time) {
      EXPECT_TRUE(a.take(scene_patience));
      a.give_back();
    }
    play.kill_and_start();
    EXPECT_TRUE(b.take(scene_patience));
    b.give_back();
  }
  return play.check();
}

TEST_F(BrokenPostgres, ATokenThatACrashForgetsIsCaught) {
  expect_caught<PostgresPlay>(Fault::token_repeated, tokens_over_a_crash);
}

TEST_F(BrokenPostgres, AResourceThatTakesOldTokensIsCaught) {
  expect_old_tokens_caught<PostgresPlay>();
}

}  // namespace
}  // namespace mortise::model
