// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on Redis, with processes, leases and a
// restart that are real ones. Method: scenes that the test directs step by step; each is found good
// with the right backend and must be caught with the broken one. Nothing depends on how quick the
// machine is: the next holder is waited for, not timed.
#include <mortise/redis.hpp>

#include "model/actor.hpp"
#include "model/broken_backends.hpp"
#include "model/process.hpp"
#include "redis/lock_key.hpp"
#include "support/contract_process.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServer;
using Persistence = test::RedisServerOptions::Persistence;

constexpr std::chrono::seconds patience{20};
const LockOptions unrenewed{.lease = 150ms, .renew = false};
const LockOptions lasting{.lease = 20s, .renew = false};

RedisServer::Options keeping(Persistence persistence) {
  RedisServer::Options options;
  options.persistence = persistence;
  return options;
}

struct PrivateRedis {
  RedisServer server;

  std::string field(const std::string& name) const {
    return server.talk().expect_ok({"HGET", redis::lock_key("mortise:", "n"), name}).text;
  }
};

struct RedisPlay : PrivateRedis, Play {
  explicit RedisPlay(Persistence persistence = Persistence::none)
      : PrivateRedis{RedisServer(keeping(persistence))},
        Play([this] { return redis::backend(server.url()); }) {}

  // Whether there are so many waiters in the server's queue.
  bool wait_in_line(const std::string& count) {
    return eventually([&] { return field("w") == count; });
  }
};

class BrokenRedis : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_SERVER(); }
};

Wrap by_mail(bool broken, const std::shared_ptr<Mail>& mail) {
  return [broken, mail](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (broken) return std::make_unique<CountsFromTheAnswer>(std::move(behind), mail);
    return std::make_unique<AnswerRelay>(std::move(behind), mail);
  };
}

// A's reply is on its way until the server's lease has ended and B has the name.
Report late_reply(bool broken) {
  RedisPlay play;
  const auto mail = std::make_shared<Mail>();
  Actor a(play, by_mail(broken, mail), unrenewed);
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
    EXPECT_TRUE(play.wait_in_line("1"));  // it asks anew
    b.give_back();
    EXPECT_TRUE(taken.get());
  }
  a.give_back();
  return play.check();
}

TEST_F(BrokenRedis, ALeaseCountedFromTheReplyIsCaught) {
  const Report right = late_reply(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_reply(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// The same with a grant that is pushed to A, who waits for C.
Report late_push(bool broken) {
  RedisPlay play;
  const auto mail = std::make_shared<Mail>();
  Actor a(play, by_mail(broken, mail), unrenewed);
  Actor b(play, {}, lasting);
  Actor c(play, {}, lasting);
  EXPECT_TRUE(c.take());
  mail->hold_back();
  std::future<bool> taken = a.start_taking(patience);
  EXPECT_TRUE(play.wait_in_line("1"));
  c.give_back();
  EXPECT_TRUE(eventually([&] { return mail->held_back() == 1; }));
  EXPECT_TRUE(b.take(patience));
  mail->let_go();
  if (broken) {
    EXPECT_TRUE(taken.get());
    b.give_back();
  } else {
    EXPECT_TRUE(play.wait_in_line("1"));
    b.give_back();
    EXPECT_TRUE(taken.get());
  }
  a.give_back();
  return play.check();
}

TEST_F(BrokenRedis, ALeaseCountedFromThePushIsCaught) {
  const Report right = late_push(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_push(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// A's release is on its way until A's lease has ended and B has the name.
Report late_release(bool broken) {
  RedisPlay play;
  const auto mail = std::make_shared<Mail>();
  const auto free = [&play](const std::string& name) {
    play.server.talk().expect_ok({"HDEL", redis::lock_key("mortise:", name), "g"});
  };
  Actor a(
      play,
      [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
        if (broken) return std::make_unique<FreesWhoeverHolds>(std::move(behind), mail, free);
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

TEST_F(BrokenRedis, AReleaseThatFreesWhoeverHoldsIsCaught) {
  const Report right = late_release(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_release(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// Numbers from INCR instead of those of the lock; the server restarts between A's holds and B's.
Report restart(bool broken, Persistence persistence) {
  RedisPlay play(persistence);
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path());
  ResourceClient client(play.directory.path());
  const Wrap wrap = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (!broken) return behind;
    return std::make_unique<CountsApart>(std::move(behind), [&play] {
      const test::RedisAnswer next = play.server.talk().expect_ok({"INCR", "numbers"});
      return static_cast<std::uint64_t>(next.integer);
    });
  };
  Actor a(play, wrap, lasting);
  Actor b(play, wrap, lasting);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(a.write(client));
    a.give_back();
  }
  play.server.restart();
  EXPECT_TRUE(b.take(patience));
  // Or a right holder is refused by the resource, since the token that it was given is old.
  EXPECT_EQ(b.write(client), !broken || persistence == Persistence::always);
  b.give_back();
  return play.check();
}

TEST_F(BrokenRedis, ATokenThatRestartsWithTheServerIsCaught) {
  const Report right = restart(false, Persistence::none);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report kept = restart(true, Persistence::always);
  EXPECT_TRUE(kept.ok()) << kept.text();
  const Report wrong = restart(true, Persistence::none);
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
  RedisPlay play;
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
  EXPECT_EQ(resource.statistics().refused, fenced ? 1U : 0U);
}

TEST_F(BrokenRedis, AResourceThatTakesOldTokensIsCaught) {
  stopped_holder(true);
  stopped_holder(false);
}

}  // namespace
}  // namespace mortise::model
