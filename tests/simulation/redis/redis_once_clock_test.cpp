// SPDX-License-Identifier: MIT
// Goal: whoever was told that its lease is over records nothing, also where the server's clock is
// set back, by which that lease would stand again. Method: the shipped scripts, and a clock that
// steps.
#include "redis/store/command.hpp"
#include "redis/store/scripts.hpp"
#include "simulation/redis/quiet_site.hpp"
#include "simulation/redis/redis_server.hpp"
#include "support/redis_fields.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::redis {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace shipped = mortise::redis::scripts;

class RedisOnceClock : public testing::Test {
 protected:
  static constexpr std::string_view key = "mortise:{name}!";

  RedisOnceClock() { model.opened(1); }

  using Words = std::vector<std::string>;

  /// @return the reply as the server writes it, without what ends its lines.
  std::string run(const mortise::redis::Script& script, const Words& arguments) {
    Words words{"EVAL", std::string(script.text), "1", std::string(key)};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::string bytes;
    mortise::redis::append_command(bytes,
                                   std::vector<std::string_view>(words.begin(), words.end()));
    model.received(1, bytes);
    std::string answer = site.take(1);
    std::erase(answer, '\r');
    std::replace(answer.begin(), answer.end(), '\n', ' ');
    return answer;
  }
  /// With a lease of a second.
  std::string begin(char client) {
    return run(shipped::once::begin, {std::string(16, client) + "1", "9000000000000000", "1000",
                                      "label", "f", "3600000", "", "try", "", "3600000"});
  }
  [[nodiscard]] std::string number() {
    return model.field(key, mortise::test::stored_field("grant")).value_or("");
  }
  std::string succeed(char client, const std::string& number) {
    return run(shipped::once::conclude,
               {std::string(16, client) + "1", number, "Y", "3600000", "done", "3600000"});
  }
  std::string recall(const std::string& number = {}) {
    return run(shipped::once::recall, {number});
  }
  void expect_pending() {
    EXPECT_THAT(recall(), HasSubstr(" pending :1 "));
    EXPECT_EQ(model.field(key, "result"), std::nullopt);
  }

  QuietSite site;
  RedisModel model{site};
};

TEST_F(RedisOnceClock, IsNotTurnedBackForARunnerThatHasLost) {
  EXPECT_THAT(begin('a'), HasSubstr(" granted "));
  const std::string its = number();
  site.pass(2s);
  EXPECT_THAT(succeed('a', its), HasSubstr(" expired "));
  site.set_wall(site.wall() - 2s);
  EXPECT_THAT(succeed('a', its), HasSubstr(" expired ")) << "said once more";
  EXPECT_TRUE(model.field(key, mortise::test::stored_field("lease")));
  EXPECT_LE(model.lock(key).ends, 0) << "a renewal finds nothing";
  expect_pending();
  EXPECT_THAT(begin('b'), HasSubstr(" :1000000 :2")) << "the next run";
}

TEST_F(RedisOnceClock, IsNotTurnedBackForARunnerThatWasForgotten) {
  begin('a');
  const std::string its = number();
  site.pass(2s);
  EXPECT_THAT(recall("1700000000000000"), HasSubstr(" pending :1 :1700000000000000 :0 "));
  site.set_wall(site.wall() - 2s);
  EXPECT_THAT(succeed('a', its), HasSubstr(" released_before "));
  EXPECT_THAT(recall(), HasSubstr(" absent :0 :0 :0 "));
}

// Grants that come later have larger numbers, and what is remembered stands longer.
TEST_F(RedisOnceClock, ThatIsSetBackForgetsNothing) {
  begin('a');
  ASSERT_THAT(succeed('a', number()), HasSubstr(" released "));
  site.set_wall(site.wall() - 24h);
  EXPECT_THAT(begin('b'), HasSubstr(" succeeded :1 :1700000000000000 :0 $0  $4 done"));
  EXPECT_THAT(recall("1700000000000000"), HasSubstr(" succeeded :1 "));
  EXPECT_THAT(begin('b'), HasSubstr(" :1700000000000001 "));
  EXPECT_THAT(succeed('b', number()), HasSubstr(" released "));
  EXPECT_THAT(succeed('b', number()), HasSubstr(" released "));
  site.pass(48h);
  EXPECT_THAT(recall(), HasSubstr(" absent :0 :0 :0 "));
}

}  // namespace
}  // namespace simulation::redis
