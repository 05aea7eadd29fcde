// SPDX-License-Identifier: MIT
// Goal: `mortise run` runs one command at a time, and its status reports the result. Method: run it
// several times at once, on `file:`.
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using ToolRun = ToolTest;

TEST_F(ToolRun, ExitsWithTheCommandsStatus) {
  EXPECT_EQ(call({"run", "a", "--", "true"}).status, 0);
  EXPECT_EQ(call({"run", "a", "--", "sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(call({"run", "a", "--", "sh", "-c", "kill -9 $$"}).status, 128 + 9);
  const ToolResult none = call({"run", "a", "--", "/nowhere/at/all"});
  EXPECT_EQ(none.status, 127);
  EXPECT_THAT(none.err, HasSubstr("cannot run /nowhere/at/all: No such file"));
  EXPECT_EQ(call({"run", "a", "--", "/etc/passwd"}).status, 126);
}

TEST_F(ToolRun, PassesArgumentsOutputTokenAndNameToTheCommand) {
  const Words words{"run", "orders/42",
                    "--",  "sh",
                    "-c",  "printf '%s|' \"$MORTISE_NAME\" \"$MORTISE_TOKEN\" \"$@\"",
                    "sh",  "-x",
                    "",    "[a, b]"};
  const ToolResult first = call(words);
  const ToolResult second = call(words);
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out, ::testing::MatchesRegex(R"(orders/42\|[1-9][0-9]*\|-x\|\|\[a, b\]\|)"));
  const auto token_of = [](const ToolResult& result) {
    return std::stoull(result.out.substr(result.out.find('|') + 1));
  };
  EXPECT_GT(token_of(second), token_of(first));
}

// A descriptor of the tool in there would hide the death of one of its processes.
TEST_F(ToolRun, LeavesTheCommandNoDescriptorOfItsOwn) {
  const Words look{"/bin/sh", "-c", "ls /proc/$$/fd"};
  const std::string plain = start_program(look).wait().out;  // the descriptors of the test
  EXPECT_NE(plain, "");
  for (const char* verb : {"run", "once"}) {
    Words words{verb, "a", "--"};
    words.insert(words.end(), look.begin(), look.end());
    EXPECT_EQ(call(words).out, plain);
  }
}

TEST_F(ToolRun, ReportsTheHolderOfABusyLock) {
  RunningTool other =
      start(with_shell({"run", "a", "--label", "the other"}, "note there; exec sleep 1000"));
  const pid_t command = noted("there");
  const ToolResult tried = call(with_shell({"run", "a", "--try"}, "note wrong"));
  EXPECT_EQ(tried.status, 75);
  EXPECT_THAT(tried.err, HasSubstr("'a' is held by"));
  EXPECT_THAT(tried.err, HasSubstr("the other"));
  EXPECT_EQ(call(with_shell({"run", "a", "--wait", "50ms"}, "note wrong")).status, 75);
  EXPECT_FALSE(is_there("wrong"));
  EXPECT_TRUE(is_free("b"));
  ::kill(command, SIGKILL);
  EXPECT_EQ(other.wait().status, 128 + 9);
  EXPECT_TRUE(is_free("a"));
}

TEST_F(ToolRun, WaitsForItsTurn) {
  RunningTool first =
      start(with_shell({"run", "a"}, "note first; until [ -e $F/go ]; do sleep 0.01; done"));
  ASSERT_GT(noted("first"), 0);
  RunningTool second = start(with_shell({"run", "a"}, "note second"));
  ASSERT_TRUE(eventually([&] { return second.keeper() > 0; }));
  EXPECT_FALSE(is_there("second"));
  touch("go");
  EXPECT_EQ(first.wait().status, 0);
  EXPECT_EQ(second.wait().status, 0);
  EXPECT_TRUE(is_there("second"));
}

TEST_F(ToolRun, LetsReadersRunTogether) {
  RunningTool reader = start(with_shell({"run", "a", "--shared"}, "note r; sleep 1000"));
  ASSERT_GT(noted("r"), 0);
  EXPECT_EQ(call({"run", "a", "--try", "--shared", "--", "true"}).status, 0);
  EXPECT_EQ(call({"run", "a", "--try", "--", "true"}).status, 75);
}

TEST_F(ToolRun, RunsTheNightlyJobOnOneOfFiveHosts) {
  const Words job = with_shell({"run", "nightly", "--try"},
                               "echo $$ >> $F/ran; until [ -e $F/go ]; do sleep 0.01; done");
  std::vector<RunningTool> hosts;
  for (int i = 0; i < 5; ++i) hosts.push_back(start(job));
  const auto sleeping = [&] {
    return std::count_if(hosts.begin(), hosts.end(),
                         [](const RunningTool& host) { return !is_gone(host.pid()); });
  };
  EXPECT_TRUE(eventually([&] { return sleeping() <= 1; }));
  touch("go");
  std::vector<int> statuses;
  for (RunningTool& host : hosts) statuses.push_back(host.wait().status);
  EXPECT_THAT(statuses, ::testing::UnorderedElementsAre(0, 75, 75, 75, 75));
  const std::string ran = text_of(file("ran"));
  EXPECT_EQ(std::count(ran.begin(), ran.end(), '\n'), 1);
}

TEST_F(ToolRun, ReportsMistakesByTheirStatus) {
  EXPECT_EQ(call({"run", "a"}).status, 64);
  EXPECT_EQ(call({"run", "a", "--"}).status, 64);
  EXPECT_EQ(call({"run", "--", "true"}).status, 64);
  EXPECT_EQ(call({"run", "a", "--wait", "soon", "--", "true"}).status, 64);
  EXPECT_EQ(call({"run", "a", "--try", "--wait", "1s", "--", "true"}).status, 64);
  EXPECT_EQ(call({"lend"}).status, 64);
  EXPECT_EQ(call({}).status, 64);
  EXPECT_EQ(call({"--help"}).status, 0);
  EXPECT_EQ(call({"run", "--url", "nowhere://", "a", "--", "true"}).status, 78);
  EXPECT_EQ(call({"run", "a", "--lease", "1ms", "--", "true"}).status, 78);
  EXPECT_EQ(call({"run", "a", "--min-hold", "1s", "--", "true"}).status, 78);
  EXPECT_EQ(call({"run", "--url", "redis://127.0.0.1:1", "a", "--try", "--", "true"}).status, 69);
}

TEST_F(ToolRun, ReportsAShortageOfDescriptors) {
  std::vector<int> seen;
  for (int most = 4; seen.empty() || seen.back() != 0; most += 3) {
    ASSERT_LT(most, 100);
    const ToolResult result =
        start_program({"/bin/sh", "-c", "ulimit -n " + std::to_string(most) + "; exec \"$@\"", "sh",
                       MORTISE_TOOL, "run", "a", "--", "true"})
            .wait();
    if (result.err.find("shared libraries") != std::string::npos) continue;  // it was not started
    seen.push_back(result.status);
    EXPECT_THAT(result.status, ::testing::AnyOf(71, 0)) << most << result.err;
  }
  EXPECT_THAT(seen, ::testing::Contains(71));
}

// An environment cannot contain it, and half of a name is a different name.
TEST_F(ToolRun, PassesNoNameWithANul) {
  const ToolResult result =
      start_program({"/usr/bin/env", "MORTISE_NAME=outer", MORTISE_TOOL, "run", "--escaped",
                     "a\\x00b", "--", "sh", "-c", "echo ${MORTISE_NAME-none}"})
          .wait();
  EXPECT_EQ(result.out, "none\n") << result.err;
}

// The label leads to a process that an administrator can end.
TEST_F(ToolRun, HasTheProcessNumberThatTheShellKnows) {
  RunningTool tool = start(with_shell({"run", "a"}, "note t; exec sleep 1000"));
  ASSERT_GT(noted("t"), 0);
  EXPECT_THAT(call({"holder", "a"}).out, HasSubstr(":" + std::to_string(tool.pid()) + " ("));
}

TEST_F(ToolRun, NeverShowsThePassword) {
  const std::string secret = "redis://shop:hush-hush@127.0.0.1:1";
  for (const Words& words :
       {Words{"run", "--url", secret, "a", "--try", "--", "true"},
        Words{"run", "--url", secret, "a", "b", "--", "true"},
        Words{"check", "--url", secret + "?nonsense=1", "--answer", "100ms"},
        Words{"list", "--url", secret, "--answer", "100ms", "--what"},
        Words{"release", "--url", secret, "a"}, Words{secret, "run"},
        // The option was forgotten.
        Words{"run", secret, "--", "true"}, Words{"list", secret}, Words{"queue", secret},
        Words{"release", "--force", secret}, Words{"once", secret, "--", "true"},
        // A value was forgotten.
        Words{"run", "--lease", secret, "a", "--", "true"}, Words{"watch", "--every=" + secret},
        Words{"list", "--json=" + secret}, Words{"release", "--force", "--token", secret, "a"},
        Words{"holder", "--escaped", "a", secret + "\\"}}) {
    const ToolResult result = call(words);
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("hush-hush"))) << words[0];
  }
}

TEST_F(ToolRun, NeverShowsAnArgumentThatMayBeAUrl) {
  const std::string canary = "CaNaRy7x";
  const auto expect_silence = [&](const Words& words) {
    const ToolResult result = call(words);
    EXPECT_NE(result.status, 0) << words[0];
    EXPECT_THAT(result.out + result.err, Not(::testing::ContainsRegex("[Cc][Aa][Nn][Aa][Rr][Yy]")))
        << words[0];
  };
  for (const char* const pattern :
       {"redis://shop:$", "redis://shop:$:6379", "redis://shop:12/$@h", "redis://shop:pa?$@h",
        "redlock://a,shop:$,b", "redlock://shop:$", "zookeeper://shop:12/$@h",
        "zookeeper://h/a?$=1", "postgresql://shop:12/$@h/x", "postgresql://shop:$@h:x/y", "file:$",
        "file://h/?$", "shop:$@h", "$://h", "$", "mysql://shop:$@h"}) {
    std::string text = pattern;
    text.replace(text.find('$'), 1, canary);
    expect_silence({"check", "--url", text, "--answer", "50ms"});
    expect_silence({"run", text, "a", "--try", "--", "true"});
  }
  // Each place of an argument, with three kinds of URL.
  for (const std::string& text : {"redis://shop:" + canary, "shop:" + canary + "@h", canary}) {
    expect_silence({"run", "--url=" + text, "a", "--try", "--", "true"});
    expect_silence({"migrate", "--url", text});
    expect_silence({"check", text, "--answer", "50ms"});
    expect_silence({"--url", text, "list"});
    expect_silence({text});
    expect_silence({"list", text, text});
    expect_silence({"check", "--url-file", file(text)});
  }
  const std::string secret = "redis://shop:" + canary + "@127.0.0.1:1";
  std::ofstream(file("url")) << secret;
  expect_silence({"check", "--url-file", file("url"), "--answer", "50ms"});
  use_store(secret);
  expect_silence({"check", "--answer", "50ms"});
  use_store(url());
  for (const char* const option :
       {"--answer", "--wait", "--lease", "--every", "--keep", "--url", "--url-file", "--min-hold",
        "--token", "--json", "--escaped", "--what"}) {
    for (const char* const verb : {"run", "watch", "release", "once"}) {
      expect_silence({verb, option, "redis://shop:" + canary});
      expect_silence({verb, std::string(option) + "=" + canary});
    }
  }
}

TEST_F(ToolRun, ReportsACommandThatCannotRun) {
  const ToolResult missing = call({"run", "a", "--", "no\n\x1b[2Jsuch"});
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err,
            "mortise: cannot run no\\x0a\\x1b[2Jsuch: No such file or directory\n"
            "mortise: Correct the path of the program, or set PATH.\n");
  const ToolResult refused = call({"run", "a", "--", "/etc/passwd"});
  EXPECT_EQ(refused.status, 126);
  EXPECT_EQ(refused.err,
            "mortise: cannot run /etc/passwd: Permission denied\n"
            "mortise: Check that the program is an executable file.\n");
}

}  // namespace
}  // namespace mortise::test
