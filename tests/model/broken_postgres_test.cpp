// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on PostgreSQL, with processes, leases
// and crashes that are real ones. Method: scenes that the test directs step by step; each is found
// good with the right functions in the server, and must be caught with a broken one. Nothing
// depends on how quick the machine is: the next holder is waited for, not timed.
#include <mortise/postgres.hpp>

#include "model/actor.hpp"
#include "model/broken_backends.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/eventually.hpp"
#include "support/postgres_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::PostgresServer;

constexpr std::chrono::seconds patience{20};
const LockOptions unrenewed{.lease = 150ms, .renew = false};
const LockOptions lasting{.lease = 20s, .renew = false};

struct PrivatePostgres {
  // What no commit waits for is on disk late, so that a kill can lose it.
  PostgresServer server{{.settings = {"wal_writer_delay = 10s"}}};
};

struct PostgresPlay : PrivatePostgres, Play {
  PostgresPlay() : Play([this] { return postgres::backend(server.url()); }) {
    postgres::migrate(server.owner_url(), {.role = test::postgres_application});
  }

  // Has a function of the library's do something else.
  void break_function(const std::string& name, const std::string& right, const std::string& wrong) {
    test::PostgresTalk talk = server.talk();
    std::string text = talk.value("select pg_get_functiondef(('mortise.' || $1)::regproc)", {name});
    const std::size_t at = text.find(right);
    if (at == std::string::npos) throw std::logic_error(name + "() has no \"" + right + "\"");
    while (text.find(right) != std::string::npos)
      text.replace(text.find(right), right.size(), wrong);
    talk.run(text);
  }
  // Has grants be told before they are on disk, in the plain case and in the others.
  void tell_too_early() {
    break_function("take", "RETURNING l.number::pg_catalog.text",
                   "RETURNING CASE WHEN pg_catalog.set_config('synchronous_commit', 'off', true)"
                   " IS NOT NULL THEN l.number::pg_catalog.text END");
    break_function("take_row",
                   "current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')",
                   "true");
    break_function("take_row", "'synchronous_commit', 'on'", "'synchronous_commit', 'off'");
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

// A's answer is on its way until A's lease has ended and B has the name.
Report late_reply(bool broken) {
  PostgresPlay play;
  const auto mail = std::make_shared<Mail>();
  const Wrap by_mail = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (broken) return std::make_unique<CountsFromTheAnswer>(std::move(behind), mail);
    return std::make_unique<AnswerRelay>(std::move(behind), mail);
  };
  Actor a(play, by_mail, unrenewed);
  Actor b(play, {}, lasting);
  mail->hold_back();
  std::future<bool> taken = a.start_taking(patience);
  EXPECT_TRUE(eventually([&] { return mail->held_back() == 1; }));
  EXPECT_TRUE(b.take(patience));
  mail->let_go();
  if (broken) {
    EXPECT_TRUE(taken.get());
    b.give_back();
  } else {
    b.give_back();
    EXPECT_TRUE(taken.get());  // it has asked anew
  }
  a.give_back();
  return play.check();
}

TEST_F(BrokenPostgres, ALeaseCountedFromTheReplyIsCaught) {
  const Report right = late_reply(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_reply(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// A's release is on its way until A's lease has ended and B has the name.
Report late_release(bool broken) {
  PostgresPlay play;
  if (broken)
    play.break_function("release_row", "l.attempt <> me OR l.number <> my_number", "false");
  const auto mail = std::make_shared<Mail>();
  Actor a(
      play,
      [&](std::unique_ptr<Backend> behind) {
        return std::make_unique<ReleaseRelay>(std::move(behind), mail);
      },
      unrenewed);
  Actor b(play, {}, lasting);
  Actor c(play, {}, lasting);
  EXPECT_TRUE(a.take());
  mail->hold_back();
  const std::future<void> given_back = a.start_giving_back();
  EXPECT_TRUE(b.take(patience));
  mail->let_go();
  given_back.wait();
  EXPECT_EQ(c.take(), broken);
  b.give_back();
  if (broken) c.give_back();
  return play.check();
}

TEST_F(BrokenPostgres, AReleaseThatFreesWhoeverHoldsIsCaught) {
  const Report right = late_release(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_release(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// A holds; the server is killed and comes back; B tries.
Report crash_under_a_holder(bool broken) {
  PostgresPlay play;
  play.server.talk().run("alter role shop set synchronous_commit = off");
  if (broken) play.tell_too_early();
  Actor a(play, {}, lasting);
  Actor b(play, {}, lasting);
  EXPECT_TRUE(a.take(patience));
  play.kill_and_start();
  EXPECT_EQ(b.take(1s), broken);
  if (broken) b.give_back();
  a.give_back();
  return play.check();
}

TEST_F(BrokenPostgres, AGrantThatIsNotOnDiskIsCaught) {
  const Report right = crash_under_a_holder(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = crash_under_a_holder(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// Numbers that only count, and whose last ones are forgotten in a crash.
Report tokens_over_a_crash(bool broken) {
  PostgresPlay play;
  if (broken) {
    play.tell_too_early();
    play.break_function("take", "extract(epoch FROM pg_catalog.clock_timestamp())", "0.000001");
    play.break_function("take_row", "extract(epoch FROM t)", "0.000001");
  }
  // A release that the crash undoes costs its lease.
  const LockOptions brief{.lease = 1s, .renew = false};
  Actor a(play, {}, brief);
  Actor b(play, {}, brief);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(a.take(patience));
    a.give_back();
  }
  play.kill_and_start();
  EXPECT_TRUE(b.take(patience));
  b.give_back();
  return play.check();
}

TEST_F(BrokenPostgres, ATokenThatACrashForgetsIsCaught) {
  const Report right = tokens_over_a_crash(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = tokens_over_a_crash(true);
  EXPECT_TRUE(wrong.has(Fault::token_repeated)) << wrong.text();
}

// What the test and the process of the stopped holder tell each other.
struct Signals {
  std::atomic<bool> holds{false};
  std::atomic<bool> goes_on{false};
  std::atomic<bool> knows{false};     // at its first look
  std::atomic<bool> accepted{false};  // its last write
};

int hold_and_be_stopped(Play& play, const contract::Shared<Signals>& signals) {
  ResourceClient client(play.directory.path());
  Actor actor(play, {}, {.lease = 300ms});
  if (!actor.take(patience) || !actor.write(client)) return 1;
  signals->holds = true;
  if (!eventually([&] { return signals->goes_on.load(); })) return 2;
  signals->knows = !actor.look();
  signals->accepted = actor.write(client);
  actor.give_back();
  return 0;
}

// A is stopped by SIGSTOP in the middle of its work, beyond its lease; B takes the name and writes;
// A goes on with its write.
void stopped_holder(bool fenced) {
  PostgresPlay play;
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path(), {.fenced = fenced});
  ResourceClient client(play.directory.path());
  const contract::Shared<Signals> signals;
  Process a = Process::fork_child([&] { return hold_and_be_stopped(play, signals); });
  play.processes = 1;
  ASSERT_TRUE(eventually([&] { return signals->holds.load(); }));
  ASSERT_TRUE(a.stop());
  Actor b(play, {}, lasting);
  EXPECT_TRUE(b.take(patience));
  EXPECT_TRUE(b.write(client));
  signals->goes_on = true;
  a.resume();
  const std::optional<Exit> exit = a.wait_for(patience);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 0);
  b.give_back();
  EXPECT_TRUE(signals->knows);
  EXPECT_EQ(signals->accepted, !fenced);
  const Report report = play.check();
  EXPECT_EQ(report.ok(), fenced) << report.text();
  EXPECT_EQ(report.has(Fault::stale_write), !fenced) << report.text();
}

TEST_F(BrokenPostgres, AResourceThatTakesOldTokensIsCaught) {
  stopped_holder(true);
  stopped_holder(false);
}

}  // namespace
}  // namespace mortise::model
