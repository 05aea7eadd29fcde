// SPDX-License-Identifier: MIT
// Goal: each name has a key of its own, which keeps the name inside one hash tag, and a key that we
// did not make has no name. Method: known answers, all bytes, and random names from a small
// alphabet of what is escaped.
#include "model/seed.hpp"
#include "redis/store/lock_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>

namespace mortise::redis {
namespace {

TEST(RedisLockKeyTest, KnownAnswers) {
  EXPECT_EQ(lock_key("mortise:", "orders/42"), "mortise:{orders/42}");
  EXPECT_EQ(lock_key("", "a"), "{a}");
  EXPECT_EQ(lock_key("p:", "{user}%"), "p:{%7Buser%7D%25}");
  EXPECT_EQ(lock_key("p:", "%7B"), "p:{%257B}");
  EXPECT_EQ(lock_key("p:", "\xc3\xa4 b"), "p:{\xc3\xa4 b}");
}

TEST(RedisLockKeyTest, IsAppendedToWhatIsThere) {
  std::string out = "before ";
  append_lock_key(out, "p:", "a{");
  EXPECT_EQ(out, "before p:{a%7B}");
}

TEST(RedisLockKeyTest, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name(1, static_cast<char>(byte));
    EXPECT_EQ(lock_name("p:", lock_key("p:", name)), name) << byte;
    all += name;
  }
  EXPECT_EQ(lock_name("p:", lock_key("p:", all)), all);
}

TEST(RedisLockKeyTest, RandomNamesComeBackOutOfOneHashTag) {
  std::mt19937_64 random(model::test_seed());
  constexpr std::string_view letters = "{}%7BD25a";
  for (int round = 0; round < 20'000; ++round) {
    std::string name(1 + random() % 12, ' ');
    for (char& c : name) c = letters[random() % letters.size()];
    const std::string key = lock_key("p:", name);
    // A cluster hashes what is between the first '{' and the first '}' behind it.
    EXPECT_EQ(key.find('{'), 2U) << name;
    EXPECT_EQ(key.find('}'), key.size() - 1) << name;
    EXPECT_EQ(std::count(key.begin(), key.end(), '{'), 1) << name;
    ASSERT_EQ(lock_name("p:", key), name);
  }
}

TEST(RedisLockKeyTest, ForeignKeysHaveNoName) {
  for (const std::string_view key :
       {"",        "p:",      "p:{",     "p:}",      "p:{}",    "p:a",         "p:{a",
        "p:a}",    "p:{a}b",  "p:x{a}",  "q:{a}",    "P:{a}",   "{a}",         " p:{a}",
        "p:{{a}",  "p:{a}}",  "p:{a{}",  "p:{a}{b}", "p:{%}",   "p:{%2}",      "p:{%7}",
        "p:{%7b}", "p:{%7d}", "p:{%41}", "p:{%%25}", "p:{a%7}", "p:inbox:0123"}) {
    EXPECT_EQ(lock_name("p:", key), std::nullopt) << key;
  }
}

TEST(RedisLockKeyTest, LocksAndKeysOfOneNameDoNotMeet) {
  EXPECT_EQ(redis_key("p:", "a", Mode::exclusive), "p:{a}");
  EXPECT_EQ(redis_key("p:", "a!", Mode::exclusive), "p:{a!}");
  EXPECT_EQ(redis_key("p:", "a", Mode::once), "p:{a}!");
  EXPECT_EQ(redis_key("p:", "a}!", Mode::once), "p:{a%7D!}!");
  std::mt19937_64 random(model::test_seed());
  constexpr std::string_view letters = "{}%7BD25a!";
  for (int round = 0; round < 20'000; ++round) {
    std::string name(1 + random() % 12, ' ');
    for (char& c : name) c = letters[random() % letters.size()];
    for (const Mode mode : {Mode::exclusive, Mode::once}) {
      const std::string key = redis_key("p:", name, mode);
      EXPECT_EQ(key.find('{'), 2U) << name;
      EXPECT_EQ(std::count(key.begin(), key.end(), '}'), 1) << name;
      const std::optional<Named> named = named_by("p:", key);
      ASSERT_TRUE(named) << key;
      EXPECT_EQ(named->name, name);
      EXPECT_EQ(named->mode, mode);
    }
    EXPECT_EQ(lock_name("p:", redis_key("p:", name, Mode::once)), std::nullopt);
  }
  for (const char* const key : {"", "!", "p:{a}!!", "p:a!", "p:{}!", "p:!{a}", "q:{a}!"}) {
    EXPECT_FALSE(named_by("p:", key)) << key;
  }
}

// One name must not have two keys: whatever has a name is the key that we make of it.
TEST(RedisLockKeyTest, NoNameHasTwoKeys) {
  std::mt19937_64 random(model::test_seed());
  constexpr std::string_view letters = "{}%7BDbd25a";
  int named = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string inside(1 + random() % 6, ' ');
    for (char& c : inside) c = letters[random() % letters.size()];
    const std::string key = "p:{" + inside + "}";
    const std::optional<std::string> name = lock_name("p:", key);
    if (!name) continue;
    ++named;
    ASSERT_EQ(lock_key("p:", *name), key);
  }
  EXPECT_GT(named, 1'000);
}

}  // namespace
}  // namespace mortise::redis
