// SPDX-License-Identifier: MIT
// Redisson played: what its RLock sends, and when. The real library is no part of these tests,
// since it needs Java.
#pragma once

#include "support/contract_worker.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace mortise::fault {

/// One thread of one process. Not thread-safe.
class Redisson {
 public:
  explicit Redisson(const test::RedisServer& server, std::string name = "a")
      : talk_(server.talk()),
        hears_(server.talk()),
        name_(std::move(name)),
        channel_("redisson_lock__channel:{" + name_ + "}") {}

  void listen() { hears_.expect_ok({"SUBSCRIBE", channel_}); }
  bool try_lock(const std::string& lease = "30000") {
    return command({"EVAL",
                    "if (redis.call('exists', KEYS[1]) == 0) or "
                    "(redis.call('hexists', KEYS[1], ARGV[2]) == 1) then "
                    "redis.call('hincrby', KEYS[1], ARGV[2], 1); "
                    "redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; "
                    "return redis.call('pttl', KEYS[1]);",
                    "1", name_, lease, owner})
        .is_nil();
  }
  bool unlock() {
    return command({"EVAL",
                    "if (redis.call('hexists', KEYS[1], ARGV[2]) == 0) then return nil; end; "
                    "local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1); "
                    "if (counter > 0) then return 0; end; redis.call('del', KEYS[1]); "
                    "redis.call('publish', KEYS[2], ARGV[1]); return 1;",
                    "2", name_, channel_, "0", owner})
               .integer == 1;
  }
  bool force_unlock() {
    return command({"EVAL",
                    "if (redis.call('del', KEYS[1]) == 1) then "
                    "redis.call(ARGV[2], KEYS[2], ARGV[1]); return 1 else return 0 end",
                    "2", name_, channel_, "0", "publish"})
               .integer == 1;
  }
  bool hears(std::chrono::milliseconds within) { return hears_.receive(within).has_value(); }

  /// RLock.tryLock(time): it tries, listens, and tries again whenever it is told, as slowly as the
  /// real one, which needs 0.6 ms from the message to its try.
  bool try_lock_for(std::chrono::milliseconds time) {
    if (try_lock()) return true;
    const auto until = std::chrono::steady_clock::now() + time;
    listen();
    bool got = try_lock();
    while (!got) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) break;
      if (!hears(std::chrono::ceil<std::chrono::milliseconds>(left))) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(600));
      while (hears(std::chrono::milliseconds(0))) {  // all that came is one reason to try
      }
      got = try_lock();
    }
    hears_.send({"UNSUBSCRIBE", channel_});
    for (bool ended = false; !ended;) {
      const auto word = hears_.receive(std::chrono::seconds(10));
      ended = !word || word->items.at(0).text == "unsubscribe";
    }
    return got;
  }

 private:
  /// By another thread, as the real one: without those two switches of threads it is twice as
  /// quick, and nobody else gets a lock that it gives back and takes again at once.
  test::RedisAnswer command(const test::RedisTalk::Command& words) {
    return traffic_.run([&] { return talk_.expect_ok(words); });
  }

  static constexpr const char* owner = "5e1f0000-0000-4000-8000-100000000001:1";
  test::RedisTalk talk_;
  test::RedisTalk hears_;
  const std::string name_;
  const std::string channel_;
  contract::Worker traffic_;
};

}  // namespace mortise::fault
