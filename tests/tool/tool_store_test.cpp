// SPDX-License-Identifier: MIT
// Goal: an option, a file or the environment names the store, in one order, and the program reports
// a wrong one. Method: hold a name in one store, and ask for it in each of these ways.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ToolStore : public ToolTest {
 protected:
  void SetUp() override {
    client_.emplace(url());
    guard_ = Guard(client_->make_lock("held"), {.owner = Owner::unique()});
    use_store("redis://127.0.0.1:1");
  }
  void write_url_file(const std::string& text) const { std::ofstream(file("url")) << text; }
  [[nodiscard]] ToolResult list_by_file() { return call({"list", "--url-file", file("url")}); }
  static constexpr const char* held = "lock\theld\n";

 private:
  std::optional<Client> client_;
  Guard guard_;
};

TEST_F(ToolStore, IsNamedByTheEnvironment) {
  use_store(url());
  EXPECT_EQ(call({"list"}).out, held);
}

TEST_F(ToolStore, IsNamedByAnOptionBeforeTheEnvironment) {
  EXPECT_EQ(call({"list", "--url", url()}).out, held);
  EXPECT_EQ(call({"list", "--url=" + url()}).out, held);
}

TEST_F(ToolStore, IsNamedByAFileBeforeTheEnvironment) {
  for (const char* const end : {"", "\n", "\r\n"}) {
    write_url_file(url() + end);
    EXPECT_EQ(list_by_file().out, held);
  }
}

TEST_F(ToolStore, IsNamedByAPipe) {
  const Words words{"/bin/bash", "-c", "exec \"$0\" list --url-file <(printf '%s\\n' \"$1\")",
                    MORTISE_TOOL, url()};
  EXPECT_EQ(start_program(words).wait().out, held);
}

TEST_F(ToolStore, IsNamedByAFileSoThatNoOtherUserSeesThePassword) {
  write_url_file(url());
  RunningTool tool =
      start(with_shell({"run", "a", "--url-file", file("url")}, "note t; exec sleep 1000"));
  ASSERT_GT(noted("t"), 0);
  for (const pid_t each : {tool.pid(), tool.keeper()}) {
    const std::string arguments = text_of("/proc/" + std::to_string(each) + "/cmdline");
    EXPECT_THAT(arguments, HasSubstr("--url-file"));
    EXPECT_THAT(arguments, Not(HasSubstr(url())));
  }
}

TEST_F(ToolStore, IsMissed) {
  ::unsetenv("MORTISE_URL");
  for (const Words& words : {Words{"list"}, Words{"run", "a", "--", "true"}, Words{"migrate"}}) {
    const ToolResult result = call(words);
    EXPECT_EQ(result.status, 64);
    EXPECT_EQ(result.err,
              "mortise: no store is named\n"
              "mortise: Set MORTISE_URL, or add --url-file FILE or --url URL.\n");
  }
  use_store("");
  EXPECT_EQ(call({"list"}).status, 64);
}

TEST_F(ToolStore, IsNotNamedByAnEmptyOption) {
  use_store(url());
  EXPECT_EQ(call({"list", "--url", ""}).status, 64) << "a script's variable was not set";
  EXPECT_EQ(call({"list", "--url-file", ""}).status, 64);
}

TEST_F(ToolStore, IsNotNamedTwice) {
  write_url_file(url());
  EXPECT_EQ(call({"list", "--url", url(), "--url-file", file("url")}).status, 64);
}

TEST_F(ToolStore, IsNotNamedByAFileThatHasNoUrl) {
  const ToolResult none = list_by_file();
  EXPECT_EQ(none.status, 78);
  EXPECT_THAT(none.err, HasSubstr("No such file"));
  write_url_file("\n");
  EXPECT_THAT(list_by_file().err, HasSubstr("is empty"));
  write_url_file("# the store\n" + url() + "\n");
  EXPECT_EQ(list_by_file().status, 78);
  EXPECT_THAT(list_by_file().err, HasSubstr("more than one line"));
  EXPECT_THAT(call({"list", "--url-file", "/dev/zero"}).err, HasSubstr("longer than 65536 bytes"));
  EXPECT_EQ(call({"list", "--url-file", "/"}).status, 78);
}

// The first argument of many other programs is the URL. If the tool took it for a name, every
// client of the store could read the password.
TEST_F(ToolStore, IsNotNamedByItsPlace) {
  use_store(url());
  for (const char* const place :
       {"redis+sentinel://u:secret@h/m", "REDIS://:secret@h", "postgres://u:secret@h/db",
        "Postgresql://u:secret@h/db", "zookeeper+tls://u:secret@h"}) {
    const ToolResult refused = call({"run", place, "--", "true"});
    EXPECT_EQ(refused.status, 64) << place;
    EXPECT_THAT(refused.err, HasSubstr("the name is the URL of a store"));
    EXPECT_THAT(refused.err, Not(HasSubstr("secret")));
  }
  EXPECT_EQ(call({"run", "https://example.org/a", "--", "true"}).status, 0) << "any other name";
  EXPECT_EQ(call({"run", "file:a", "--", "true"}).status, 0);
  EXPECT_EQ(call({"run", "redis://h", "--escaped", "--", "true"}).status, 0);
}

}  // namespace
}  // namespace mortise::test
