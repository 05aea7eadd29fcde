// SPDX-License-Identifier: MIT
// Goal: a hold is renewed, released and taken away by its own attempt and number only, and whoever
// asks is told what became of it (S3, S4). Method: scripts, with holds that are wrong in one thing.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisHolds : public RedisScriptTest {
 protected:
  /// That of another grant, and that of another client.
  [[nodiscard]] std::vector<Held> forgeries() {
    const Held its = hold();
    return {{its.attempt, std::to_string(number() + 1)},
            {attempt('b'), its.number},
            {its.attempt + "1", its.number},
            {its.attempt, its.number.substr(1)}};
  }
  /// What one waits for closes the short way of a script.
  void wait_or_not(bool waits) {
    if (!waits) return;
    ASSERT_EQ(acquire('z'), "queued");
  }
};

// Promise: S3
TEST_F(RedisHolds, AreReleasedByThemselvesOnly) {
  for (const bool waits : {false, true}) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_EQ(acquire('a'), "granted");
    ASSERT_NO_FATAL_FAILURE(wait_or_not(waits));
    for (const Held& forged : forgeries()) {
      EXPECT_EQ(release_of(forged), "not_held") << forged.attempt << forged.number;
      EXPECT_TRUE(holds('a')) << forged.attempt << forged.number;
    }
    const Held hold = this->hold();
    EXPECT_EQ(release_of(hold), "released");
    EXPECT_EQ(get("lease"), "");
    EXPECT_EQ(release_of(hold), "released_before") << "a copy, or an unlock too often";
    const char next = waits ? 'z' : 'b';
    ASSERT_EQ(acquire(next), "granted");
    EXPECT_EQ(release_of(hold), "not_held");
    EXPECT_TRUE(holds(next));
    ASSERT_EQ(release(), "released");
  }
}

// If no client waits, nothing depends on it. Whether its lease was over the owner knows by its
// clock.
TEST_F(RedisHolds, ThatHaveLapsedAreReleasedAsSuchIfAnotherClientWaits) {
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('z'), "queued");
  lapse();
  EXPECT_EQ(release(), "expired");
}

// Promise: S4
TEST_F(RedisHolds, AreRenewedByThemselvesOnlyWhileTheyStand) {
  ASSERT_EQ(acquire('a'), "granted");
  const std::string before = get("lease");
  for (const Held& forged : forgeries()) {
    EXPECT_EQ(renew(forged), 0) << forged.attempt << forged.number;
    EXPECT_EQ(get("lease"), before);
  }
  EXPECT_EQ(renew(hold(), 40'000), 1);
  EXPECT_GE(end(), static_cast<std::int64_t>(number()) + 40'000'000);
  lapse();
  EXPECT_EQ(renew(hold()), 0);
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(release(), "released") << "no client came after it";
  EXPECT_EQ(renew(hold()), 0);
  EXPECT_EQ(get("lease"), "");
}

// Promise: S4
TEST_F(RedisHolds, ThatHaveJustLapsedAreNotRenewed) {
  constexpr std::int64_t lease = 30'000;
  ASSERT_EQ(acquire('a'), "granted");
  EXPECT_EQ(renew(hold(), lease), 1);
  const RedisTalk::Command set_back{"EVAL",
                                    R"lua(
      local time = redis.call('TIME')
      local since = time[1] * 1000000 + time[2] - redis.call('HGET', KEYS[1], ARGV[1])
      return redis.call('HSET', KEYS[1], ARGV[2], math.floor(since / 1000)))lua",
                                    "1",
                                    key("a"),
                                    test::stored_field("grant"),
                                    test::stored_field("lease")};
  server().talk().expect_ok(set_back);
  EXPECT_EQ(renew(hold(), lease), 0);
  EXPECT_FALSE(is_held("a"));
}

// Promise: S4
TEST_F(RedisHolds, OfOneBatchAreRenewedEachByItself) {
  const std::vector<std::string> names{"plain", "longer",  "released", "forged",
                                       "text",  "deleted", "last"};
  RedisTalk::Command batch{"EVAL", std::string(redis::scripts::renew.text),
                           std::to_string(names.size())};
  for (const std::string& name : names) batch.push_back(key(name));
  batch.emplace_back("");
  RedisTalk talk = server().talk();
  for (const std::string& name : names) {
    at_ = key(name);
    ASSERT_EQ(acquire(name[0]), "granted");
    batch.insert(batch.end(), {name == "forged" ? attempt('b') : attempt(name[0]), get("grant"),
                               name == "longer" ? "40000" : "30000", "3640000"});
  }
  talk.expect_ok({"HDEL", key("released"), test::stored_field("lease")});
  talk.expect_ok({"SET", key("text"), "of a stranger"});
  talk.expect_ok({"DEL", key("deleted")});
  const std::string before = field("plain", "lease");
  const std::string forged = field("forged", "lease");
  const RedisAnswer answer = talk.expect_ok(batch);
  std::vector<std::int64_t> codes;
  for (std::size_t i = 2; i < answer.items.size(); ++i) codes.push_back(answer.items[i].integer);
  EXPECT_THAT(codes, ::testing::ElementsAre(1, 1, 0, 0, 0, 0, 1));
  EXPECT_NE(field("plain", "lease"), before);
  EXPECT_GT(std::stoll(field("longer", "lease")), std::stoll(field("plain", "lease")) + 9'000);
  EXPECT_EQ(field("forged", "lease"), forged);
}

TEST_F(RedisHolds, ThatAreReleasedByForceAreTold) {
  RedisTalk hears = listen("a");
  ASSERT_EQ(acquire('a'), "granted");
  const Held hold = this->hold();
  const std::uint64_t before = number();
  ASSERT_EQ(force_holder(), "released");
  const auto push = hears.receive(patience);
  ASSERT_TRUE(push);
  EXPECT_THAT(push->items.back().text,
              HasSubstr("T " + attempt('a') + " " + std::to_string(before) + " "));
  EXPECT_EQ(renew(hold), 0);
  EXPECT_EQ(release_of(hold), "not_held");
  EXPECT_EQ(acquire('b'), "granted");
}

TEST_F(RedisHolds, AreNotReleasedByForceWhenThatWasSaidOfTheOneBefore) {
  const RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  const std::string copy = get("grant");
  EXPECT_EQ(force(copy), "released");
  ASSERT_TRUE(holds('b'));
  EXPECT_EQ(force(copy), "not_held") << "sent again, or late";
  EXPECT_TRUE(holds('b'));
}

TEST_F(RedisHolds, AreFoundByACancelThatComesTooLate) {
  ASSERT_EQ(acquire('a'), "granted");
  EXPECT_EQ(cancel('a'), "granted") << "it would be left behind";
  EXPECT_EQ(cancel('b'), "busy");
  EXPECT_EQ(acquire('a'), "granted") << "asked again it is the same";
  EXPECT_EQ(waiting("a"), 0U);
}

}  // namespace
}  // namespace mortise::fault
