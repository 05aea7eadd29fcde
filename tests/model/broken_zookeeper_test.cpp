// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on ZooKeeper, with processes, sessions
// and a queue that are real ones. Method: scenes that the test directs step by step; each is found
// good with the right backend and must be caught with the broken one. The next holder is waited
// for, not timed.
#include <mortise/zookeeper.hpp>

#include "model/actor.hpp"
#include "model/broken_backends.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/eventually.hpp"
#include "support/zookeeper_locks.hpp"
#include "support/zookeeper_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::ZooKeeperLocks;
using test::ZooKeeperServer;
using test::ZooKeeperTalk;

constexpr std::chrono::seconds patience{20};
constexpr const char* in_short = "?session=800ms&margin=100ms";
const LockOptions unrenewed{.lease = 800ms, .renew = false};
const LockOptions renewed{.lease = 800ms};

struct PrivatePath {
  const std::string root = ZooKeeperServer::fresh_root();
  ZooKeeperServer& server = ZooKeeperServer::shared();

  [[nodiscard]] std::vector<std::string> queue() const {
    ZooKeeperTalk talk = server.talk();
    return ZooKeeperLocks("/" + root).queue(talk, "n");
  }
};

struct ZooKeeperPlay : PrivatePath, Play {
  ZooKeeperPlay() : Play([this] { return zookeeper::backend(server.url(root + in_short)); }) {}
};

class ZooKeeperBroken : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_ZOOKEEPER(); }
};

Wrap by_mail(bool broken, const std::shared_ptr<Mail>& mail) {
  return [broken, mail](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (broken) return std::make_unique<CountsFromTheAnswer>(std::move(behind), mail);
    return std::make_unique<AnswerRelay>(std::move(behind), mail);
  };
}

// A's grant is on its way until its lease has ended and B has the name.
Report late_reply(bool broken) {
  ZooKeeperPlay play;
  const auto mail = std::make_shared<Mail>();
  Actor a(play, by_mail(broken, mail), unrenewed);
  Actor b(play, {}, renewed);
  mail->hold_back();
  std::future<bool> taken = a.start_taking(patience);
  EXPECT_TRUE(eventually([&] { return mail->held_back() == 1; }));
  EXPECT_TRUE(b.take(patience));
  mail->let_go();
  if (broken) {
    EXPECT_TRUE(taken.get());
    b.give_back();
  } else {
    EXPECT_TRUE(eventually([&] { return play.queue().size() == 2; }));  // it asks anew
    b.give_back();
    EXPECT_TRUE(taken.get());
  }
  a.give_back();
  return play.check();
}

TEST_F(ZooKeeperBroken, ALeaseCountedFromTheReplyIsCaught) {
  const Report right = late_reply(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_reply(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// A's release is on its way until A's lease has ended and B has the name.
Report late_release(bool broken) {
  ZooKeeperPlay play;
  const auto mail = std::make_shared<Mail>();
  const auto free = [&play](const std::string& /*name*/) {
    play.server.talk().remove(play.queue().front());
  };
  Actor a(
      play,
      [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
        if (broken) return std::make_unique<FreesWhoeverHolds>(std::move(behind), mail, free);
        return std::make_unique<ReleaseRelay>(std::move(behind), mail);
      },
      unrenewed);
  Actor b(play, {}, renewed);
  Actor c(play, {}, renewed);
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

TEST_F(ZooKeeperBroken, AReleaseThatFreesWhoeverHoldsIsCaught) {
  const Report right = late_release(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = late_release(true);
  EXPECT_TRUE(wrong.has(Fault::overlap)) << wrong.text();
}

// The number at the end of a node's name for a token, as other libraries' users take it; its parent
// is removed between A's holds and B's, as the server does with an empty container.
Report sequence_for_token(bool broken) {
  ZooKeeperPlay play;
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path());
  ResourceClient client(play.directory.path());
  const Wrap wrap = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    if (!broken) return behind;
    return std::make_unique<CountsApart>(std::move(behind), [&play] {
      const auto number = ZooKeeperLocks::sequence(play.queue().front());
      return static_cast<std::uint64_t>(number) + 1;
    });
  };
  Actor a(play, wrap, renewed);
  Actor b(play, wrap, renewed);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(a.write(client));
    a.give_back();
  }
  EXPECT_TRUE(eventually([&] { return play.queue().empty(); }));
  play.server.talk().remove(ZooKeeperLocks("/" + play.root).path("n"));
  EXPECT_TRUE(b.take(patience));
  // Or a right holder is refused by the resource, since the token that it was given is old.
  EXPECT_EQ(b.write(client), !broken);
  b.give_back();
  return play.check();
}

TEST_F(ZooKeeperBroken, ATokenThatRestartsWithTheQueueIsCaught) {
  const Report right = sequence_for_token(false);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report wrong = sequence_for_token(true);
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
  Actor actor(play, {}, renewed);
  if (!actor.take(patience) || !actor.write(client)) return 1;
  signals->holds = true;
  if (!eventually([&] { return signals->goes_on.load(); })) return 2;
  signals->knows = !actor.look();
  signals->accepted = actor.write(client);
  actor.give_back();
  return 0;
}

// A is stopped by SIGSTOP in the middle of its work, beyond its session; B takes the name and
// writes; A goes on with its write.
void stopped_holder(bool fenced) {
  ZooKeeperPlay play;
  ResourceProcess resource(MORTISE_BIN_DIR, play.directory.path(), {.fenced = fenced});
  ResourceClient client(play.directory.path());
  const contract::Shared<Signals> signals;
  Process a = Process::fork_child([&] { return hold_and_be_stopped(play, signals); });
  play.processes = 1;
  ASSERT_TRUE(eventually([&] { return signals->holds.load(); }));
  ASSERT_TRUE(a.stop());
  Actor b(play, {}, renewed);
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

TEST_F(ZooKeeperBroken, AResourceThatTakesOldTokensIsCaught) {
  stopped_holder(true);
  stopped_holder(false);
}

}  // namespace
}  // namespace mortise::model
