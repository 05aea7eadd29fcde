// SPDX-License-Identifier: MIT
// Goal: a key of `Once` has one runner at a time, and what is told of it is what is recorded,
// whatever befalls the runner's session, its node, or what the node stood on (O1, O2, S1). Method:
// sessions that end, requests that come late, strangers who delete and write, small servers.
#include "fault/zookeeper_fixture.hpp"
#include "zookeeper/lock_path.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

class ZooKeeperKeys : public ZooKeeperTest {
 protected:
  [[nodiscard]] std::vector<std::string> queue_of_key(const std::string& key) {
    ZooKeeperTalk talk = server().talk();
    return locks().queue_of_key(talk, key);
  }
  [[nodiscard]] Client behind_proxy(const std::string& parameters) {
    Client mine(proxied_url(parameters));
    mine.check(patience);
    return mine;
  }
  [[nodiscard]] bool come_for(const std::string& key, std::size_t nodes) {
    ZooKeeperTalk talk = server().talk();
    return eventually([&] { return locks().queue_of_key(talk, key).size() == nodes; });
  }
  void take_away(const std::string& key) {
    const std::vector<std::string> queue = queue_of_key(key);
    ASSERT_FALSE(queue.empty());
    server().talk().remove(queue.front());
  }
  [[nodiscard]] std::string keys() const { return zookeeper::keys_path("/" + root()); }
  /// How many are remembered.
  [[nodiscard]] std::size_t kept() {
    ZooKeeperTalk talk = server().talk();
    std::size_t count = 0;
    for (const std::string& shelf : talk.children(keys() + "/kept")) {
      count += talk.children(keys() + "/kept/" + shelf).size();
    }
    return count;
  }
};

const char* run_by(const mortise::Run& run) { return run.number() > 1 ? "later" : "first"; }

// Promise: O2
TEST_F(ZooKeeperKeys, ARunnerWhoseSessionHasEndedRecordsNothing) {
  MORTISE_NEEDS(ZooKeeperServer::missing_handle());
  have_own({.handled = true});
  Client mine = client();
  Client theirs = client();
  for (const bool knows : {true, false}) {
    const std::string key = knows ? "knows" : "does not know";
    Client runner = proxied();
    mortise::Run run = runner.make_once(key).begin();
    const std::int64_t session = owner_of(queue_of_key(key).front());
    if (!knows) proxy().blackhole(true);
    server().expire(session);
    if (knows) {
      EXPECT_TRUE(eventually([&] { return run.lost().stop_requested(); }));
    }
    mortise::Run second = theirs.make_once(key, {.wait = patience}).begin();
    EXPECT_EQ(second.number(), 2U);
    proxy().heal();
    std::error_code error;
    const Outcome told = run.succeed("first", error);
    EXPECT_TRUE(told.lost() || error == Errc::in_doubt) << error.message();
    EXPECT_TRUE(mine.make_once(key).look().running()) << "it was recorded";
    EXPECT_EQ(second.succeed("second").result(), "second");
    EXPECT_EQ(mine.make_once(key).look().result(), "second");
  }
}

// Promise: O2
TEST_F(ZooKeeperKeys, WhoConcludesAsItsSessionEndsIsToldWhatIsRecorded) {
  MORTISE_NEEDS(ZooKeeperServer::missing_handle());
  have_own({.handled = true});
  Client theirs = client();
  for (const Proxy::Moment moment : {Proxy::Moment::request, Proxy::Moment::reply}) {
    const std::string key = moment == Proxy::Moment::request ? "request" : "reply";
    Client runner = behind_proxy("session=4s&margin=300ms");
    mortise::Run run = runner.make_once(key).begin();
    const std::int64_t session = owner_of(queue_of_key(key).front());
    proxy().reset_new(true);
    proxy().cut_at(1, moment, "MULTI");
    Worker worker;
    std::error_code error;
    const bool recorded = moment == Proxy::Moment::reply;
    std::future<Outcome> answer = worker.start([&] { return run.succeed("done", error); });
    ASSERT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
    if (recorded) {
      ASSERT_TRUE(come_for(key, 0));
    }
    server().expire(session);
    proxy().heal();
    ASSERT_TRUE(comes(answer));
    const Outcome told = answer.get();
    const Outcome seen = theirs.make_once(key).look();
    EXPECT_EQ(told.state() == KeyState::succeeded, recorded && !error);
    EXPECT_FALSE(told.lost() && recorded);
    EXPECT_EQ(seen.state() == KeyState::succeeded, recorded);
    EXPECT_FALSE(seen.running());
  }
}

// The reply is lost, and what was recorded stands: it finds itself. Or it is replaced meanwhile.
// Promise: O2
TEST_F(ZooKeeperKeys, WhoseAnswerIsLostFindsWhatItHasRecorded) {
  Client theirs = client();
  Client runner = behind_proxy("session=20s&margin=300ms");
  for (const bool replaced : {false, true}) {
    const std::string key = replaced ? "replaced" : "stands";
    mortise::Run run = runner.make_once(key, {.lease = 30s}).begin();
    proxy().reset_new(true);
    proxy().cut_at(1, Proxy::Moment::reply, "MULTI");
    Worker worker;
    std::error_code error;
    std::future<Outcome> told = worker.start([&] { return run.fail("not yet", error); });
    ASSERT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
    ASSERT_TRUE(eventually([&] { return queue_of_key(key).empty(); }));
    if (replaced) {
      EXPECT_EQ(theirs.make_once(key).run(run_by).result(), "later");
    }
    proxy().heal();
    ASSERT_TRUE(comes(told));
    const Outcome outcome = told.get();
    EXPECT_FALSE(outcome.lost()) << "nobody else had it";
    if (replaced) {
      EXPECT_EQ(error, Errc::in_doubt);
    } else {
      EXPECT_FALSE(error) << error.message();
      EXPECT_EQ(outcome.reason(), "not yet");
    }
  }
}

// The run of a dead runner was read; then the key was forgotten, and begun anew, so that a node of
// the same version stands there. What was asked for by the first is carried out now.
// Promise: S1
TEST_F(ZooKeeperKeys, ARequestThatComesLateBeginsNothing) {
  Client runner = client();
  Client waiting = behind_proxy("session=10s&margin=300ms");
  Client others = client();
  mortise::Run dead = runner.make_once("key").begin();
  Worker worker;
  std::atomic<bool> ran{false};
  std::future<Outcome> told = worker.start([&] {
    return waiting.make_once("key", {.wait = patience}).run([&] {
      ran = true;
      return "twice";
    });
  });
  ASSERT_TRUE(come_for("key", 2));
  ASSERT_TRUE(worker.falls_asleep());
  // It has the event of the end, and what it asks for then is on its way for long.
  proxy().hold_requests(true);
  take_away("key");
  ASSERT_TRUE(eventually([&] { return proxy().held() > 0; }));
  ASSERT_TRUE(others.make_once("key").forget());
  mortise::Run anew = others.make_once("key").begin();
  ASSERT_EQ(anew.number(), 1U);
  proxy().release_held();
  proxy().hold_requests(false);
  EXPECT_FALSE(comes_within(told, 300ms));
  EXPECT_FALSE(ran) << "two run it";
  EXPECT_EQ(anew.succeed("once").result(), "once") << "what it had begun was overwritten";
  ASSERT_TRUE(comes(told));
  EXPECT_EQ(told.get().result(), "once");
}

// Nor does what is to be forgotten take away what was begun since it was read.
// Promise: O3
TEST_F(ZooKeeperKeys, ARequestThatComesLateForgetsNothing) {
  constexpr auto late = 600ms;
  Client runner = client();
  Client slow = behind_proxy("session=10s&margin=300ms");
  Client others = client();
  static_cast<void>(runner.make_once("key").begin());  // and given back: of the first version
  static_cast<void>(slow.make_once("key").look());
  const std::uint64_t writes = proxy().commands("MULTI");
  proxy().delay(late, late, Proxy::Direction::to_server);
  Worker worker;
  const std::future<void> done = worker.start([&] {
    std::error_code error;
    static_cast<void>(slow.make_once("key").forget(error));
  });
  // It was answered what is there, and what it asks for then is on its way for long.
  ASSERT_TRUE(eventually([&] { return proxy().commands("MULTI") > writes; }));
  ASSERT_TRUE(others.make_once("key").forget());
  mortise::Run anew = others.make_once("key").begin();
  ASSERT_EQ(anew.number(), 1U);
  std::this_thread::sleep_for(late + late / 4);
  ASSERT_TRUE(comes(done));
  EXPECT_TRUE(others.make_once("key").look().running()) << "it was forgotten while it ran";
  EXPECT_EQ(anew.succeed("new").result(), "new");
}

// Promise: O1
TEST_F(ZooKeeperKeys, AReplayIsASyncAndARead) {
  Client mine = proxied();
  Client theirs = client();
  static_cast<void>(theirs.make_once("key").run([] { return "done"; }));
  EXPECT_TRUE(
      mine.make_once("key").run([] { return "twice"; }).replayed());  // it learns what time it is
  const std::uint64_t before = proxy().commands();
  const std::uint64_t reads = proxy().commands("GETDATA");
  constexpr std::uint64_t times = 20;
  for (std::uint64_t i = 0; i < times; ++i) {
    EXPECT_EQ(mine.make_once("key").run([] { return "twice"; }).result(), "done");
  }
  EXPECT_EQ(proxy().commands("GETDATA") - reads, times);
  // And a pulse, or two.
  EXPECT_LE(proxy().commands() - before, 2 * times + 6);
}

// One event to each; then what it came to, and its node goes. After a failure one begins, and
// that, too, is an event to those who wait on.
TEST_F(ZooKeeperKeys, ThoseWhoWaitAreWokenOnceWithTheResult) {
  constexpr std::size_t waiters = 16;
  have_own();
  const std::string quiet = url("session=20s&margin=300ms");
  for (const bool success : {true, false}) {
    const std::string key = success ? "success" : "failure";
    Client runner(quiet);
    mortise::Run run = runner.make_once(key, {.lease = 30s}).begin();
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::future<Outcome>> told;
    for (std::size_t i = 0; i < waiters; ++i) {
      clients.push_back(std::make_unique<Client>(quiet));
      workers.push_back(std::make_unique<Worker>());
      Client& mine = *clients.back();
      told.push_back(workers.back()->start([&mine, key] {
        return mine.make_once(key, {.wait = patience, .lease = 30s}).run(run_by);
      }));
      ASSERT_TRUE(come_for(key, i + 2));
    }
    for (const auto& each : workers) ASSERT_TRUE(each->falls_asleep());
    const std::int64_t before = server().figure("packets_sent");
    success ? run.succeed("first") : run.fail("not yet");
    for (auto& each : told) {
      ASSERT_TRUE(comes(each));
      EXPECT_EQ(each.get().result(), success ? "first" : "later");
    }
    ASSERT_TRUE(come_for(key, 0));
    const std::int64_t packets = server().figure("packets_sent") - before;
    // Its event, the result, the end of its node and of a watch or two. Some sessions have a pulse,
    // and look at the queue after a second.
    const std::int64_t each = success ? 6 : 12;
    EXPECT_LT(packets, each * static_cast<std::int64_t>(waiters) + 40) << key;
  }
}

// Promise: O1
TEST_F(ZooKeeperKeys, ARunnerWhoseNodeAStrangerDeletesRecordsNothing) {
  Client mine = client();
  Client theirs = client();
  mortise::Run run = mine.make_once("key").begin();
  take_away("key");
  EXPECT_EQ(theirs.make_once("key", {.wait = patience}).run(run_by).result(), "later");
  EXPECT_TRUE(run.succeed("first").lost());
  EXPECT_EQ(mine.make_once("key").look().result(), "later");
}

TEST_F(ZooKeeperKeys, WhatAStrangerHasWrittenIsNoRecord) {
  Client mine = client();
  static_cast<void>(mine.make_once("key").run([] { return "done"; }));
  server().talk().set(locks().kept("key"), "something else");
  std::error_code error;
  static_cast<void>(mine.make_once("key").run([] { return "twice"; }, error));
  EXPECT_EQ(error, Errc::protocol);
  static_cast<void>(mine.make_once("key").look(error));
  EXPECT_EQ(error, Errc::protocol);
  server().talk().remove(locks().kept("key"));
  EXPECT_EQ(mine.make_once("key").run([] { return "anew"; }).result(), "anew");
}

TEST_F(ZooKeeperKeys, AllIsMadeAnewWhereAStrangerHasDeletedIt) {
  Client mine = client();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(mine.make_once("key").run(run_by).result(), "first") << i;
    server().talk().remove_all(keys());
  }
}

TEST_F(ZooKeeperKeys, OfACreatorNobodyElseReadsOrWrites) {
  const std::string at = "@" + server().address() + "/" + rest();
  Client mine("zookeeper://shop:secret" + at);
  Client same("zookeeper://shop:secret" + at);
  Client other("zookeeper://other:secret" + at);
  EXPECT_EQ(mine.make_once("key").run([] { return "done"; }).result(), "done");
  EXPECT_EQ(same.make_once("key").run([] { return "twice"; }).result(), "done");
  std::error_code error;
  static_cast<void>(other.make_once("key").run([] { return "twice"; }, error));
  EXPECT_EQ(error, Errc::denied);
  EXPECT_FALSE(other.make_once("key").forget(error));
  EXPECT_EQ(error, Errc::denied);
  static_cast<void>(other.make_once("another").begin(error));
  EXPECT_EQ(error, Errc::denied) << "what is above it is not its own";
  EXPECT_EQ(mine.make_once("key").look().result(), "done");
}

// It would be said for ever, and each time the connection breaks, with it all that the session
// holds.
TEST_F(ZooKeeperKeys, AnOutcomeThatTheServerTakesNoPacketForIsGivenUp) {
  have_own({.jvm = {"-Djute.maxbuffer=20000"}});
  const auto record = std::make_shared<Record>();
  Client mine(url("session=8s&margin=300ms"), {.observer = record});
  Client theirs = client();
  Lock lock = mine.make_lock("held all the while", {.lease = 10s});
  lock.lock();
  mortise::Run run = mine.make_once("key", {.lease = 10s}).begin();
  std::error_code error;
  const Outcome told = run.succeed(std::string(longest_outcome, 'x'), error);
  EXPECT_EQ(error, Errc::in_doubt);
  EXPECT_EQ(told.state(), KeyState::pending);
  // A look that a loaded machine does not answer within its second says nothing.
  const auto is_free = [&] {
    std::error_code unanswered;
    const Outcome outcome = theirs.make_once("key").look(unanswered);
    return !unanswered && !outcome.running();
  };
  EXPECT_TRUE(eventually(is_free, 8s)) << "nobody else can run it";
  EXPECT_EQ(theirs.make_once("key", {.wait = patience}).run(run_by).result(), "later");
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
}

// What is over is removed by those who run keys, and containers by the server; shelves stay.
TEST_F(ZooKeeperKeys, WhatIsOverGoesALittleWithEachRun) {
  have_own({.jvm = {"-Dznode.container.checkIntervalMs=500", "-Dzookeeper.forceSync=no"}});
  Client mine(url("session=20s&margin=300ms"));
  constexpr int old_ones = 60;
  for (int i = 0; i < old_ones; ++i) {
    Once once = mine.make_once("old " + std::to_string(i), {.keep = 1s, .lease = 30s});
    EXPECT_EQ(once.run(run_by).result(), "first");
    if (i % 3 == 0) {
      // Nobody knows what came of it.
      mortise::Run run =
          mine.make_once("begun " + std::to_string(i), {.keep = 1s, .lease = 30s}).begin();
      run.give_back();
    }
  }
  EXPECT_GT(kept(), 20U);
  std::this_thread::sleep_for(1100ms);
  // Whoever comes by has one shelf to look at, or two keys, however many there are.
  Once fresh = mine.make_once("kept", {.keep = 1h, .repeat = Repeat::always, .lease = 30s});
  for (int i = 0; i < old_ones + static_cast<int>(zookeeper::shelves); ++i) {
    EXPECT_EQ(fresh.run([] { return "done"; }).state(), KeyState::succeeded);
  }
  EXPECT_LE(kept(), 2U) << "what was being looked at may be left";
  ZooKeeperTalk talk = server().talk();
  EXPECT_LE(talk.children(keys() + "/kept").size(), zookeeper::shelves);
  EXPECT_TRUE(eventually([&] { return talk.children(keys() + "/queue").size() <= 1; }));
}

TEST_F(ZooKeeperKeys, AreForgottenByOneTransaction) {
  Client mine = behind_proxy("session=20s&margin=300ms");
  static_cast<void>(mine.make_once("key").run([] { return "done"; }));
  const std::uint64_t before = proxy().commands("MULTI");
  EXPECT_TRUE(mine.make_once("key").forget());
  EXPECT_EQ(proxy().commands("MULTI"), before + 1);
}

}  // namespace
}  // namespace mortise::fault
