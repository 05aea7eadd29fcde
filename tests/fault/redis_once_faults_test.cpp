// SPDX-License-Identifier: MIT
// Goal: a key is what the manual says it is, whatever befalls its server and what is said to it: a
// restart, forgotten scripts, requests that arrive when they were long said again. Method: clients
// as users have them, a real server that is killed, a proxy that keeps what goes through.
#include "fault/redis_proxied.hpp"

#include <future>
#include <thread>

namespace mortise::fault {
namespace {

using Persistence = RedisServerOptions::Persistence;

// The command time-out is a sixth of it.
constexpr std::chrono::milliseconds short_lease = 900ms;

class RedisOnceFaults : public ProxiedRedisTest {
 protected:
  void kill_and_start() {
    server().kill();
    server().start();
  }
  /// @return the server's count of scripts, which tells that what was delivered was executed.
  [[nodiscard]] std::uint64_t scripts() {
    auto stats = server().talk().command_stats();
    return stats["evalsha"] + stats["eval"];
  }
  /// What goes to the server by the connections that stand now is kept.
  void keep_requests() { proxy().hold_requests(true, Proxy::Connections::commands); }
  void deliver() {
    ASSERT_GT(proxy().held(), 0U);
    const std::uint64_t before = scripts();
    const std::size_t sent = proxy().release_held();
    ASSERT_TRUE(eventually([&] { return scripts() >= before + sent; }));
  }
  static void expect_success(const Outcome& outcome, std::string_view result,
                             std::uint64_t number = 1) {
    EXPECT_EQ(outcome.state(), KeyState::succeeded);
    EXPECT_EQ(outcome.result(), result);
    EXPECT_EQ(outcome.number(), number);
  }
  static std::string never_run() {
    ADD_FAILURE() << "it was run";
    return {};
  }
};

TEST_F(RedisOnceFaults, ARestartWithItsDataForgetsNothing) {
  RedisServerOptions options;
  options.persistence = Persistence::always;
  static_cast<void>(server(options));
  Client one = client();
  Client other = client();
  const Outcome done = one.make_once("done").run([] { return "done"; });
  mortise::Run run = one.make_once("runs", {.lease = 30s}).begin();
  ASSERT_TRUE(run);
  { const mortise::Run given_back = one.make_once("given back").begin(); }
  kill_and_start();
  const Outcome later = other.make_once("done").run(never_run);
  expect_success(later, "done");
  EXPECT_EQ(later.token(), done.token());
  EXPECT_EQ(other.make_once("runs", {.wait = 0s}).run(never_run).state(), KeyState::pending);
  EXPECT_FALSE(other.make_once("runs").forget());
  expect_success(run.succeed("after it"), "after it");
  expect_success(other.make_once("runs").run(never_run), "after it");
  EXPECT_EQ(other.make_once("given back").begin().number(), 2U);
}

TEST_F(RedisOnceFaults, ARestartWithoutItsDataForgetsAllAndItsRunnerRecordsNothing) {
  Client one = client();
  Client other = client();
  const Outcome done = one.make_once("done").run([] { return "done"; });
  mortise::Run run = one.make_once("runs", {.lease = 30s}).begin();
  ASSERT_TRUE(run);
  kill_and_start();
  const Outcome again = other.make_once("done").run([] { return "again"; });
  expect_success(again, "again");
  EXPECT_GT(again.token(), done.token());
  mortise::Run second = other.make_once("runs").begin();
  ASSERT_TRUE(second) << "nothing is known of the first";
  EXPECT_EQ(second.number(), 1U);
  EXPECT_GT(second.token(), run.token());
  // By a connection that stands: what one that broke may have carried would be in doubt.
  expect_success(one.make_once("done").look(), "again");
  const Outcome late = run.succeed("late");
  EXPECT_TRUE(late.lost());
  EXPECT_EQ(late.state(), KeyState::pending);
  expect_success(second.succeed("second"), "second");
  expect_success(one.make_once("runs").look(), "second");
}

// By each script the server has to be told anew, in the middle of what it is asked.
TEST_F(RedisOnceFaults, ForgottenScriptsCostARoundTripAndNothingElse) {
  Client one = client();
  Client other = client();
  const auto forget = [&] { server().talk().expect_ok({"SCRIPT", "FLUSH"}); };
  for (std::uint64_t round = 1; round <= 3; ++round) {
    forget();
    mortise::Run run = one.make_once("key", {.repeat = Repeat::always}).begin();
    ASSERT_TRUE(run);
    EXPECT_EQ(run.number(), round);
    forget();
    EXPECT_FALSE(other.make_once("key").forget());
    auto waits =
        std::async(std::launch::async, [&] { return other.make_once("key").run(never_run); });
    ASSERT_TRUE(eventually([&] {
      return server().talk().command({"ZCARD", key("key") + "!:queue"}).integer == 1;
    }));
    forget();
    expect_success(run.succeed("done"), "done", round);
    forget();
    expect_success(waits.get(), "done", round);
    forget();
    expect_success(other.make_once("key").look(), "done", round);
  }
  forget();
  EXPECT_TRUE(one.make_once("key").forget());
  forget();
  { const mortise::Run given_back = one.make_once("key").begin(); }
  EXPECT_EQ(one.make_once("key").look().state(), KeyState::pending);
}

TEST_F(RedisOnceFaults, ABeginningThatArrivesAfterItsOutcomeRunsNothing) {
  Client mine = ready_client();
  keep_requests();
  mortise::Run run = mine.make_once("a", {.lease = short_lease}).begin();
  ASSERT_TRUE(run);
  expect_success(run.succeed("done"), "done");
  deliver();
  Client other = client();
  const Outcome later = other.make_once("a", {.wait = 0s}).run(never_run);
  expect_success(later, "done");
  // Where it would run the key again it must not, either.
  keep_requests();
  mortise::Run failing = mine.make_once("b", {.lease = short_lease}).begin();
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing.fail("no").state(), KeyState::failed);
  deliver();
  EXPECT_EQ(other.make_once("b").look().state(), KeyState::failed);
  mortise::Run next = other.make_once("b", {.wait = 0s}).begin();
  ASSERT_TRUE(next) << "it is kept for nobody";
  EXPECT_EQ(next.number(), 2U);
}

// It arrives in time to run the key again, and its client has given up.
// Promise: O3
TEST_F(RedisOnceFaults, ABeginningInDoubtThatArrivesLeavesTheOutcomeThatStood) {
  Client other = client();
  mortise::Run failing = other.make_once("a").begin();
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing.fail("no").state(), KeyState::failed);
  Client mine = ready_client();
  keep_requests();
  const std::uint64_t before = scripts();
  std::error_code ec;
  EXPECT_FALSE(mine.make_once("a", {.wait = 50ms, .lease = 20s}).begin(ec));
  EXPECT_EQ(ec, Errc::in_doubt) << ec.message();
  ASSERT_TRUE(eventually([&] { return scripts() > before; })) << "it is not taken back";
  deliver();
  EXPECT_TRUE(eventually([&] { return other.make_once("a").look().state() == KeyState::failed; }));
  const Outcome outcome = other.make_once("a").look();
  EXPECT_EQ(outcome.reason(), "no");
  EXPECT_EQ(outcome.number(), 1U);
  EXPECT_EQ(other.make_once("a", {.repeat = Repeat::never}).run(never_run).reason(), "no");
}

// The server grants the run in time, and the caller has left before the answer arrives.
// Promise: O3
TEST_F(RedisOnceFaults, ARunThatIsGrantedToNoCallerLeavesTheOutcomeThatStood) {
  Client other = client();
  mortise::Run failing = other.make_once("a").begin();
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing.fail("no").state(), KeyState::failed);
  Client mine = ready_client();
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  std::error_code ec;
  EXPECT_FALSE(mine.make_once("a", {.wait = 50ms, .lease = 20s}).begin(ec));
  EXPECT_EQ(ec, Errc::in_doubt) << ec.message();
  EXPECT_TRUE(eventually([&] { return other.make_once("a").look().state() == KeyState::failed; }));
  const Outcome outcome = other.make_once("a", {.repeat = Repeat::never}).run(never_run);
  EXPECT_EQ(outcome.reason(), "no");
  EXPECT_EQ(outcome.number(), 1U);
}

// Promise: O2
TEST_F(RedisOnceFaults, AConclusionThatArrivesAfterItsLeaseRecordsNothing) {
  Client mine = ready_client();
  Client other = client();
  mortise::Run run = mine.make_once("a", {.lease = short_lease}).begin();
  ASSERT_TRUE(run);
  keep_requests();
  proxy().refuse(true);
  std::error_code ec;
  static_cast<void>(run.succeed("late", ec));
  EXPECT_EQ(ec, Errc::in_doubt);
  mortise::Run second = other.make_once("a").begin();  // waits for the end of the lease
  ASSERT_TRUE(second);
  EXPECT_EQ(second.number(), 2U);
  deliver();
  EXPECT_EQ(other.make_once("a").look().state(), KeyState::pending);
  expect_success(second.succeed("second"), "second", 2);
  // Said again in the background, as long as that has a sense.
  proxy().refuse(false);
  proxy().heal();
  std::this_thread::sleep_for(short_lease);
  expect_success(other.make_once("a").look(), "second", 2);
}

TEST_F(RedisOnceFaults, AConclusionThatArrivesTwiceIsRecordedOnce) {
  Client mine = ready_client();
  Client other = client();
  mortise::Run run = mine.make_once("a").begin();
  ASSERT_TRUE(run);
  keep_requests();
  std::error_code ec;
  static_cast<void>(run.fail("no", ec));
  // It is said again by the next connection, whose answer the caller may yet see.
  EXPECT_TRUE(!ec || ec == Errc::in_doubt) << ec.message();
  ASSERT_TRUE(eventually([&] { return other.make_once("a").look().state() == KeyState::failed; }));
  mortise::Run second = other.make_once("a").begin();
  ASSERT_TRUE(second);
  deliver();
  EXPECT_EQ(other.make_once("a").look().state(), KeyState::pending);
  expect_success(second.succeed("yes"), "yes", 2);
}

// Of its two steps the second names what the first has found, and there is none for a caller that
// has gone: what it would find was recorded since.
TEST_F(RedisOnceFaults, AForgetInDoubtDoesNotGoOn) {
  Client mine(proxy().url());
  Client other(server().url());
  Once key = mine.make_once("key");
  EXPECT_EQ(key.look().state(), KeyState::absent);
  proxy().blackhole(true);
  std::error_code why;
  EXPECT_FALSE(key.forget(why));
  EXPECT_EQ(why, Errc::in_doubt);
  expect_success(other.make_once("key").run([] { return "first"; }), "first");
  proxy().blackhole(false);
  mine.check(patience);
  expect_success(other.make_once("key").run([] { return "second"; }), "first");
}

// Not that of a request that was sent before it came, and was handed to it.
TEST_F(RedisOnceFaults, ACallerIsToldWhatWasAskedSinceItCame) {
  Client mine(proxy().url());
  Client other(server().url());
  expect_success(other.make_once("key").run([] { return "old"; }), "old");
  mine.check(patience);
  proxy().delay(600ms, 600ms, Proxy::Direction::to_client);
  const std::uint64_t before = scripts();
  auto first = std::async(std::launch::async, [&] {
    std::error_code why;
    return mine.make_once("key", {.wait = 300ms}).begin(why).outcome();
  });
  ASSERT_TRUE(eventually([&] { return scripts() > before; })) << "it has not asked";
  EXPECT_TRUE(other.make_once("key").forget());
  expect_success(other.make_once("key").run([] { return "new"; }), "new");
  const mortise::Run second = mine.make_once("key", {.wait = 10s}).begin();
  first.wait();
  expect_success(second.outcome(), "new");
}

}  // namespace
}  // namespace mortise::fault
