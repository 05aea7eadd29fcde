// SPDX-License-Identifier: MIT
// The model beside a real redis-server: who listens, what is published, and what a connection that
// listens may say.
#include "model/seed.hpp"
#include "simulation/redis/beside/pair.hpp"

#include <gtest/gtest.h>

#include <random>

namespace simulation::redis {
namespace {

void compare_pubsub(std::size_t rounds) {
  constexpr int connections = 5;
  const std::uint64_t seed = mortise::model::test_seed();
  SCOPED_TRACE("MORTISE_SEED=" + std::to_string(seed));
  std::mt19937_64 luck(seed);
  const auto below = [&luck](std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(luck);
  };
  static const std::vector<Words> shapes{
      {"SUBSCRIBE", "C"},
      {"SUBSCRIBE", "C", "C"},
      {"UNSUBSCRIBE", "C"},
      {"UNSUBSCRIBE", "C", "C"},
      {"PUBLISH", "C", "a\r\nb"},
      {"PUBLISH", "C", ""},
      {"PING"},
      {"PING", "C"},
      {"PING", "C", "C"},
      {"GET", "C"},
      {"CLIENT", "GETNAME"},
      {"PUBSUB", "NUMSUB", "C"},
      {"RESET"},
      {"SUBSCRIBE"},
      {"PUBLISH", "C"},
      {"EVAL", "return redis.call('PUBLISH', KEYS[1], 'x')", "1", "C"},
  };
  Pair pair;
  for (std::size_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    Words words = shapes[below(shapes.size())];
    for (std::string& word : words) {
      if (word == "C") word = "channel " + std::to_string(below(3));
    }
    pair.ask(std::move(words), Pair::plain + 1 + static_cast<int>(below(connections)));
    for (int connection = Pair::plain + 1; connection <= Pair::plain + connections; ++connection) {
      pair.compare_connection(connection);
    }
  }
}

TEST(RedisPubSub, IsThatOfARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_pubsub(400);
}

// The order in which several channels are left is that of a table there.
TEST(RedisPubSub, LeavesAllChannelsAsARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  Pair pair;
  for (const Words& words : std::vector<Words>{
           {"UNSUBSCRIBE"}, {"SUBSCRIBE", "a"}, {"UNSUBSCRIBE"}, {"UNSUBSCRIBE"}, {"PING"}}) {
    pair.ask(words, Pair::plain + 1);
  }
}

TEST(RedisPubSubLong, IsThatOfARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_pubsub(10000);
}

}  // namespace
}  // namespace simulation::redis
