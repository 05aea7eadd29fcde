// SPDX-License-Identifier: MIT
// Goal: a tool that was stopped, in part or as a whole, does as little as possible under a hold
// that has ended. Method: a Redis of the test's own, SIGSTOP at chosen moments.
#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

class ToolStops : public ToolTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    server_.emplace();
    use_store(server_->url());
  }
  /// Holds "a" until "over" is there.
  [[nodiscard]] RunningTool hold(const std::string& note) {
    return start(
        with_shell({"run", "a"}, "note " + note + "; until [ -e $F/over ]; do sleep 0.01; done"));
  }
  /// Waits for it to be stopped.
  static void stop(pid_t pid) {
    ::kill(pid, SIGSTOP);
    ASSERT_TRUE(eventually([&] { return state_of(pid) == 'T'; }));
  }
  /// It has a child.
  static bool has_forked(pid_t pid) {
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
      if (!text_of(task.path().string() + "/children").empty()) return true;
    }
    return false;
  }

 private:
  std::optional<RedisServer> server_;
};

// TERM is ignored, as a parent may have arranged it: only a command that never started does
// nothing.
TEST_F(ToolStops, DoesNotStartACommandAfterTheHoldHasEnded) {
  RunningTool first = hold("first");
  ASSERT_GT(noted("first"), 0);
  RunningTool tool =
      start(with_shell({"run", "a", "--lease", "3s"}, "note wrong; exec sleep 1000"), {SIGTERM});
  pid_t keeper = 0;
  ASSERT_TRUE(eventually([&] { return (keeper = tool.keeper()) > 0; }));
  stop(tool.pid());
  touch("over");
  EXPECT_EQ(first.wait().status, 0);
  // The keeper has the lock, and a child that waits for `go` of the front.
  ASSERT_TRUE(eventually([&] { return has_forked(keeper); }));
  stop(keeper);
  tool.signal(SIGCONT);
  ASSERT_TRUE(eventually([&] { return state_of(tool.pid()) == 'S'; }));  // `go` is sent
  stop(tool.pid());
  std::filesystem::remove(file("over"));
  RunningTool second = hold("second");
  ASSERT_GT(noted("second"), 0);

  ::kill(keeper, SIGCONT);
  EXPECT_TRUE(eventually([&] { return is_gone(keeper); }));
  tool.signal(SIGCONT);
  EXPECT_EQ(tool.wait().status, 76);
  EXPECT_FALSE(is_there("wrong"));
  touch("over");
  EXPECT_EQ(second.wait().status, 0);
}

TEST_F(ToolStops, KillsTheCommandOfAHoldThatEndedLongAgo) {
  RunningTool tool = start(with_shell({"run", "a", "--lease", "3s"},
                                      "trap 'sleep 0.3; touch $F/went_on' TERM; note t; "
                                      "while :; do sleep 0.01; done"));
  const pid_t command = noted("t");
  const pid_t keeper = tool.keeper();
  ASSERT_GT(keeper, 0);
  stop(tool.pid());
  stop(keeper);
  RunningTool second = hold("second");
  ASSERT_GT(noted("second"), 0);
  ::kill(keeper, SIGCONT);
  EXPECT_TRUE(eventually([&] { return is_gone(keeper); }));
  EXPECT_TRUE(is_gone(command));
  EXPECT_FALSE(is_there("went_on"));
  tool.signal(SIGCONT);
  EXPECT_EQ(tool.wait().status, 76);
  touch("over");
  EXPECT_EQ(second.wait().status, 0);
}

// On one processor, and with a keeper that every process may interrupt, the front completes its
// beginning before the keeper continues.
TEST_F(ToolStops, WatchesTheKeeperFromTheBeginning) {
  RunningTool first = hold("first");
  ASSERT_GT(noted("first"), 0);
  RunningTool tool = start(with_shell({"run", "a", "--lease", "2s"},
                                      "trap '' TERM; note t; while :; do sleep 0.01; done"));
  pid_t keeper = 0;
  ASSERT_TRUE(eventually([&] { return (keeper = tool.keeper()) > 0; }));
  put_behind(tool.pid(), keeper);
  touch("over");
  EXPECT_EQ(first.wait().status, 0);
  const pid_t command = noted("t");
  put_back(command);
  stop(keeper);
  // A zombie does nothing any longer. Its new parent may take its time to reap it.
  const ToolResult next =
      call(with_shell({"run", "a"}, "case $(cut -d ' ' -f 3 /proc/" + std::to_string(command) +
                                        "/stat 2>/dev/null) in '' | Z | X) ;; *) exit 9 ;; esac"));
  EXPECT_EQ(next.status, 0) << "9: the other command was alive\n" << next.err;
  EXPECT_EQ(tool.wait().status, 76);
}

}  // namespace
}  // namespace mortise::test
