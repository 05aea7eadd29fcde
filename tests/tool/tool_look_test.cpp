// SPDX-License-Identifier: MIT
// Goal: the commands for administrators show the holds, and names of any bytes neither break JSON
// nor control a terminal. Method: hold hostile names with the library, and parse the program's
// output.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "support/hostile_names.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;

class ToolLook : public ToolTest {
 protected:
  void hold(const std::vector<std::string>& names) {
    if (!client_) client_ = std::make_unique<Client>(url());
    for (const std::string& name : names) {
      guards_.emplace_back(
          client_->make_lock(name, {.label = "host:1"}),
          AcquireOptions{.wait = std::chrono::seconds(10), .owner = Owner::unique()});
    }
  }

 private:
  std::unique_ptr<Client> client_;
  std::vector<Guard> guards_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(ToolLook, ListsHostileNamesInOneReversibleLineEach) {
  hold(hostile_names());
  const ToolResult result = call({"list"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), hostile_names().size());
  EXPECT_TRUE(std::none_of(result.out.begin(), result.out.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) < 0x20 && byte != '\n' && byte != '\t') ||
           byte == 0x7F;
  }));
  for (const std::string& line : lines) {
    ASSERT_THAT(line, ::testing::StartsWith("lock\t"));
    const std::string name = line.substr(line.find('\t') + 1);
    const ToolResult holder = call({"holder", "--escaped", "--", name});
    EXPECT_EQ(holder.status, 0) << line << holder.err;
    EXPECT_THAT(holder.out, HasSubstr("host:1"));
  }
}

TEST_F(ToolLook, PrintsValidJsonForAnyName) {
  hold(hostile_names());
  // Prints each name's bytes, as another program reads them.
  const std::string reader =
      "import json, sys\n"
      "text = sys.stdin.buffer.read().decode('utf-8', 'strict')\n"
      "for each in json.loads(text)['names']:\n"
      "  print(each.get('name_hex') or each['name'].encode().hex())\n";
  std::vector<std::string> wanted;
  for (const std::string& name : hostile_names()) {
    std::string hex;
    for (const char byte : name) {
      char text[3];
      std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
      hex += text;
    }
    wanted.push_back(hex);
  }
  for (const Words& words : {Words{"list", "--json"}, Words{"watch", "--once", "--json"}}) {
    const ToolResult result = call(words);
    ASSERT_EQ(result.status, 0) << result.err;
    std::ofstream(file("json")) << result.out;
    std::ofstream(file("reader.py")) << reader;
    const std::string command =
        "python3 " + file("reader.py") + " < " + file("json") + " > " + file("read");
    ASSERT_EQ(std::system(command.c_str()), 0) << words[0] << " is no JSON";
    EXPECT_THAT(lines_of(text_of(file("read"))), ::testing::UnorderedElementsAreArray(wanted));
  }
}

TEST_F(ToolLook, ShowsTheHolderOfAName) {
  EXPECT_EQ(call({"holder", "a"}).status, 1);
  EXPECT_EQ(call({"holder", "a"}).out, "free\n");
  EXPECT_EQ(call({"holder", "a", "--json"}).out, "{\"name\":\"a\",\"holder\":null}\n");
  hold({"a", "ab", "c"});
  EXPECT_THAT(call({"holder", "a"}).out, HasSubstr("host:1 (exclusive, token "));
  EXPECT_THAT(call({"holder", "a", "--json"}).out, HasSubstr("\"label\":\"host:1\""));
  EXPECT_EQ(call({"list", "a"}).out, "lock\ta\nlock\tab\n");
  EXPECT_THAT(call({"queue", "a"}).out, HasSubstr("holds\thost:1\texclusive\ttoken "));
  EXPECT_THAT(call({"queue", "a", "--json"}).out, HasSubstr("\"holders\":[{\"label\":\"host:1\""));
  EXPECT_EQ(call({"queue", "b"}).out, "free\n");
}

TEST_F(ToolLook, WatchesInATable) {
  hold({"orders/1", "two\nlines"});
  const ToolResult once = call({"watch", "--once"});
  ASSERT_EQ(once.status, 0) << once.err;
  const std::vector<std::string> lines = lines_of(once.out);
  ASSERT_EQ(lines.size(), 3U) << once.out;
  EXPECT_EQ(lines[0].find("NAME"), 0U);
  EXPECT_EQ(lines[1].find("orders/1"), 0U);
  EXPECT_EQ(lines[2].find("two\\x0alines"), 0U);
  EXPECT_EQ(lines[0].find("HOLDER"), lines[1].find("host:1"));
  EXPECT_EQ(once.out.find('\x1b'), std::string::npos);

  RunningTool live = start({"watch", "--every", "100ms"});
  EXPECT_TRUE(eventually([&] {
    const std::string seen = text_of(file("call2.out"));
    const std::size_t first = seen.find("NAME");
    return first != std::string::npos && seen.find("NAME", first + 1) != std::string::npos;
  })) << "it looks again";
  live.signal(SIGINT);
  EXPECT_EQ(live.wait().status, 1'000 + SIGINT);
}

TEST_F(ToolLook, ReportsWhetherLocksCanBeTaken) {
  const ToolResult good = call({"check"});
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("fencing: yes"));
  EXPECT_THAT(call({"check", "--json"}).out, HasSubstr("\"ok\":true"));
  EXPECT_EQ(call({"check", "--url", "redis://127.0.0.1:1", "--answer", "200ms"}).status, 69);
}

TEST_F(ToolLook, ShowsInvisibleCharacters) {
  const std::string name = "a\u200bb\ufeffc\u00add\U000E0041e";
  hold({name});
  EXPECT_EQ(call({"list"}).out,
            "lock\t"
            R"(a\xe2\x80\x8bb\xef\xbb\xbfc\xc2\xadd\xf3\xa0\x81\x81e)"
            "\n");
}

TEST_F(ToolLook, EscapesControlCharactersInJson) {
  hold({"a\x1b\x7f\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xd8\x9c\xf3\xa0\x81\x81z"});
  EXPECT_THAT(call({"list", "--json"}).out,
              HasSubstr(R"("a\u001b\u007f\u009b\u2028\u202e\u061c\udb40\udc41z")"));
}

TEST_F(ToolLook, FailsIfStandardOutputIsFull) {
  hold({"a"});
  for (const char* verb : {"list", "watch", "check"}) {
    const Words full{"/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh", MORTISE_TOOL, verb};
    EXPECT_EQ(start_program(full).wait().status, 74) << verb;
  }
}

TEST_F(ToolLook, RefusesToReleaseWithoutForce) {
  hold({"a"});
  const ToolResult refused = call({"release", "a"});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_FALSE(is_free("a"));
}

}  // namespace
}  // namespace mortise::test
