// SPDX-License-Identifier: MIT
// Goal: a hold is renewed, released and taken away by its own attempt and number only, and whoever
// asks is told what became of it (S3, S4). Method: scripts, with holds that are wrong in one thing.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisHolds : public RedisScriptTest {
 protected:
  std::string release_of(const std::string& hold, const char* flags) {
    return call(redis::scripts::release, {hold, flags, "1"});
  }
  /// That of another grant, and that of another client.
  [[nodiscard]] std::vector<std::string> forgeries() {
    const std::string written = hold();
    return {hold_text(attempt('a'), number() + 1), hold_text(attempt('b'), number()),
            hold_text(attempt('a') + "1", number()), written.substr(0, written.size() - 2) + " "};
  }
};

// Promise: S3
TEST_F(RedisHolds, AreReleasedByThemselvesOnly) {
  for (const char* const flags : {"f0", "f1"}) {  // the quick way, and the slow one
    ASSERT_TRUE(acquire('a').starts_with("G"));
    for (const std::string& forged : forgeries()) {
      EXPECT_EQ(release_of(forged, flags), "N") << forged << flags;
      EXPECT_TRUE(holds('a')) << forged << flags;
    }
    const std::string hold = this->hold();
    EXPECT_EQ(release_of(hold, flags), "F");
    EXPECT_EQ(get("g"), "");
    EXPECT_EQ(release_of(hold, flags), "A") << "a copy, or an unlock too often";
    ASSERT_TRUE(acquire('b').starts_with("G"));
    EXPECT_EQ(release_of(hold, flags), "N");
    EXPECT_TRUE(holds('b'));
    ASSERT_EQ(release(), "F");
  }
}

TEST_F(RedisHolds, ThatHaveLapsedAreReleasedAsSuch) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  lapse();
  EXPECT_EQ(release("f1"), "L");
}

// Promise: S4
TEST_F(RedisHolds, AreRenewedByThemselvesOnlyWhileTheyStand) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  const std::string before = get("g");
  for (const std::string& forged : forgeries()) {
    EXPECT_EQ(renew(forged), "0") << forged;
    EXPECT_EQ(get("g"), before);
  }
  EXPECT_EQ(renew(hold(), 40'000), "1");
  EXPECT_TRUE(lasts(40'000));
  lapse();
  EXPECT_EQ(renew(hold()), "0");
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(release(), "F");
  EXPECT_EQ(renew(hold()), "0");
  EXPECT_EQ(get("g"), "");
}

// Promise: S4
TEST_F(RedisHolds, ThatHaveJustLapsedAreNotRenewed) {
  constexpr std::int64_t lease = 30'000;
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_EQ(renew(hold(), lease), "1");
  const RedisTalk::Command set_back{"EVAL", R"lua(
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      return redis.call('HSET', KEYS[1], 'g', now - ARGV[1]))lua",
                                    "1", key("a"), std::to_string(number() / 1'000)};
  server().talk().expect_ok(set_back);
  std::this_thread::sleep_for(2ms);  // it is kept in ms behind its number, and rounded up
  EXPECT_EQ(renew(hold(), lease), "0");
  EXPECT_FALSE(is_held("a"));
}

// Promise: S4
TEST_F(RedisHolds, OfOneBatchAreRenewedEachByItself) {
  const std::vector<std::string> names{"plain", "longer", "freed", "forged",
                                       "text",  "none",   "last"};
  RedisTalk::Command batch{"EVAL", std::string(redis::scripts::renew.text),
                           std::to_string(names.size())};
  for (const std::string& name : names) batch.push_back(key(name));
  batch.insert(batch.end(), {"", "f"});
  RedisTalk talk = server().talk();
  for (const std::string& name : names) {
    talk.expect_ok({"EVAL", std::string(redis::scripts::acquire.text), "1", key(name),
                    attempt(name[0]), "f00", "1", "30000", "label"});
    const std::string hold = hold_of(name);
    batch.insert(batch.end(), {name == "forged" ? hold_text(attempt('b'), number(name)) : hold,
                               name == "longer" ? "40000" : "30000"});
  }
  talk.expect_ok({"HDEL", key("freed"), "g"});
  talk.expect_ok({"SET", key("text"), "of a stranger"});
  talk.expect_ok({"DEL", key("none")});
  const std::string before = field("plain", "g");
  const std::string forged = field("forged", "g");
  EXPECT_EQ(talk.expect_ok(batch).text, "1100001");
  EXPECT_NE(field("plain", "g"), before);
  EXPECT_TRUE(lasts(30'000, "plain"));
  EXPECT_TRUE(lasts(40'000, "longer"));
  EXPECT_EQ(field("forged", "g"), forged);
}

TEST_F(RedisHolds, ThatAreReleasedByForceAreTold) {
  RedisTalk hears = listen("a");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  const std::string hold = this->hold();
  const std::uint64_t before = number();
  ASSERT_TRUE(force().starts_with("O"));
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_THAT(push->items.back().text,
              HasSubstr("T " + attempt('a') + " " + std::to_string(before) + " "));
  EXPECT_EQ(renew(hold), "0");
  EXPECT_EQ(release_of(hold, "f0"), "N");
  EXPECT_TRUE(acquire('b').starts_with("G"));
}

TEST_F(RedisHolds, AreNotReleasedByForceWhenThatWasSaidOfTheOneBefore) {
  const RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('a').starts_with("G"));
  ASSERT_TRUE(acquire('b').starts_with("Q"));
  const RedisTalk::Command copy{"", "f", std::to_string(number())};
  EXPECT_TRUE(call(redis::scripts::force_release, copy).starts_with("O"));
  ASSERT_TRUE(holds('b'));
  EXPECT_TRUE(call(redis::scripts::force_release, copy).starts_with("E")) << "sent again, or late";
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisHolds, AreFoundByACancelThatComesTooLate) {
  ASSERT_TRUE(acquire('a').starts_with("G"));
  EXPECT_TRUE(cancel('a').starts_with("G")) << "it would be left behind";
  EXPECT_TRUE(cancel('b').starts_with("B"));
  EXPECT_TRUE(acquire('a').starts_with("G")) << "asked again it is the same";
  EXPECT_EQ(waiting("a"), 0U);
}

}  // namespace
}  // namespace mortise::fault
