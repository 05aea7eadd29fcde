// SPDX-License-Identifier: MIT
// Goal: `mortise once` runs a command once, and each later call gets its output. Method: call it
// repeatedly on `file:`, with commands that count.
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <string>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;

using ToolOnce = ToolTest;

TEST_F(ToolOnce, GivesTheSecondCallTheOutputOfTheFirst) {
  const Words words =
      with_shell({"once", "order/42"}, "echo x >> $F/ran; printf 'receipt \\000 1\\n\\n'");
  const ToolResult first = call(words);
  const ToolResult second = call(words);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, std::string("receipt \0 1\n\n", 13));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(text_of(file("ran")), "x\n");
  EXPECT_EQ(call(with_shell({"once", "order/43"}, "echo other")).out, "other\n");
}

TEST_F(ToolOnce, RunsAFailedKeyAgainWithTheNextNumber) {
  const Words words = with_shell(
      {"once", "k"},
      "echo \"run $MORTISE_RUN\"; echo why >&2; echo no money >&2; test $MORTISE_RUN = 2");
  const ToolResult failed = call(words);
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.out, "run 1\n");
  EXPECT_EQ(failed.err, "why\nno money\n");
  const ToolResult again = call(words);
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.out, "run 2\n");
  EXPECT_EQ(call(words).out, "run 2\n");
}

TEST_F(ToolOnce, RefusesTheSameKeyWithAnotherFingerprint) {
  EXPECT_EQ(call({"once", "k", "--fingerprint", "a", "--", "echo", "1"}).status, 0);
  const ToolResult other = call({"once", "k", "--fingerprint", "b", "--", "echo", "1"});
  EXPECT_EQ(other.status, 65);
  EXPECT_EQ(other.out, "");
}

TEST_F(ToolOnce, RemembersOutputUpToTheLimit) {
  const ToolResult fits = call({"once", "a", "--", "head", "-c", "65536", "/dev/zero"});
  EXPECT_EQ(fits.status, 0) << fits.err;
  EXPECT_EQ(fits.out.size(), 65'536U);
  EXPECT_EQ(call({"once", "a", "--", "false"}).out, fits.out);
  const ToolResult longer = call({"once", "b", "--", "head", "-c", "65537", "/dev/zero"});
  EXPECT_EQ(longer.status, 65);
  EXPECT_THAT(longer.err, HasSubstr("longer than 65536 bytes"));
  EXPECT_EQ(call({"once", "b", "--", "sh", "-c", "echo $MORTISE_RUN"}).out, "2\n");
}

TEST_F(ToolOnce, WaitsForTheRunnerOrReportsThatItIsPending) {
  RunningTool runner = start(
      with_shell({"once", "k"}, "note t; until [ -e $F/go ]; do sleep 0.01; done; echo receipt"));
  ASSERT_GT(noted("t"), 0);
  const ToolResult pending = call({"once", "k", "--wait", "0", "--", "echo", "wrong"});
  EXPECT_EQ(pending.status, 75);
  EXPECT_EQ(pending.out, "");
  RunningTool waiter = start({"once", "k", "--", "echo", "wrong"});
  ASSERT_TRUE(eventually([&] { return waiter.keeper() > 0; }));
  touch("go");
  EXPECT_EQ(runner.wait().out, "receipt\n");
  const ToolResult waited = waiter.wait();
  EXPECT_EQ(waited.status, 0);
  EXPECT_EQ(waited.out, "receipt\n");
}

// The command has ended by itself, with success. The end of the tool after that changes nothing.
TEST_F(ToolOnce, RemembersASuccessEvenIfTheFrontIsKilledAfterIt) {
  RunningTool tool =
      start(with_shell({"once", "k", "--lease", "3s"},
                       "sh -c \"trap '' TERM; echo > $F/deaf; exec sleep 1000\" & "
                       "until [ -e $F/deaf ]; do sleep 0.01; done; echo receipt; note t"));
  const pid_t command = noted("t");
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  tool.signal(SIGKILL);
  EXPECT_EQ(call({"once", "k", "--", "echo", "again"}).out, "receipt\n");
}

TEST_F(ToolOnce, ReportsAKeyOrAnOptionThatCannotWork) {
  for (const Words& words :
       {Words{"once", "", "--", "true"}, Words{"once", "k", "--lease", "1ms", "--", "true"},
        Words{"once", "k", "--keep", "0", "--", "true"},
        Words{"once", std::string(100'000, 'k'), "--", "true"}}) {
    const ToolResult result = call(words);
    EXPECT_EQ(result.status, 78) << result.err;
  }
}

// A caller that takes the exit status for the receipt would lose it.
TEST_F(ToolOnce, FailsIfTheResultCannotBePrinted) {
  const Words full{
      "/bin/sh", "-c", "exec \"$@\" > /dev/full",       "sh", MORTISE_TOOL, "once", "k", "--",
      "sh",      "-c", "echo x >> $F/ran; echo receipt"};
  EXPECT_EQ(start_program(full).wait().status, 74);
  EXPECT_EQ(start_program(full).wait().status, 74);
  EXPECT_EQ(call({"once", "k", "--", "echo", "wrong"}).out, "receipt\n");
  EXPECT_EQ(text_of(file("ran")), "x\n");
}

// Otherwise files of the tool take their place: its own link, a connection, the file of a lock.
TEST_F(ToolOnce, NeedsNoStandardDescriptors) {
  const Words closed{"/bin/sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh", MORTISE_TOOL};
  Words once = closed;
  for (const char* word : {"once", "k", "--", "sh", "-c"}) once.emplace_back(word);
  once.emplace_back("echo receipt; echo error >&2; echo x >> $F/ran");
  EXPECT_EQ(start_program(once).wait().status, 74);
  EXPECT_EQ(call({"once", "k", "--", "echo", "wrong"}).out, "receipt\n");
  EXPECT_EQ(text_of(file("ran")), "x\n");
  Words holder = closed;
  for (const char* word : {"holder", "a"}) holder.emplace_back(word);
  EXPECT_EQ(start_program(holder).wait().status, 74) << "it says 'free'";
  Words look = closed;
  for (const char* word : {"run", "a", "--", "sh", "-c"}) look.emplace_back(word);
  look.emplace_back("ls /proc/$$/fd > $F/fds");
  EXPECT_EQ(start_program(look).wait().status, 0);
  EXPECT_THAT(text_of(file("fds")), ::testing::Not(HasSubstr("0\n1\n2\n")));
}

TEST_F(ToolOnce, StaysPendingIfItsRunnerIsKilled) {
  RunningTool runner = start(with_shell({"once", "k"}, "note t; echo half; sleep 1000"));
  const pid_t command = noted("t");
  runner.signal(SIGKILL);
  const ToolResult next = call(with_shell({"once", "k"}, "echo run $MORTISE_RUN"));
  EXPECT_EQ(next.out, "run 2\n") << next.err;
  EXPECT_TRUE(is_gone(command));
}

}  // namespace
}  // namespace mortise::test
