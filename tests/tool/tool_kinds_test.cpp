// SPDX-License-Identifier: MIT
// Goal: the program shows and ends semaphores and keys as it does locks, and never prints "free"
// for a key that runs. Method: permits of the library and keys of `mortise once`, on `file:`. Holds
// that are ended by force are on a Redis of the test's own.
#include <mortise/client.hpp>

#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class ToolKinds : public ToolTest {
 protected:
  /// Runs a key until $F/go exists.
  [[nodiscard]] RunningTool run_key(const std::string& key) {
    RunningTool runner = start(with_shell({"once", key, "--label", "web1:10"},
                                          "note " + key +
                                              "; until [ -e $F/go ]; do sleep 0.01; done; "
                                              "printf 'receipt \\001'"));
    EXPECT_GT(noted(key), 0);
    return runner;
  }
};

class ToolKindsByForce : public ToolKinds {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    server_.emplace();
    use_store(server_->url());
  }

 private:
  std::optional<RedisServer> server_;
};

TEST_F(ToolKinds, ShowsAKeyThatRuns) {
  const RunningTool runner = run_key("k");
  EXPECT_EQ(call({"list"}).out, "key\tk\n");
  EXPECT_EQ(call({"list", "--keys"}).out, "key\tk\n");
  EXPECT_EQ(call({"list", "--locks", "--semaphores"}).out, "");
  EXPECT_EQ(call({"list", "--json"}).out,
            "{\"names\":[{\"kind\":\"key\",\"name\":\"k\"}],\"too_long\":0}\n");
  EXPECT_THAT(call({"queue", "k"}).out, HasSubstr("holds\tweb1:10\tonce\ttoken "));
  EXPECT_THAT(call({"watch", "--once"}).out, ContainsRegex("k +web1:10 +once"));
  EXPECT_THAT(call({"watch", "--once", "--json"}).out,
              HasSubstr("{\"kind\":\"key\",\"name\":\"k\",\"holders\":[{\"label\":\"web1:10\""));
  touch("go");
}

TEST_F(ToolKinds, ShowsASemaphoreWhosePermitsAreTaken) {
  Client client(url());
  Semaphore semaphore = client.make_semaphore("mail", 2, {.label = "web1:10"});
  const Permit one = semaphore.acquire();
  const Permit other = semaphore.acquire({.owner = Owner::unique()});
  EXPECT_EQ(call({"list"}).out, "semaphore\tmail\n");
  EXPECT_EQ(call({"list", "--semaphores"}).out, "semaphore\tmail\n");
  EXPECT_EQ(call({"list", "--keys", "--locks"}).out, "");
  EXPECT_THAT(call({"queue", "mail"}).out,
              MatchesRegex("holds\tweb1:10\tpermit\t.*\nholds\t-\tpermit\t.*\n"));
}

// One name may be a lock, a semaphore and a key.
TEST_F(ToolKinds, KeepsTheKindsOfOneNameApart) {
  Client client(url());
  Lock lock = client.make_lock("x", {.label = "locks"});
  ASSERT_TRUE(lock.try_lock());
  Semaphore semaphore = client.make_semaphore("x", 1, {.label = "permits"});
  const Permit permit = semaphore.acquire();
  EXPECT_EQ(call({"list"}).out, "lock\tx\nsemaphore\tx\n");
  EXPECT_THAT(call({"queue", "x"}).out, AllOf(HasSubstr("locks"), HasSubstr("permits")));
  EXPECT_THAT(call({"queue", "x", "--semaphores"}).out,
              AllOf(Not(HasSubstr("locks")), HasSubstr("permits")));
  EXPECT_EQ(call({"queue", "x", "--keys"}).out, "free\n");
  lock.unlock();
}

TEST_F(ToolKinds, ShowsARememberedKey) {
  const ToolResult absent = call({"look", "k"});
  EXPECT_EQ(absent.status, 1) << absent.err;
  EXPECT_EQ(absent.out, "state\tabsent\n");

  RunningTool runner = run_key("k");
  const ToolResult pending = call({"look", "k"});
  EXPECT_EQ(pending.status, 0) << pending.err;
  EXPECT_THAT(
      pending.out,
      MatchesRegex("state\tpending\nrun\t1\ntoken\t.*\nrunner\tweb1:10\tage .*\tleft .*\n"));
  EXPECT_THAT(call({"look", "k", "--json"}).out,
              MatchesRegex(R"re(\{"key":"k","state":"pending","run":1,"token":.*,"running":true,)re"
                           R"re("holders":\[\{"label":"web1:10",.*\],"waiters":.*\}.*)re"));
  touch("go");
  EXPECT_EQ(runner.wait().status, 0);
  EXPECT_THAT(call({"look", "k"}).out,
              MatchesRegex("state\tsucceeded\nrun\t1\ntoken\t.*\nresult\treceipt \\\\x01\n"));
  EXPECT_THAT(call({"look", "k", "--json"}).out,
              AllOf(HasSubstr(R"("state":"succeeded")"), HasSubstr(R"("result":"receipt \u0001")"),
                    HasSubstr(R"("running":false)")));
}

TEST_F(ToolKinds, ShowsAFailedKeyAndADeadRunner) {
  EXPECT_EQ(call({"once", "k", "--", "sh", "-c", "echo no money >&2; exit 3"}).status, 3);
  EXPECT_THAT(call({"look", "k"}).out, HasSubstr("state\tfailed\nrun\t1\n"));
  EXPECT_THAT(call({"look", "k"}).out, HasSubstr("reason\tno money\n"));
  RunningTool runner = run_key("died");
  ::kill(runner.keeper(), SIGKILL);
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_THAT(call({"look", "died"}).out, HasSubstr("state\tpending\n"));
  EXPECT_THAT(call({"look", "died"}).out, HasSubstr("runner\tnone\n"));
}

TEST_F(ToolKinds, ForgetsAKeyThatDoesNotRun) {
  const Words once = with_shell({"once", "k"}, "echo run $MORTISE_RUN; echo x >> $F/ran");
  EXPECT_EQ(call(once).out, "run 1\n");
  EXPECT_EQ(call(once).out, "run 1\n");
  const ToolResult forgotten = call({"forget", "k"});
  EXPECT_EQ(forgotten.status, 0) << forgotten.err;
  EXPECT_EQ(forgotten.out, "forgotten\n");
  EXPECT_EQ(call({"look", "k"}).status, 1);
  EXPECT_EQ(call(once).out, "run 1\n");
  EXPECT_EQ(text_of(file("ran")), "x\nx\n");

  RunningTool runner = run_key("busy");
  const ToolResult running = call({"forget", "busy"});
  EXPECT_EQ(running.status, 75);
  EXPECT_THAT(running.err, HasSubstr("a client runs 'busy' now"));
  touch("go");
  EXPECT_EQ(runner.wait().status, 0) << "its outcome is recorded";
}

TEST_F(ToolKindsByForce, EndsTheRunOfAKey) {
  EXPECT_EQ(call({"release", "--force", "--keys", "k"}).status, 1);
  RunningTool runner = run_key("k");
  EXPECT_EQ(call({"release", "--force", "k"}).status, 1) << "the lock of this name is free";
  const ToolResult ended = call({"release", "--force", "--keys", "k"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("released: web1:10, token "));
  EXPECT_EQ(runner.wait().status, 76);
  EXPECT_EQ(call(with_shell({"once", "k"}, "echo run $MORTISE_RUN")).out, "run 2\n");
}

TEST_F(ToolKindsByForce, EndsAPermitByItsToken) {
  Client client(std::string(std::getenv("MORTISE_URL")));
  Semaphore semaphore = client.make_semaphore("mail", 2);
  const Permit one = semaphore.acquire();
  const Permit other = semaphore.acquire({.owner = Owner::unique()});
  EXPECT_EQ(call({"release", "--force", "--semaphores", "mail"}).status, 64) << "which permit?";
  const ToolResult ended = call({"release", "--force", "--semaphores", "mail", "--token",
                                 std::to_string(one.token().value())});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_TRUE(eventually([&] { return one.lost().stop_requested(); }));
  EXPECT_FALSE(other.lost().stop_requested());
  EXPECT_THAT(call({"queue", "mail"}).out, MatchesRegex("holds\t[^\n]*\tpermit\t[^\n]*\n"));
}

}  // namespace
}  // namespace mortise::test
