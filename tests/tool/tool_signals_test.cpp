// SPDX-License-Identifier: MIT
// Goal: a signal to the tool reaches the command, and a shell's job control works. Method: send
// each signal; a terminal with a shell of a few lines.
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using ToolSignals = ToolTest;

constexpr const char* until_gone = "while :; do sleep 0.01; done";

TEST_F(ToolSignals, ForwardsEach) {
  const std::pair<int, const char*> all[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},
                                             {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
                                             {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};
  for (const auto& [number, name] : all) {
    const std::string signal = name;
    RunningTool tool =
        start(with_shell({"run", "a"}, "trap 'echo got " + signal + "; exit 9' " + signal +
                                           "; note " + signal + "; " + until_gone));
    ASSERT_GT(noted(signal), 0);
    tool.signal(number);
    const ToolResult result = tool.wait();
    EXPECT_EQ(result.status, 9) << signal << result.err;
    EXPECT_EQ(result.out, "got " + signal + "\n");
  }
  RunningTool tool = start(with_shell({"run", "a"}, std::string("note t; ") + until_gone));
  ASSERT_GT(noted("t"), 0);
  tool.signal(SIGTERM);
  EXPECT_EQ(tool.wait().status, 128 + SIGTERM);
}

TEST_F(ToolSignals, ForwardsToLeftoversOfTheCommand) {
  RunningTool tool = start(with_shell(
      {"run", "a", "--lease", "1h"},
      "sh -c \"trap '' TERM; trap 'echo > $F/got; exit' USR1; echo > $F/ready; "
      "while :; do sleep 0.01; done\" & until [ -e $F/ready ]; do sleep 0.01; done; note t"));
  const pid_t command = noted("t");
  EXPECT_TRUE(eventually([&] { return ::kill(command, 0) != 0; })) << "its status is known";
  tool.signal(SIGUSR1);
  EXPECT_EQ(tool.wait().status, 0);
  EXPECT_TRUE(is_there("got"));
}

// As with nohup.
TEST_F(ToolSignals, LeavesIgnoredOnesIgnored) {
  RunningTool tool = start(with_shell({"run", "a"}, "note t; exec sleep 1000"), {SIGHUP});
  const pid_t command = noted("t");
  RunningTool waiter = start({"run", "a", "--", "true"}, {SIGHUP});
  ASSERT_TRUE(eventually([&] { return waiter.keeper() > 0; }));
  tool.signal(SIGHUP);
  waiter.signal(SIGHUP);
  tool.signal(SIGTERM);
  EXPECT_EQ(tool.wait().status, 128 + SIGTERM);
  EXPECT_TRUE(is_gone(command));
  EXPECT_EQ(waiter.wait().status, 0);
}

TEST_F(ToolSignals, EndAWaitForTheLock) {
  RunningTool holder = start(with_shell({"run", "a"}, "note t; exec sleep 1000"));
  const pid_t command = noted("t");
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    RunningTool waiter = start(with_shell({"run", "a"}, "note wrong"));
    ASSERT_TRUE(eventually([&] { return waiter.keeper() > 0; }));
    waiter.signal(number);
    EXPECT_EQ(waiter.wait().status, 128 + number);
  }
  ::kill(command, SIGKILL);
  holder.wait();
  EXPECT_TRUE(is_free("a"));
  EXPECT_FALSE(is_there("wrong"));
}

// Not a shell that starts other programs: it is sometimes stopped in the middle of a vfork(), and
// its parent then does not see it as stopped.
constexpr const char* sleeps = "note t; exec sleep 1000";

TEST_F(ToolSignals, StopsAndContinuesWithTheCommand) {
  RunningTool tool = start(with_shell({"run", "a"}, sleeps));
  const pid_t command = noted("t");
  const auto states = [&] { return std::string{state_of(command), state_of(tool.pid())}; };
  tool.signal(SIGTSTP);
  EXPECT_TRUE(eventually([&] { return states() == "TT"; })) << states();
  EXPECT_FALSE(is_free("a"));
  tool.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return states() == "SS"; })) << states();
  tool.signal(SIGTERM);
  EXPECT_EQ(tool.wait().status, 128 + SIGTERM);
}

/// A shell with job control, of one job: 0, or the number of the step that went wrong.
int shell_of_one_job(const char* terminal, char* const* words, const char* continued) {
  ::setsid();
  const int fd = ::open(terminal, O_RDWR);
  if (fd < 0 || ::ioctl(fd, TIOCSCTTY, 0) != 0) return 1;
  for (const int each : {0, 1, 2}) ::dup2(fd, each);
  ::signal(SIGTTOU, SIG_IGN);
  const pid_t job = ::fork();
  if (job == 0) {
    ::setpgid(0, 0);
    ::tcsetpgrp(0, ::getpid());
    ::signal(SIGTTOU, SIG_DFL);
    ::execv(words[0], words);
    ::_exit(125);
  }
  ::setpgid(job, job);
  ::tcsetpgrp(0, job);
  int status = 0;
  if (::waitpid(job, &status, WUNTRACED) != job || !WIFSTOPPED(status)) return 2;
  if (WSTOPSIG(status) != SIGTSTP) return 3;
  if (::tcgetpgrp(0) != job) return 4;  // taken back from the command
  ::tcsetpgrp(0, ::getpgrp());
  ::tcsetpgrp(0, job);  // fg
  ::kill(-job, SIGCONT);
  ::close(::open(continued, O_WRONLY | O_CREAT, 0600));
  if (::waitpid(job, &status, WUNTRACED) != job || !WIFEXITED(status)) return 5;
  if (WEXITSTATUS(status) != 128 + SIGINT) return 6;
  return ::tcgetpgrp(0) == job ? 0 : 7;
}

TEST_F(ToolSignals, IsAJobOfAShellOnATerminal) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master) | ::unlockpt(master), 0);
  const std::string terminal = ::ptsname(master);
  Words words = with_shell({"run", "a"}, sleeps);
  words.insert(words.begin(), MORTISE_TOOL);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string continued = file("continued");
  const pid_t shell = ::fork();
  if (shell == 0) ::_exit(shell_of_one_job(terminal.c_str(), pointers.data(), continued.c_str()));

  const pid_t command = noted("t");
  const auto foreground = [&] { return ::tcgetpgrp(master) == command; };
  EXPECT_TRUE(eventually(foreground)) << "the command has the terminal";
  EXPECT_EQ(::write(master, "\x1a", 1), 1);  // ^Z
  EXPECT_TRUE(eventually([&] { return is_there("continued"); })) << "seen as stopped by the shell";
  EXPECT_TRUE(eventually([&] { return state_of(command) != 'T' && foreground(); }));
  EXPECT_EQ(::write(master, "\x03", 1), 1);  // ^C
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(shell, &status, WNOHANG) == shell; });
  if (!ended) ::kill(shell, SIGKILL);
  EXPECT_TRUE(ended);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::close(master);
}

/// A shell with a job of two, `tool | pager`: 0, or the number of the step that went wrong.
int shell_of_a_pager(const char* terminal, char* const* words) {
  ::setsid();
  const int fd = ::open(terminal, O_RDWR);
  if (fd < 0 || ::ioctl(fd, TIOCSCTTY, 0) != 0) return 1;
  for (const int each : {0, 1, 2}) ::dup2(fd, each);
  ::signal(SIGTTOU, SIG_IGN);
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const pid_t job = ::fork();
  if (job == 0) {
    ::setpgid(0, 0);
    ::tcsetpgrp(0, ::getpid());
    ::signal(SIGTTOU, SIG_DFL);
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execv(words[0], words);
    ::_exit(125);
  }
  ::setpgid(job, job);
  ::tcsetpgrp(0, job);
  const pid_t pager = ::fork();
  if (pager == 0) {
    ::setpgid(0, job);
    char line[8] = {};
    if (::read(ends[0], line, 1) != 1) ::_exit(1);  // the page
    ::_exit(::read(0, line, sizeof line) == 2 && line[0] == 'q' ? 0 : 2);
  }
  ::setpgid(pager, job);
  int status = 0;
  if (::waitpid(pager, &status, WUNTRACED) != pager || !WIFEXITED(status)) return 2;
  if (WEXITSTATUS(status) != 0) return 3;
  if (::waitpid(job, &status, WUNTRACED) != job || !WIFEXITED(status)) return 4;
  return WEXITSTATUS(status);
}

// The pager has the keyboard, until the command asks for it.
TEST_F(ToolSignals, LeavesTheTerminalToAPagerOfTheSameJob) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master) | ::unlockpt(master), 0);
  const std::string terminal = ::ptsname(master);
  Words words = with_shell({"run", "a"},
                           "echo page; note t; until [ -e $F/go ]; do sleep 0.01; done; "
                           "read answer; test \"$answer\" = yes");
  words.insert(words.begin(), MORTISE_TOOL);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t shell = ::fork();
  if (shell == 0) ::_exit(shell_of_a_pager(terminal.c_str(), pointers.data()));

  const pid_t command = noted("t");
  EXPECT_EQ(::write(master, "q\n", 2), 2);
  touch("go");
  EXPECT_TRUE(eventually([&] { return ::tcgetpgrp(master) == command; })) << "it has asked for it";
  EXPECT_EQ(::write(master, "yes\n", 4), 4);
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(shell, &status, WNOHANG) == shell; });
  if (!ended) ::kill(shell, SIGKILL);
  EXPECT_TRUE(ended);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::close(master);
}

}  // namespace
}  // namespace mortise::test
