// SPDX-License-Identifier: MIT
// Goal: on a store with leases the command ends before its lease, even if a process of the tool is
// stopped. A stopped front does no harm. Method: a Redis of the test's own; stops and forced ends.
#include <mortise/client.hpp>
#include <mortise/guard.hpp>

#include "support/redis_server.hpp"
#include "tool/tool_fixture.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace mortise::test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class ToolRedis : public ToolTest {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    server_.emplace();
    use_store(server_->url());
  }
  [[nodiscard]] std::string store() const { return server_->url(); }
  RedisServer& server() { return *server_; }
  /// Writes a label into the store, as another program might.
  void replace_label(const std::string& old, const std::string& label) {
    static_cast<void>(server().talk().expect_ok(
        {"EVAL",
         "for _, key in ipairs(redis.call('KEYS', '*')) do "
         "  local label = redis.call('TYPE', key).ok == 'hash' and redis.call('HGET', key, 'n') "
         "  if label == ARGV[1] then redis.call('HSET', key, 'n', ARGV[2]) end "
         "end "
         "return 1",
         "0", old, label}));
  }
  /// Ignores TERM; notes "t".
  [[nodiscard]] Words deaf(const std::string& lease) const {
    return with_shell({"run", "a", "--lease", lease},
                      "trap '' TERM; note t; while :; do sleep 0.01; done");
  }

 private:
  std::optional<RedisServer> server_;
};

TEST_F(ToolRedis, EndsACommandWhoseHoldWasForcedOpen) {
  RunningTool tool = start(deaf("3s"));
  const pid_t command = noted("t");
  EXPECT_EQ(call({"release", "a", "--force", "--token", "1"}).status, 1);
  const ToolResult forced = call({"release", "a", "--force"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_THAT(forced.out, HasSubstr("released: "));
  EXPECT_EQ(tool.wait().status, 76);
  EXPECT_TRUE(is_gone(command));
  EXPECT_EQ(call({"release", "a", "--force"}).status, 1);
}

// A reader that parses each number as a double and prints its shortest text, as JavaScript does.
constexpr const char* reader_of_doubles =
    "import decimal, json, sys\n"
    "found = json.load(sys.stdin, parse_int=float)\n"
    "for key in sys.argv[1].split('.'):\n"
    "  found = found[int(key) if isinstance(found, list) else key]\n"
    "if isinstance(found, float): found = 'number %d' % int(decimal.Decimal(repr(found)))\n"
    "print(found)\n";

TEST_F(ToolRedis, PrintsTokensThatEveryReaderOfJsonKeeps) {
  RunningTool tool =
      start(with_shell({"run", "a"}, "echo $MORTISE_TOKEN > $F/token; note t; exec sleep 1000"));
  ASSERT_GT(noted("t"), 0);
  const std::string token = text_of(file("token"));
  ASSERT_GT(std::strtoull(token.c_str(), nullptr, 10), std::uint64_t{1} << 53U)
      << "a double would keep it";
  std::ofstream(file("reader.py")) << reader_of_doubles;
  const auto read = [&](const Words& words, const std::string& path) {
    const ToolResult result = call(words);
    EXPECT_EQ(result.status, 0) << result.err;
    std::ofstream(file("json")) << result.out;
    const std::string command =
        "python3 " + file("reader.py") + " " + path + " < " + file("json") + " > " + file("read");
    EXPECT_EQ(std::system(command.c_str()), 0) << result.out;
    return text_of(file("read"));
  };
  EXPECT_EQ(read({"holder", "a", "--json"}, "holder.token"), token);
  EXPECT_EQ(read({"queue", "a", "--json"}, "holders.0.token"), token);
  EXPECT_EQ(read({"watch", "--once", "--json"}, "names.0.holders.0.token"), token);
  const std::string printed = token.substr(0, token.size() - 1);  // without its line feed
  EXPECT_EQ(call({"release", "a", "--force", "--token", printed}).status, 0);
  EXPECT_EQ(tool.wait().status, 76);
}

TEST_F(ToolRedis, ShowsALabelOfAnotherClientWithoutObeyingIt) {
  // Another program may write any bytes: it has no rules for labels.
  const std::string label = "till\x1b[2J\nfree\xc2\x9b\xe2\x80\xae\xff\\";
  const std::string shown = R"(till\x1b[2J\x0afree\xc2\x9b\xe2\x80\xae\xff\)";
  Client client(store());
  Lock lock = client.make_lock("a", {.label = "placeholder"});
  ASSERT_TRUE(lock.try_lock());
  replace_label("placeholder", label);
  for (const Words& words : {Words{"holder", "a"}, Words{"queue", "a"}, Words{"watch", "--once"}}) {
    const ToolResult result = call(words);
    EXPECT_THAT(result.out, HasSubstr(shown)) << words[0];
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << words[0];
  }
  const ToolResult busy = call({"run", "a", "--try", "--", "true"});
  EXPECT_THAT(busy.err, HasSubstr("held by " + shown));
  lock.unlock();
}

// A script that has read no token must not end any hold.
TEST_F(ToolRedis, ReleasesNothingWithAnInvalidToken) {
  RunningTool tool = start(deaf("3s"));
  ASSERT_GT(noted("t"), 0);
  for (const char* none : {"0", "", "-1", "00", "1x", "18446744073709551616"}) {
    EXPECT_EQ(call({"release", "a", "--force", "--token", none}).status, 64) << none;
  }
  EXPECT_FALSE(is_free("a"));
}

TEST_F(ToolRedis, WaitsForAnAnswerAsLongAsAsked) {
  EXPECT_EQ(call({"holder", "a"}).status, 1);
  server().stop();
  RunningTool holder = start({"holder", "a"});
  const auto began = Clock::now();
  while (Clock::now() - began < std::chrono::milliseconds(1'500)) {
    ASSERT_FALSE(is_gone(holder.pid())) << holder.wait().err;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  server().resume();
  EXPECT_EQ(holder.wait().status, 1);
}

TEST_F(ToolRedis, EndsTheCommandBeforeALeaseThatCannotBeRenewed) {
  RunningTool tool = start(deaf("3s"));
  const pid_t command = noted("t");
  server().stop();
  const auto stopped = Clock::now();
  EXPECT_TRUE(eventually([&] { return is_gone(command); }));
  EXPECT_LT(Clock::now() - stopped, std::chrono::seconds(3)) << "the lease was over before";
  server().resume();
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_THAT(result.err, HasSubstr("cannot be renewed"));
}

TEST_F(ToolRedis, EndsTheCommandBeforeTheLeaseOfAStoppedKeeper) {
  RunningTool tool = start(deaf("2s"));
  const pid_t command = noted("t");
  tool.signal_keeper(SIGSTOP);
  const ToolResult next = call(with_shell(
      {"run", "a"}, "kill -0 " + std::to_string(command) + " 2>/dev/null && exit 9; true"));
  EXPECT_EQ(next.status, 0) << "9: the other command was alive\n" << next.err;
  const ToolResult result = tool.wait();
  EXPECT_EQ(result.status, 76);
  EXPECT_THAT(result.err, HasSubstr("is stopped"));
}

TEST_F(ToolRedis, KeepsTheLockOfAStoppedFront) {
  RunningTool tool = start(deaf("400ms"));
  const pid_t command = noted("t");
  tool.signal(SIGSTOP);
  const ToolResult held = call({"holder", "a"});
  const auto since = Clock::now();
  while (Clock::now() - since < std::chrono::milliseconds(1'600)) {  // four leases
    ASSERT_FALSE(is_free("a"));
  }
  EXPECT_FALSE(is_gone(command));
  tool.signal(SIGCONT);
  ::kill(command, SIGKILL);
  EXPECT_EQ(tool.wait().status, 128 + 9) << "continued, it knows that the lock was kept";
}

TEST_F(ToolRedis, FreesTheLockOfAKilledFront) {
  RunningTool tool = start(deaf("1s"));
  const pid_t command = noted("t");
  tool.signal(SIGKILL);
  const ToolResult next = call({"run", "a", "--wait", "20s", "--", "true"});
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_TRUE(is_gone(command));
}

TEST_F(ToolRedis, KeepsANameForItsMinimum) {
  EXPECT_EQ(call({"run", "a", "--min-hold", "1m", "--", "true"}).status, 0);
  EXPECT_EQ(call({"run", "a", "--try", "--", "true"}).status, 75);
}

TEST_F(ToolRedis, ShowsTheQueue) {
  RunningTool tool = start(deaf("3s"));
  ASSERT_GT(noted("t"), 0);
  RunningTool waiter = start({"run", "a", "--label", "patient", "--", "true"});
  ToolResult seen;
  EXPECT_TRUE(eventually([&] {
    seen = call({"queue", "a", "--json"});
    return seen.out.find("\"waiters_in_all\":1") != std::string::npos;
  })) << seen.out
      << seen.err;
  EXPECT_THAT(call({"watch", "--once"}).out, ::testing::ContainsRegex("a +[^ ]+ +exclusive"));
}

TEST_F(ToolRedis, AsksOnlyForVisibleRows) {
  Client client(store());
  std::vector<Guard> guards;
  for (int i = 0; i < 300; ++i) {
    guards.emplace_back(client.make_lock("name" + std::to_string(i)),
                        AcquireOptions{.owner = Owner::unique()});
  }
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master) | ::unlockpt(master), 0);
  winsize size{};
  size.ws_row = 10;
  size.ws_col = 80;
  ASSERT_EQ(::ioctl(master, TIOCSWINSZ, &size), 0);
  RedisTalk talk = server().talk();
  talk.expect_ok({"CONFIG", "RESETSTAT"});
  RunningTool watch = start_program({"/bin/sh", "-c", "exec \"$@\" > \"$0\"", ::ptsname(master),
                                     MORTISE_TOOL, "watch", "--every", "1h"});
  std::string seen;
  const std::string all = "... and more, of 300 names in all";
  EXPECT_TRUE(eventually([&] {
    pollfd ready{master, POLLIN, 0};
    char bytes[4'096];
    if (::poll(&ready, 1, 10) != 1) return false;
    const ssize_t size_read = ::read(master, bytes, sizeof bytes);
    seen.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(size_read, 0)));
    return seen.find(all) != std::string::npos;
  })) << seen;
  const auto stats = talk.command_stats();
  const auto scripts = std::accumulate(
      stats.begin(), stats.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& each) {
        return sum + (each.first.starts_with("eval") ? each.second : 0);
      });
  EXPECT_GT(scripts, 0U);
  EXPECT_LT(scripts, 50U);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 9) << seen;
  EXPECT_THAT(seen, HasSubstr("name0"));
  watch.signal(SIGTERM);
  watch.wait();
  ::close(master);
}

}  // namespace
}  // namespace mortise::test
