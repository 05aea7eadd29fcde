// SPDX-License-Identifier: MIT
// Goal: a slow reader, endless output and endless signals do not keep the tool from looking after
// its lock and its command. Method: a full standard error, output without end, more signals than a
// socket holds.
#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace mortise::test {
namespace {

using Clock = std::chrono::steady_clock;

class ToolBlocked : public ToolTest {
 protected:
  ToolBlocked() {
    EXPECT_EQ(::mkfifo(file("full").c_str(), 0600), 0);
    reader_ = ::open(file("full").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    while (::write(reader_, "x", 1) == 1) {
    }
  }
  ~ToolBlocked() override { ::close(reader_); }
  /// As in `mortise ... 2>&1 | less`, while the reader does not turn the page.
  [[nodiscard]] RunningTool start_unread(const Words& words) {
    Words all{"/bin/sh", "-c", "exec \"$@\" 2>$F/full", "sh", MORTISE_TOOL};
    all.insert(all.end(), words.begin(), words.end());
    return start_program(all);
  }
  void read_no_more() {
    ::close(reader_);
    reader_ = -1;
  }

 private:
  int reader_ = -1;
};

constexpr const char* deaf = "trap '' TERM; note t; while :; do sleep 0.01; done";

TEST_F(ToolBlocked, EndsACommandWhoseHoldIsLostWithoutAReader) {
  RunningTool tool = start_unread(with_shell({"run", "a", "--lease", "600ms"}, deaf));
  const pid_t command = noted("t");
  std::filesystem::remove(file("locks/a.lock"));
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  EXPECT_TRUE(is_free("a"));
  read_no_more();
  EXPECT_EQ(tool.wait().status, 76);
}

TEST_F(ToolBlocked, EndsACommandOfAKilledFrontWithoutAReader) {
  RunningTool tool =
      start_unread(with_shell({"once", "k", "--lease", "600ms"},
                              // More than a pipe holds: the keeper has some of it.
                              "head -c 66000 /dev/zero >&2; note t; while :; do sleep 0.01; done"));
  const pid_t command = noted("t");
  tool.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  const ToolResult next = call({"once", "k", "--wait", "10s", "--", "echo", "next"});
  EXPECT_EQ(next.out, "next\n") << next.err;
  read_no_more();
}

TEST_F(ToolBlocked, KeepsTheKeyOfACommandWithoutAReader) {
  MORTISE_NEEDS_REDIS_SERVER();
  RedisServer server;
  use_store(server.url());
  RunningTool tool = start_unread(
      with_shell({"once", "k", "--lease", "400ms"},
                 "echo a line >&2; note t; until [ -e $F/go ]; do sleep 0.01; done; echo receipt"));
  const pid_t command = noted("t");
  const auto since = Clock::now();
  while (Clock::now() - since < std::chrono::milliseconds(1'600)) {  // four leases
    ASSERT_FALSE(is_gone(command));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  touch("go");
  // Only output without a reader is left. The outcome does not wait for it.
  EXPECT_EQ(call({"once", "k", "--", "echo", "wrong"}).out, "receipt\n");
  EXPECT_EQ(state_of(tool.pid()), 'S');
  tool.signal(SIGTERM);
  EXPECT_EQ(tool.wait().status, 128 + SIGTERM);
}

// The lock is free, so the tool must end without KILL.
TEST_F(ToolBlocked, CanBeEndedWithoutAReader) {
  const Words words{"once", "k", "--", "echo", "receipt"};
  Words all{"/bin/sh", "-c", "exec \"$@\" >$F/full", "sh", MORTISE_TOOL};
  all.insert(all.end(), words.begin(), words.end());
  RunningTool tool = start_program(all);
  EXPECT_TRUE(eventually([&] {
    return call({"once", "k", "--", "false"}).out == "receipt\n";
  })) << "it is recorded";
  RunningTool second = start_program(all);
  ASSERT_TRUE(eventually([&] { return second.keeper() > 0; }));
  for (RunningTool* each : {&tool, &second}) {
    // Repeated until the tool reads it: the tool may not have come this far.
    EXPECT_TRUE(eventually([&] {
      each->signal(SIGTERM);
      return is_gone(each->pid());
    }));
    EXPECT_EQ(each->wait().status, 128 + SIGTERM);
  }
}

// The command writes again before the keeper reads on.
TEST_F(ToolBlocked, HandlesSignalsDuringEndlessOutput) {
  RunningTool tool = start(with_shell({"once", "k"},
                                      "note t; until [ -e $F/go ]; do sleep 0.01; done; "
                                      "for i in 1 2 3 4; do yes & done; note u; exec sleep 1000"));
  const pid_t command = noted("t");
  put_behind(command, tool.keeper());
  touch("go");
  ASSERT_GT(noted("u"), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until they write
  tool.signal(SIGTERM);
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 128 + SIGTERM) << result.err;
  EXPECT_EQ(result.out.size(), 65'536U);
}

// More signals than the link takes, for a stopped keeper.
TEST_F(ToolBlocked, WatchesTheLeaseDuringEndlessSignals) {
  MORTISE_NEEDS_REDIS_SERVER();
  RedisServer server;
  use_store(server.url());
  RunningTool tool =
      start(with_shell({"run", "a", "--lease", "2s"}, std::string("trap '' USR1; ") + deaf));
  const pid_t command = noted("t");
  tool.signal_keeper(SIGSTOP);
  for (int i = 0; i < 5'000 && !is_gone(command); ++i) {
    tool.signal(SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const ToolResult next = call(with_shell(
      {"run", "a"}, "kill -0 " + std::to_string(command) + " 2>/dev/null && exit 9; true"));
  EXPECT_EQ(next.status, 0) << "9: the other command was alive\n" << next.err;
  EXPECT_EQ(tool.wait().status, 76);
}

}  // namespace
}  // namespace mortise::test
