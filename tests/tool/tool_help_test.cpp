// SPDX-License-Identifier: MIT
// Goal: help fits a terminal, its examples work, and the completions of the shells and the pages
// have the same options and statuses as the program. Method: read what the program prints, run its
// examples, and ask bash, zsh and fish what they complete.
#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"
#include "tool/tool_terminal.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// @return the matches of the pattern's first group in all lines.
std::set<std::string> all_matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (const std::string& line : lines_in(text)) {
    for (std::sregex_iterator each(line.begin(), line.end(), regex), end; each != end; ++each) {
      found.insert((*each)[1].str());
    }
  }
  return found;
}

class ToolHelp : public ToolTest {
 protected:
  [[nodiscard]] std::string help(const Words& verb = {}) {
    Words words = verb;
    words.emplace_back("--help");
    const ToolResult result = call(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  [[nodiscard]] std::set<std::string> verbs() { return all_matches(help(), "^  ([a-z]+) +[a-z]"); }
  [[nodiscard]] std::set<std::string> options(const std::string& verb) {
    return all_matches(help({verb}), "^  (?:-h,)?(--[a-z-]+)");
  }
  /// @return the output of a shell that runs a script.
  [[nodiscard]] std::string by(const Words& shell) { return start_program(shell).wait().out; }
  [[nodiscard]] static std::string source(const std::string& path) {
    return MORTISE_TESTS_DIR "/../" + path;
  }
};

TEST_F(ToolHelp, FitsATerminal) {
  std::vector<std::string> pages{help()};
  for (const std::string& verb : verbs()) pages.push_back(help({verb}));
  ASSERT_EQ(pages.size(), 12U) << pages[0];
  for (const std::string& page : pages) {
    const std::vector<std::string> lines = lines_in(page);
    EXPECT_LE(lines.size(), 24U) << page;
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << page;
  }
}

TEST_F(ToolHelp, HasAnExampleThatWorksForEachCommand) {
  MORTISE_NEEDS_REDIS_SERVER();
  const RedisServer server;
  use_store(server.url());
  const std::filesystem::path programs = file("bin");
  std::filesystem::create_directory(programs);
  std::filesystem::create_symlink(MORTISE_TOOL, programs / "mortise");
  for (const char* const name : {"make-report", "charge-card"}) {
    std::ofstream(programs / name) << "#!/bin/sh\necho done\n";
    std::filesystem::permissions(programs / name, std::filesystem::perms::owner_all);
  }
  for (const std::string& verb : verbs()) {
    const std::vector<std::string> lines = lines_in(help({verb}));
    const auto title = std::find(lines.begin(), lines.end(), "Example:");
    ASSERT_LT(std::distance(title, lines.end()), 4) << verb;
    ASSERT_GE(std::distance(title, lines.end()), 2) << verb;
    std::string example = *std::next(title);
    ASSERT_THAT(example, ::testing::StartsWith("  mortise " + verb)) << verb;
    if (verb == "watch") example += " --once";
    if (verb == "migrate") example += " --print";
    const ToolResult result =
        start_program(
            {"/usr/bin/env", "PATH=" + programs.string() + ":/usr/bin:/bin", "sh", "-c", example})
            .wait();
    EXPECT_THAT(result.status, ::testing::AnyOf(0, 1)) << example << "\n" << result.err;
    EXPECT_EQ(result.err, "") << example;
  }
}

TEST_F(ToolHelp, ReportsTheMistakeAndTheAdvice) {
  const std::string commands = "Run 'mortise --help' for the list of commands.";
  const std::string program = "Write the program and its arguments at the end, after \"--\".";
  const auto options = [](const std::string& verb) {
    return "Run 'mortise " + verb + " --help' for its options.";
  };
  struct Wrong {
    Words words;
    std::string what;
    std::string advice;
  };
  const std::vector<Wrong> all{
      {{}, "no command is given", commands},
      {{"lst"}, "there is no command 'lst'", commands},
      {{"lst", "--json"}, "there is no command 'lst'", commands},
      {{"Lst"}, "the first argument is not a command", commands},
      // It may be a password.
      {{"hunter2"}, "the first argument is not a command", commands},
      {{"--json", "list"},
       "there is no option --json before the command",
       "Write the options after the command, as in 'mortise list --json'."},
      {{"list", "--what"}, "'mortise list' has no option --what", options("list")},
      {{"list", "--what=x", "a"}, "'mortise list' has no option --what", options("list")},
      {{"list", "-w"}, "'mortise list' has no option -w", options("list")},
      {{"list", "--What"}, "'mortise list' has no option of this spelling", options("list")},
      {{"list", "--correct-horse-battery"},
       "'mortise list' has no option of this spelling",
       options("list")},
      {{"list", "a", "b"}, "'mortise list' has one argument too many", options("list")},
      {{"list", "--json=x"}, "an option has a value that it does not accept", options("list")},
      {{"run", "--what", "--", "true"}, "'mortise run' has no option --what", options("run")},
      {{"run", "a"}, "'mortise run' has no program to run", program},
      {{"run", "a", "true"}, "'mortise run' has no program to run", program},
      {{"run", "--", "true"}, "NAME is required", options("run")},
      {{"run", "a", "--wait", "--", "true"}, "--wait needs a value", options("run")},
      {{"run", "a", "--wait", "1", "--wait", "2", "--", "true"},
       "--wait is given more than once",
       options("run")},
      {{"run", "a", "--try", "--wait", "1s", "--", "true"},
       "--wait excludes --try",
       options("run")},
      {{"run", "a", "--lease", "soon", "--", "true"},
       "--lease: takes a duration such as 250ms, 10s or 2h",
       options("run")},
      {{"holder", "--escaped", "a\\"},
       "--escaped: a backslash in the name is not the start of an escape",
       R"(Write a byte as \xNN, and a backslash as \\.)"},
      {{"watch", "--json"}, "--json requires --once", options("watch")},
      {{"release", "a"},
       "'mortise release' needs --force, because the holder may still be working",
       "End the holder's process if you can. If you cannot, add --force."},
      {{"release", "--force", "a", "--semaphores"},
       "--semaphores requires --token",
       options("release")},
      {{"release", "--force", "a", "--token", "x"},
       "--token: takes the token of a hold, as 'mortise queue' prints it",
       options("release")}};
  for (const Wrong& wrong : all) {
    const ToolResult result = call(wrong.words);
    EXPECT_EQ(result.status, 64) << wrong.what;
    EXPECT_EQ(result.err, "mortise: " + wrong.what + "\nmortise: " + wrong.advice + "\n");
  }
}

// The library names fields of its options, which a user of the program does not know.
TEST_F(ToolHelp, NamesTheOptionOfTheProgram) {
  const std::string long_text(129, 'x');
  const std::vector<std::pair<Words, std::string>> all{
      {{"run", "a", "--lease", "1ms", "--", "true"}, "--lease"},
      {{"once", "a", "--lease", "1ms", "--", "true"}, "--lease"},
      {{"run", "a", "--label", long_text, "--", "true"}, "--label"},
      {{"once", "a", "--label", long_text, "--", "true"}, "--label"},
      {{"run", "a", "--min-hold", "2d", "--", "true"}, "--min-hold"},
      {{"run", "a", "--min-hold", "1s", "--shared", "--", "true"}, "--shared"},
      {{"once", "a", "--keep", "1ms", "--", "true"}, "--keep"},
      {{"once", "a", "--fingerprint", long_text, "--", "true"}, "--fingerprint"}};
  for (const auto& [words, option] : all) {
    const ToolResult result = call(words);
    EXPECT_EQ(result.status, 78) << result.err;
    EXPECT_THAT(result.err, HasSubstr(option));
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("::"))) << option;
  }
}

TEST_F(ToolHelp, IsWhatBashCompletes) {
  const auto completed = [&](const std::string& words, int at) {
    const std::string script = "source " + source("tool/mortise.bash") + "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(at) +
                               "; _mortise; printf '%s\\n' \"${COMPREPLY[@]}\"";
    return all_matches(by({"/bin/bash", "-c", script}), "^(.+)$");
  };
  std::set<std::string> first = verbs();
  EXPECT_EQ(completed("mortise ''", 1), (first.insert({"--help", "--version"}), first));
  for (const std::string& verb : verbs()) {
    EXPECT_EQ(completed("mortise " + verb + " --", 2), options(verb)) << verb;
  }
  EXPECT_EQ(completed("mortise run a --wait 10", 4), (std::set<std::string>{"10s", "10m"}));
  EXPECT_THAT(completed("mortise run a -- prin", 4), ::testing::Contains("printf"));
}

TEST_F(ToolHelp, IsWhatFishCompletes) {
  MORTISE_NEEDS(std::string(std::system("command -v fish >/dev/null 2>&1") == 0 ? "" : "fish"));
  const auto completed = [&](const std::string& line) {
    return all_matches(
        by({"/usr/bin/env", "HOME=" + file(""), "fish", "--no-config", "-c",
            "source " + source("tool/mortise.fish") + "; complete -C '" + line + "'"}),
        "^([^\t\n]+)");
  };
  EXPECT_EQ(completed("mortise "), verbs());
  for (const std::string& verb : verbs()) {
    EXPECT_EQ(completed("mortise " + verb + " --"), options(verb)) << verb;
  }
  EXPECT_EQ(completed("mortise run once --"), options("run")) << "a name is not a command";
  EXPECT_EQ(completed("mortise run a --wait 10"), (std::set<std::string>{"10s", "10m"}));
  EXPECT_THAT(completed("mortise run a -- prin"), ::testing::Contains("printf"));
}

TEST_F(ToolHelp, IsWhatZshCompletes) {
  MORTISE_NEEDS(tmux_missing());
  MORTISE_NEEDS(std::string(std::system("command -v zsh >/dev/null 2>&1") == 0 ? "" : "zsh"));
  std::filesystem::create_directory(file("functions"));
  std::filesystem::copy_file(source("tool/mortise.zsh"), file("functions/_mortise"));
  std::ofstream(file(".zshrc")) << "fpath=($F/functions $fpath)\n"
                                   "autoload -U compinit && compinit -u -D\n"
                                   "PS1='ready> '\n"
                                   "LISTMAX=1000\n";
  Terminal shell("cd $F && ZDOTDIR=$F exec zsh -d -i");
  const auto screen = [&] {
    std::string all;
    for (const std::string& line : shell.screen()) all += line + "\n";
    return all;
  };
  ASSERT_TRUE(eventually([&] { return screen().starts_with("ready>"); })) << screen();
  const auto completed = [&](const std::string& line, const std::set<std::string>& wanted,
                             const std::string& pattern) {
    shell.press("C-u");
    shell.press("C-l");
    shell.type(line);
    shell.press("Tab");
    EXPECT_TRUE(eventually([&] { return all_matches(screen(), pattern) == wanted; }))
        << line << "\n"
        << screen();
  };
  completed("mortise ", verbs(), "^([a-z]+) +-- ");
  for (const std::string& verb : verbs()) {
    completed("mortise " + verb + " --", options(verb), "^(--[a-z-]+) +-- ");
  }
  completed("mortise run a --wait 10", {"10m", "10s"}, "(?:^| )(10[sm])(?= |$)");
  shell.press("C-u");
  shell.press("C-l");
  shell.type("mortise run a -- readli");
  shell.press("Tab");
  EXPECT_TRUE(eventually([&] { return screen().find("readlink") != std::string::npos; }))
      << screen();
}

// The table of statuses is for a person. The program exits with the values of the enumeration.
TEST_F(ToolHelp, HasOneListOfStatuses) {
  const std::set<std::string> used =
      all_matches(text_of(source("tool/status.hpp")), "^  [a-z_]+ = ([0-9]+),");
  ASSERT_GE(used.size(), 12U);
  std::set<std::string> in_page;
  for (const std::string& line : lines_in(text_of(source("docs/cli.md")))) {
    std::smatch row;
    if (std::regex_search(line, row,
                          std::regex(R"(^\| (?:128 \+ n|([0-9]+)(?:, ([0-9]+))?) \|)"))) {
      if (!row[1].matched) in_page.insert("128");
      for (const std::size_t i : {1U, 2U}) {
        if (row[i].matched) in_page.insert(row[i].str());
      }
    }
  }
  EXPECT_EQ(in_page, used);
  const std::string manual = text_of(source("tool/mortise.1"));
  std::set<std::string> in_manual = all_matches(manual, R"(^\.BR? "?([0-9]+))");
  in_manual.merge(all_matches(manual, R"(^\.BR [0-9]+ ", " ([0-9]+)$)"));
  EXPECT_EQ(in_manual, used);
}

}  // namespace
}  // namespace mortise::test
