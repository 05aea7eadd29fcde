// SPDX-License-Identifier: MIT
// Goal: no process of a command outlives its hold, even if one of the tool's two processes dies or
// is stopped. Method: kill and stop them, take the lock away, and look for the command's processes.
#include "model/build.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;

using ToolDeaths = ToolTest;

// A child in the background, and one that has left group and session. Both ignore TERM.
constexpr const char* family =
    "trap '' TERM; sh -c 'echo $$ > $F/child; exec sleep 1000' & "
    "setsid sh -c 'echo $$ > $F/stray.new; mv $F/stray.new $F/stray; exec sleep 1000' & "
    "until [ -s $F/child -a -e $F/stray ]; do sleep 0.01; done; ";

TEST_F(ToolDeaths, EndsLeftoversBeforeTheLockIsFree) {
  const ToolResult result =
      call(with_shell({"run", "a", "--lease", "600ms"}, std::string(family) + "exit 3"));
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_TRUE(is_gone(noted("child")));
  EXPECT_TRUE(is_gone(noted("stray")));
  EXPECT_TRUE(is_free("a"));
}

TEST_F(ToolDeaths, AsksLeftoversBeforeItKillsThem) {
  const ToolResult result = call(
      with_shell({"run", "a"},
                 "sh -c 'trap \"echo tidied > $F/tidied; exit\" TERM; echo > $F/ready; "
                 "while :; do sleep 0.01; done' & until [ -e $F/ready ]; do sleep 0.01; done"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(text_of(file("tidied")), "tidied\n");
}

TEST_F(ToolDeaths, OfTheFrontEndTheCommandAndFreeTheLock) {
  RunningTool tool = start(
      with_shell({"run", "a", "--lease", "600ms"}, std::string(family) + "note t; sleep 1000"));
  const pid_t command = noted("t");
  EXPECT_FALSE(is_free("a"));
  tool.signal(SIGKILL);
  const ToolResult next = call({"run", "a", "--wait", "20s", "--", "true"});
  EXPECT_EQ(next.status, 0) << next.err;
  for (const pid_t pid : {command, noted("child"), noted("stray")}) EXPECT_TRUE(is_gone(pid));
}

TEST_F(ToolDeaths, OfAFrontThatWaitsTakeItsPlaceInTheQueueAway) {
  RunningTool holder = start(with_shell({"run", "a"}, "note h; exec sleep 1000"));
  const pid_t command = noted("h");
  RunningTool waiter = start(with_shell({"run", "a"}, "note wrong"));
  pid_t keeper = 0;
  ASSERT_TRUE(eventually([&] { return (keeper = waiter.keeper()) > 0; }));
  waiter.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_gone(keeper); }));
  ::kill(command, SIGKILL);
  holder.wait();
  EXPECT_TRUE(is_free("a"));
  EXPECT_FALSE(is_there("wrong"));
}

TEST_F(ToolDeaths, OfTheKeeperEndTheCommandAtOnce) {
  RunningTool tool = start(with_shell({"run", "a"}, std::string(family) + "note t; sleep 1000"));
  const pid_t command = noted("t");
  const pid_t keeper = tool.keeper();
  ASSERT_GT(keeper, 0);
  ::kill(keeper, SIGKILL);
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_THAT(result.err, HasSubstr("has died"));
  for (const pid_t pid : {command, noted("child"), noted("stray")}) EXPECT_TRUE(is_gone(pid));
  EXPECT_TRUE(is_free("a"));
}

// Leaves its group and session. Its main thread ends, another one goes on: the state is Z.
constexpr const char* headless =
    "import ctypes, os, threading, time\n"
    "os.setsid()\n"
    "def work():\n"
    "  while True: time.sleep(0.01)\n"
    "threading.Thread(target=work).start()\n"
    "with open(os.environ['F'] + '/headless.new', 'w') as file: file.write(str(os.getpid()))\n"
    "os.rename(os.environ['F'] + '/headless.new', os.environ['F'] + '/headless')\n"
    "SYS_exit = {'x86_64': 60}.get(os.uname().machine, 93)\n"
    "ctypes.CDLL(None).syscall(SYS_exit, 0)\n";

TEST_F(ToolDeaths, EndAProcessWhoseMainThreadHasEnded) {
  std::ofstream(file("headless.py")) << headless;
  const std::string begin =
      "python3 $F/headless.py & until [ -s $F/headless ]; do sleep 0.01; done; ";
  RunningTool tool =
      start(with_shell({"run", "a", "--lease", "600ms"}, begin + "note t; sleep 1000"));
  ASSERT_GT(noted("t"), 0);
  const pid_t of_keeper = noted("headless");
  ASSERT_TRUE(eventually([&] { return state_of(of_keeper) == 'Z'; }));
  EXPECT_FALSE(is_gone(of_keeper));
  std::filesystem::remove(file("locks/a.lock"));
  EXPECT_EQ(tool.wait().status, 76);
  EXPECT_TRUE(is_gone(of_keeper)) << "the keeper has left it";

  std::filesystem::remove(file("headless"));
  RunningTool next = start(with_shell({"run", "b"}, begin + "note u; sleep 1000"));
  ASSERT_GT(noted("u"), 0);
  const pid_t of_front = noted("headless");
  ASSERT_TRUE(eventually([&] { return state_of(of_front) == 'Z'; }));
  next.signal_keeper(SIGKILL);
  EXPECT_EQ(next.wait().status, 76);
  EXPECT_TRUE(is_gone(of_front)) << "the front has left it";
}

TEST_F(ToolDeaths, AreNotOverWhileAThreadOfTheCommandWorks) {
  std::ofstream(file("headless.py")) << headless;
  const ToolResult result = call(
      with_shell({"run", "a", "--lease", "600ms"},
                 "python3 $F/headless.py & until [ -s $F/headless ]; do sleep 0.01; done; exit 3"));
  EXPECT_EQ(result.status, 3) << result.err;
  EXPECT_TRUE(is_gone(noted("headless")));
  EXPECT_TRUE(is_free("a"));
}

// Each member is gone before a list of processes can show it: only its group can be signalled.
constexpr const char* chains =
    "import os, signal\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "for i in range(4):\n"
    "  if os.fork() == 0:\n"
    "    while not os.path.exists(os.environ['F'] + '/stop'):\n"
    "      if os.fork(): os._exit(0)\n"
    "    os._exit(0)\n"
    "open(os.environ['F'] + '/chained', 'w').close()\n";

TEST_F(ToolDeaths, EndProcessesThatForkFasterThanProcCanBeRead) {
  std::ofstream(file("chains.py")) << chains;
  RunningTool tool = start(with_shell({"run", "a", "--lease", "600ms"},
                                      "python3 $F/chains.py; note t; exec sleep 1000"));
  ASSERT_GT(noted("t"), 0);
  std::filesystem::remove(file("locks/a.lock"));
  EXPECT_EQ(tool.wait().status, 76);
  RunningTool next = start(with_shell({"run", "b", "--lease", "600ms"},
                                      "python3 $F/chains.py; note u; exec sleep 1000"));
  ASSERT_GT(noted("u"), 0);
  const std::string group = std::to_string(noted("u"));
  next.signal_keeper(SIGKILL);
  EXPECT_EQ(next.wait().status, 76);
  EXPECT_NE(::kill(-std::atoi(group.c_str()), 0), 0) << "the front has left some";
  touch("stop");
}

// Without any list of processes, as in a bare root.
TEST_F(ToolDeaths, EndTheGroupEvenWithoutProc) {
  if (model::under_address_sanitizer) GTEST_SKIP() << "the sanitizer itself reads /proc";
  const Words bare{
      "/usr/bin/unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"};
  Words allowed = bare;
  allowed.emplace_back("true");
  if (start_program(allowed).wait().status != 0) GTEST_SKIP() << "no right to unmount /proc";
  for (const bool keeper_dies : {false, true}) {
    const std::string name = keeper_dies ? "b" : "a";
    Words words = with_shell({MORTISE_TOOL, "run", name, "--lease", "600ms"},
                             "trap '' TERM; sh -c 'echo $$ > $F/child" + name +
                                 "; exec sleep 1000' & until [ -s $F/child" + name +
                                 " ]; do sleep 0.01; done; note t" + name + "; exec sleep 1000");
    words.insert(words.begin(), bare.begin(), bare.end());
    RunningTool tool = start_program(words);
    const pid_t command = noted("t" + name);
    if (keeper_dies) {
      tool.signal_keeper(SIGKILL);
    } else {
      std::filesystem::remove(file("locks/a.lock"));
    }
    EXPECT_EQ(tool.wait().status, 76);
    for (const pid_t pid : {command, noted("child" + name)}) EXPECT_TRUE(is_gone(pid)) << name;
  }
}

// A keeper that unwinds its stack must not free the lock while the command works.
TEST_F(ToolDeaths, OfAKeeperWithoutMemoryEndTheCommand) {
  if (model::under_sanitizer) GTEST_SKIP() << "without memory the sanitizer ends the keeper";
  Words words = with_shell(
      {"/usr/bin/env", "MALLOC_ARENA_MAX=1", "MALLOC_TOP_PAD_=0", MORTISE_TOOL, "once", "k"},
      std::string(family) +
          "note t; until [ -e $F/go ]; do sleep 0.01; done; "
          "head -c 65536 /dev/zero; sleep 1000");
  RunningTool tool = start_program(words);
  const pid_t command = noted("t");
  const rlimit none{1, 1};
  ASSERT_EQ(::prlimit(tool.keeper(), RLIMIT_AS, &none, nullptr), 0);
  touch("go");
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76) << result.err;
  for (const pid_t pid : {command, noted("child"), noted("stray")}) EXPECT_TRUE(is_gone(pid));
}

// No process of the tool is left to end the command: the kernel does.
TEST_F(ToolDeaths, OfTheKeeperEndTheCommandEvenIfTheFrontIsStopped) {
  RunningTool tool = start(with_shell({"run", "a"}, "note t; exec sleep 1000"));
  const pid_t command = noted("t");
  const pid_t keeper = tool.keeper();
  ASSERT_GT(keeper, 0);
  tool.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(tool.pid()) == 'T'; }));
  ::kill(keeper, SIGKILL);
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  EXPECT_EQ(state_of(tool.pid()), 'T');
}

TEST_F(ToolDeaths, LeaveProcessesOfOthersAlone) {
  // A shell with a job becomes the tool by exec(). Then the job is a child of the tool.
  RunningTool tool = start_program({"/bin/sh", "-c", "sleep 1000 & echo $! > $F/own; exec \"$@\"",
                                    "sh", MORTISE_TOOL, "run", "a", "--", "sh", "-c",
                                    "echo $$ > $F/t.new; mv $F/t.new $F/t; sleep 1000"});
  const pid_t command = noted("t");
  const pid_t own = noted("own");
  const std::string children = text_of("/proc/" + std::to_string(tool.pid()) + "/task/" +
                                       std::to_string(tool.pid()) + "/children");
  const std::string first = std::to_string(own) + " ";
  ASSERT_EQ(children.find(first), 0U) << children;
  ::kill(std::atoi(children.c_str() + first.size()), SIGKILL);  // the keeper
  EXPECT_EQ(tool.wait().status, 76);
  EXPECT_TRUE(is_gone(command));
  EXPECT_FALSE(is_gone(own));
  ::kill(own, SIGKILL);
}

TEST_F(ToolDeaths, OfTheHoldEndACommandThatListens) {
  RunningTool tool = start(with_shell(
      {"run", "a"}, "trap 'echo tidied; exit 0' TERM; note t; while :; do sleep 0.01; done"));
  ASSERT_GT(noted("t"), 0);
  std::filesystem::remove(file("locks/a.lock"));
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_EQ(result.out, "tidied\n");
  EXPECT_THAT(result.err, HasSubstr("the hold of 'a' was lost"));
}

TEST_F(ToolDeaths, OfTheHoldEndACommandThatDoesNot) {
  RunningTool tool = start(
      with_shell({"run", "a", "--lease", "600ms"}, std::string(family) + "note t; sleep 1000"));
  const pid_t command = noted("t");
  std::filesystem::remove(file("locks/a.lock"));
  EXPECT_EQ(tool.wait().status, 76);
  for (const pid_t pid : {command, noted("child"), noted("stray")}) EXPECT_TRUE(is_gone(pid));
}

}  // namespace
}  // namespace mortise::test
