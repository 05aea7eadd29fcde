// SPDX-License-Identifier: MIT
// Goal: whoever was told that its lease is over records nothing, also where the server's clock is
// set back, by which that lease would stand again. Method: the shipped scripts, and a clock that
// steps.
#include "redis/command.hpp"
#include "redis/scripts.hpp"
#include "simulation/redis/quiet_site.hpp"
#include "simulation/redis/redis_server.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>

namespace simulation::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace shipped = mortise::redis::scripts;

class RedisOnceClock : public testing::Test {
 protected:
  static constexpr std::string_view key = "mortise:{name}!";

  RedisOnceClock() { model.opened(1); }

  std::string run(const mortise::redis::Script& script,
                  std::initializer_list<std::string_view> arguments) {
    std::vector<std::string_view> words{"EVAL", script.text, "1", key};
    words.insert(words.end(), arguments);
    std::string bytes;
    mortise::redis::append_command(bytes, words);
    model.received(1, bytes);
    std::string answer = site.take(1);
    answer.erase(0, answer.find('\n') + 1);
    return answer.substr(0, answer.rfind('\r'));
  }
  /// With a lease of a second.
  std::string begin(char client) {
    return run(shipped::once::begin,
               {std::string(16, client) + "1", "f01", "1", "1000", "f3600000 0 label"});
  }
  [[nodiscard]] std::string hold() {
    const std::string owner = model.field(key, "o").value_or("");
    return owner.substr(0, owner.find(' ', owner.find(' ') + 1) + 1);
  }
  std::string succeed(const std::string& its, std::string_view flags = "f0Y") {
    return run(shipped::once::conclude, {its, flags, "1", "3600000", "done"});
  }
  std::string recall(std::string_view number = {}) {
    if (number.empty()) return run(shipped::once::recall, {"", "f"});
    return run(shipped::once::recall, {"", "f", number});
  }
  void expect_pending() {
    EXPECT_THAT(recall(), HasSubstr(" P 1 "));
    EXPECT_EQ(model.field(key, "v"), std::nullopt);
  }

  QuietSite site;
  RedisModel model{site};
};

TEST_F(RedisOnceClock, IsNotTurnedBackForARunnerThatHasLost) {
  EXPECT_THAT(begin('a'), HasSubstr("G 17"));
  const std::string its = hold();
  site.pass(2s);
  EXPECT_EQ(succeed(its), "L");
  site.set_wall(site.wall() - 2s);
  EXPECT_EQ(succeed(its), "A") << "said once more";
  EXPECT_EQ(succeed(its, "f1Y"), "A") << "said by the next connection";
  EXPECT_EQ(run(shipped::renew, {"", "f", its, "1000"}), "0");
  expect_pending();
  EXPECT_THAT(begin('b'), HasSubstr(" 1000 2")) << "the next run";
}

TEST_F(RedisOnceClock, IsNotTurnedBackForARunnerThatWasForgotten) {
  begin('a');
  const std::string its = hold();
  site.pass(2s);
  EXPECT_THAT(recall("1700000000000000"), HasSubstr(" P 1 1700000000000000 0 "));
  site.set_wall(site.wall() - 2s);
  EXPECT_EQ(succeed(its), "A");
  EXPECT_THAT(recall(), HasSubstr(" A 0 0 0 "));
}

// Grants that come later have larger numbers, and what is remembered stands longer.
TEST_F(RedisOnceClock, ThatIsSetBackForgetsNothing) {
  begin('a');
  ASSERT_EQ(succeed(hold()), "F");
  site.set_wall(site.wall() - 24h);
  EXPECT_THAT(begin('b'), HasSubstr(" Y 1 1700000000000000 0 0 done"));
  EXPECT_THAT(recall("1700000000000000"), HasSubstr(" Y 1 "));
  EXPECT_THAT(begin('b'), HasSubstr(" 1700000000000001 "));
  const std::string its = hold();
  EXPECT_EQ(succeed(its), "F");
  EXPECT_EQ(succeed(its), "F");
  site.pass(48h);
  EXPECT_THAT(recall(), HasSubstr(" A 0 0 0 "));
}

}  // namespace
}  // namespace simulation::redis
