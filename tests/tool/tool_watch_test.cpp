// SPDX-License-Identifier: MIT
// Goal: `mortise watch` is readable on a terminal of 80 columns, stays in its place, and marks
// changes. Method: run it in a real terminal, change the holds with the library, read the screen.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"
#include "tool/tool_terminal.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ToolWatch : public ToolTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS(tmux_missing());
    MORTISE_NEEDS_REDIS_SERVER();
    server_.emplace();
    use_store(server_->url());
    client_.emplace(server_->url());
  }
  [[nodiscard]] Client& client() { return *client_; }
  void watch(const std::string& options = {}) {
    terminal_.emplace(std::string("exec ") + MORTISE_TOOL + " watch --every 2s " + options);
  }
  [[nodiscard]] Terminal& terminal() { return *terminal_; }
  [[nodiscard]] std::string line_with(const std::string& name) const {
    const std::vector<std::string> lines = terminal_->screen();
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(" " + name) != std::string::npos;
    });
    return found == lines.end() ? "" : *found;
  }
  /// Waits until the line of the name begins with the mark. An empty mark: until the line has gone.
  [[nodiscard]] bool comes(const std::string& mark, const std::string& name) const {
    return eventually([&] {
      const std::string line = line_with(name);
      return mark.empty() ? line.empty() && !terminal_->screen().at(1).empty()
                          : line.starts_with(mark + " " + name + " ");
    });
  }
  [[nodiscard]] std::string whole_screen() const {
    std::string all;
    for (const std::string& line : terminal_->screen()) all += line + "\n";
    return all;
  }

 private:
  std::optional<RedisServer> server_;
  std::optional<Client> client_;
  std::optional<Terminal> terminal_;
};

TEST_F(ToolWatch, MarksChangesSinceTheLastUpdate) {
  Guard first(client().make_lock("orders/1", {.label = "web1:10"}));
  watch();
  ASSERT_TRUE(comes(" ", "orders/1")) << whole_screen();
  EXPECT_THAT(line_with("orders/1"), HasSubstr("web1:10"));
  EXPECT_THAT(line_with("orders/1"), HasSubstr("exclusive"));
  Guard second(client().make_lock("orders/2", {.label = "web2:20"}));
  EXPECT_TRUE(comes("+", "orders/2")) << whole_screen();
  EXPECT_TRUE(comes(" ", "orders/2")) << "at the next update it is not new\n" << whole_screen();
  Client other(std::string(std::getenv("MORTISE_URL")));
  std::jthread waiter([&](std::stop_token stop) {
    std::error_code ec;
    const Guard waits(other.make_lock("orders/1"), {.stop = std::move(stop)}, ec);
  });
  EXPECT_TRUE(comes("*", "orders/1")) << whole_screen();
  EXPECT_THAT(line_with("orders/1"), ::testing::EndsWith(" 1"));
  second.unlock();
  EXPECT_TRUE(comes("-", "orders/2")) << whole_screen();
  EXPECT_TRUE(comes("", "orders/2")) << whole_screen();
}

TEST_F(ToolWatch, StaysInItsPlace) {
  Guard guard(client().make_lock("orders/1"));
  watch();
  ASSERT_TRUE(comes(" ", "orders/1")) << whole_screen();
  const std::string clock = terminal().screen().at(0);
  EXPECT_TRUE(eventually([&] { return terminal().screen().at(0) != clock; })) << whole_screen();
  const std::vector<std::string> lines = terminal().screen();
  EXPECT_THAT(lines.at(1), StartsWith("  NAME"));
  EXPECT_THAT(lines.at(2), StartsWith("  orders/1 "));
  for (std::size_t i = 3; i < lines.size(); ++i) EXPECT_EQ(lines[i], "") << i;
  EXPECT_EQ(terminal().scrolled(), 0);
}

TEST_F(ToolWatch, FitsEightyColumnsWithNamesOfAnyLength) {
  const std::string name = std::string(100, 'n') + "end";
  Guard guard(client().make_lock(name, {.label = std::string(90, 'h')}));
  Guard small(client().make_lock("small", {.label = "web1:10"}));
  watch();
  ASSERT_TRUE(comes(" ", "small")) << whole_screen();
  const std::vector<std::string> lines = terminal().screen();
  EXPECT_THAT(lines.at(1), ::testing::MatchesRegex("  NAME +HOLDER +MODE +AGE +LEFT +WAITERS"));
  EXPECT_THAT(lines.at(2), ::testing::MatchesRegex("  n+~ h+~ exclusive [0-9a-z]+ +[0-9a-z]+ +0"));
  EXPECT_THAT(lines.at(3), StartsWith("  small "));
  EXPECT_EQ(lines.at(1).find("HOLDER"), lines.at(2).find(" h") + 1) << whole_screen();
  EXPECT_EQ(lines.at(1).find("HOLDER"), lines.at(3).find("web1:10")) << whole_screen();
  terminal().resize(120, 24);
  EXPECT_TRUE(eventually([&] { return terminal().screen().at(2).size() > 90; }))
      << "it follows the size of the terminal\n"
      << whole_screen();
}

TEST_F(ToolWatch, ShowsSemaphoresAndKeysNextToLocks) {
  Guard lock(client().make_lock("a/lock"));
  Semaphore semaphore = client().make_semaphore("a/mail", 2);
  const Permit permit = semaphore.acquire();
  mortise::Run run = client().make_once("a/invoice").begin();
  ASSERT_TRUE(run);
  watch();
  ASSERT_TRUE(comes(" ", "a/lock")) << whole_screen();
  EXPECT_THAT(line_with("a/mail"), HasSubstr(" permit "));
  EXPECT_THAT(line_with("a/invoice"), HasSubstr(" once "));
  watch("--semaphores");
  ASSERT_TRUE(comes(" ", "a/mail")) << whole_screen();
  EXPECT_EQ(line_with("a/lock"), "");
  EXPECT_EQ(line_with("a/invoice"), "");
  run.give_back();
}

TEST_F(ToolWatch, ShowsAsMuchAsFits) {
  std::vector<Guard> guards;
  for (int i = 100; i < 140; ++i) {
    guards.emplace_back(client().make_lock("name" + std::to_string(i)),
                        AcquireOptions{.owner = Owner::unique()});
  }
  watch();
  ASSERT_TRUE(comes(" ", "name100")) << whole_screen();
  std::vector<std::string> lines = terminal().screen();
  EXPECT_THAT(lines.at(21), StartsWith("  name119 ")) << whole_screen();
  EXPECT_THAT(lines.at(22), StartsWith("... and more, of 40 names in all")) << whole_screen();
  terminal().resize(80, 40);
  ASSERT_TRUE(eventually([&] { return !line_with("name130").empty(); })) << whole_screen();
  EXPECT_THAT(line_with("name130"), StartsWith("  ")) << "what comes into view has not begun";
}

TEST_F(ToolWatch, LeavesTheLastTableWhenItEnds) {
  Guard guard(client().make_lock("orders/1"));
  const std::string tool = MORTISE_TOOL;
  Terminal shell("PS1='ready ' sh -i");
  shell.type(tool + " watch");
  shell.press("Enter");
  const auto sees = [&](const std::string& text) {
    return eventually([&] {
      const std::vector<std::string> lines = shell.screen();
      return std::any_of(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.starts_with(text); });
    });
  };
  ASSERT_TRUE(sees("  orders/1 "));
  shell.press("C-c");
  EXPECT_TRUE(eventually([&] {
    const std::vector<std::string> lines = shell.screen();
    return std::any_of(lines.begin() + 3, lines.end(), [](const std::string& line) {
      return line.find("ready") != std::string::npos;
    });
  }));
  EXPECT_TRUE(sees("  orders/1 "));
}

}  // namespace
}  // namespace mortise::test
