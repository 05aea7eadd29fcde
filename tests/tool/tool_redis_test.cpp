// SPDX-License-Identifier: MIT
// Goal: on a store with leases the command ends before its lease does, whoever stands still, and a
// front that stands still costs nothing. Method: a Redis of the test's own; stops and forced ends.
#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class ToolRedis : public ToolTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    server_.emplace();
  }
  [[nodiscard]] std::string store() const { return server_->url(); }
  RedisServer& server() { return *server_; }
  /// Deaf to TERM; notes "t".
  [[nodiscard]] Words deaf(const std::string& lease) const {
    return with_shell({"run", store(), "a", "--lease", lease},
                      "trap '' TERM; note t; while :; do sleep 0.01; done");
  }

 private:
  std::optional<RedisServer> server_;
};

TEST_F(ToolRedis, EndsACommandWhoseHoldWasForcedOpen) {
  RunningTool tool = start(deaf("3s"));
  const pid_t command = noted("t");
  EXPECT_EQ(call({"release", store(), "a", "--force", "--token", "1"}).status, 1);
  const ToolResult forced = call({"release", store(), "a", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_THAT(forced.out, HasSubstr("released: "));
  EXPECT_EQ(tool.wait().status, 76);
  EXPECT_TRUE(is_gone(command));
  EXPECT_EQ(call({"release", store(), "a", "--force"}).status, 1);
}

// What a script has where it has read no token is not "whatever is there".
TEST_F(ToolRedis, ReleasesNothingByATokenThatIsNone) {
  RunningTool tool = start(deaf("3s"));
  ASSERT_GT(noted("t"), 0);
  for (const char* none : {"0", "", "-1", "00", "1x", "18446744073709551616"}) {
    EXPECT_EQ(call({"release", store(), "a", "--force", "--token", none}).status, 64) << none;
  }
  EXPECT_FALSE(is_free(store(), "a"));
}

TEST_F(ToolRedis, EndsTheCommandBeforeALeaseThatCannotBeRenewed) {
  RunningTool tool = start(deaf("3s"));
  const pid_t command = noted("t");
  server().stop();
  const auto stopped = Clock::now();
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  EXPECT_LT(Clock::now() - stopped, std::chrono::seconds(3)) << "the lease was over before";
  server().resume();
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_THAT(result.err, HasSubstr("cannot be renewed"));
}

TEST_F(ToolRedis, EndsTheCommandBeforeTheLeaseOfAKeeperThatStandsStill) {
  RunningTool tool = start(deaf("2s"));
  const pid_t command = noted("t");
  ::kill(tool.keeper(), SIGSTOP);
  const ToolResult next =
      call(with_shell({"run", store(), "a"},
                      "kill -0 " + std::to_string(command) + " 2>/dev/null && exit 9; true"));
  EXPECT_EQ(next.status, 0) << "9: the other command was alive\n" << next.err;
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_THAT(result.err, HasSubstr("stands still"));
}

TEST_F(ToolRedis, KeepsTheLockOfAFrontThatStandsStill) {
  RunningTool tool = start(deaf("400ms"));
  const pid_t command = noted("t");
  tool.signal(SIGSTOP);
  const ToolResult held = call({"holder", store(), "a"});
  const auto since = Clock::now();
  while (Clock::now() - since < std::chrono::milliseconds(1'600)) {  // four leases
    ASSERT_FALSE(is_free(store(), "a"));
  }
  EXPECT_FALSE(is_gone(command));
  tool.signal(SIGCONT);
  ::kill(command, SIGKILL);
  EXPECT_EQ(tool.wait().status, 128 + 9) << "continued, it knows that the lock was kept";
}

TEST_F(ToolRedis, FreesTheLockOfAFrontThatIsKilled) {
  RunningTool tool = start(deaf("1s"));
  const pid_t command = noted("t");
  tool.signal(SIGKILL);
  const ToolResult next = call({"run", store(), "a", "--wait", "20s", "--", "true"});
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_TRUE(is_gone(command));
}

TEST_F(ToolRedis, KeepsANameForItsMinimum) {
  EXPECT_EQ(call({"run", store(), "a", "--min-hold", "1m", "--", "true"}).status, 0);
  EXPECT_EQ(call({"run", store(), "a", "--try", "--", "true"}).status, 75);
}

TEST_F(ToolRedis, TellsTheQueue) {
  RunningTool tool = start(deaf("3s"));
  ASSERT_GT(noted("t"), 0);
  RunningTool waiter = start({"run", store(), "a", "--label", "patient", "--", "true"});
  ToolResult seen;
  EXPECT_TRUE(eventually([&] {
    seen = call({"queue", store(), "a", "--json"});
    return seen.out.find("\"waiters_in_all\":1") != std::string::npos;
  })) << seen.out
      << seen.err;
  EXPECT_THAT(call({"watch", store(), "--once"}).out,
              ::testing::ContainsRegex("a +[^ ]+ +exclusive"));
}

}  // namespace
}  // namespace mortise::test
