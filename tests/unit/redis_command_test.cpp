// SPDX-License-Identifier: MIT
// Goal: commands are what the server's protocol wants, whatever bytes they hold. Method: known
// answers, and hiredis' own formatter as the reference for random commands.
#include "model/seed.hpp"
#include "redis/store/command.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <array>
#include <random>
#include <vector>

namespace mortise::redis {
namespace {

std::string command(const std::vector<std::string_view>& words) {
  std::string out = "before ";
  append_command(out, words);
  EXPECT_TRUE(out.starts_with("before "));
  return out.substr(7);
}

TEST(RedisCommandTest, KnownAnswers) {
  EXPECT_EQ(command({"PING"}), "*1\r\n$4\r\nPING\r\n");
  EXPECT_EQ(command({"SET", "k", ""}), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
  EXPECT_EQ(command({std::string_view("a\0\r\n", 4)}), std::string("*1\r\n$4\r\na\0\r\n\r\n", 14));
  EXPECT_EQ(command({std::string_view()}), "*1\r\n$0\r\n\r\n");
}

TEST(RedisCommandTest, AsHiredisFormatsIt) {
  std::mt19937_64 random(model::test_seed());
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> texts(1 + random() % (round % 100 == 0 ? 400 : 12));
    for (std::string& text : texts) {
      text.resize(random() % (round % 100 == 0 ? 2'000 : 20));
      for (char& c : text) c = static_cast<char>(random());
    }
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    std::vector<const char*> pointers;
    std::vector<std::size_t> sizes;
    for (const std::string& text : texts) {
      pointers.push_back(text.data());
      sizes.push_back(text.size());
    }
    char* expected = nullptr;
    const auto size = ::redisFormatCommandArgv(&expected, static_cast<int>(texts.size()),
                                               pointers.data(), sizes.data());
    ASSERT_GT(size, 0);
    EXPECT_EQ(command(words), std::string(expected, static_cast<std::size_t>(size)));
    ::redisFreeCommand(expected);
  }
}

}  // namespace
}  // namespace mortise::redis
