// SPDX-License-Identifier: MIT
// Goal: the checker and the resource catch what breaks locks on Redis. Method: the scenes of
// broken_scenes.hpp, and a restart, on a server of the test's own.
#include <mortise/redis.hpp>

#include "model/broken_scenes.hpp"
#include "redis/store/lock_key.hpp"
#include "support/eventually.hpp"
#include "support/redis_fields.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::RedisServer;
using Persistence = test::RedisServerOptions::Persistence;

RedisServer::Options keeping(Persistence persistence) {
  RedisServer::Options options;
  options.persistence = persistence;
  return options;
}

struct PrivateRedis {
  RedisServer server;

  std::size_t waiting() const {
    const std::string queue = redis::lock_key("mortise:", "n") + ":queue";
    return static_cast<std::size_t>(server.talk().expect_ok({"ZCARD", queue}).integer);
  }
};

struct RedisPlay : PrivateRedis, ServerPlay {
  explicit RedisPlay(Persistence persistence = Persistence::none)
      : PrivateRedis{RedisServer(keeping(persistence))},
        ServerPlay([this] { return redis::backend(server.url()); },
                   {.unrenewed = {.lease = 150ms, .renew = false},
                    .lasting = {.lease = 20s, .renew = false},
                    .renewed = {.lease = 300ms}}) {}

  bool wait_in_line(std::size_t count) override {
    return eventually([&] { return waiting() == count; });
  }
  Wrap break_releases(const std::shared_ptr<HeldMessages>& messages) override {
    return frees_whoever_holds(messages, [this](const std::string& name) {
      server.talk().expect_ok(
          {"HDEL", redis::lock_key("mortise:", name), test::stored_field("lease")});
    });
  }
};

class BrokenRedis : public ::testing::Test {
 protected:
  void SetUp() override { MORTISE_NEEDS_REDIS_SERVER(); }
};

TEST_F(BrokenRedis, ALeaseCountedFromTheReplyIsCaught) {
  expect_caught<RedisPlay>(Fault::overlap, scenes::late_reply);
}

TEST_F(BrokenRedis, ALeaseCountedFromThePushIsCaught) {
  expect_caught<RedisPlay>(Fault::overlap, scenes::late_push);
}

TEST_F(BrokenRedis, AReleaseThatFreesWhoeverHoldsIsCaught) {
  expect_caught<RedisPlay>(Fault::overlap, scenes::late_release);
}

// Numbers from INCR instead of those of the lock; the server restarts between A's holds and B's.
Report restart(bool broken, Persistence persistence) {
  RedisPlay play(persistence);
  CountsApart::Counter counter;
  if (broken) {
    counter = [&play] {
      const test::RedisAnswer next = play.server.talk().expect_ok({"INCR", "numbers"});
      return static_cast<std::uint64_t>(next.integer);
    };
  }
  return scenes::tokens(
      play, counter, [&play] { play.server.restart(); },
      !broken || persistence == Persistence::always);
}

TEST_F(BrokenRedis, ATokenThatRestartsWithTheServerIsCaught) {
  const Report right = restart(false, Persistence::none);
  EXPECT_TRUE(right.ok()) << right.text();
  const Report kept = restart(true, Persistence::always);
  EXPECT_TRUE(kept.ok()) << kept.text();
  const Report wrong = restart(true, Persistence::none);
  EXPECT_TRUE(wrong.has(Fault::token_repeated)) << wrong.text();
}

TEST_F(BrokenRedis, AResourceThatTakesOldTokensIsCaught) { expect_old_tokens_caught<RedisPlay>(); }

}  // namespace
}  // namespace mortise::model
