// SPDX-License-Identifier: MIT
// The model beside a real redis-server: what scripts answer that do not end, or end with something
// that is no text, the same to the byte.
#include "simulation/redis/beside/pair.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace simulation::redis {
namespace {

// Lua's own errors, and how values are converted.
TEST(RedisConversions, AreAsOnARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  Pair pair;
  for (const std::string_view text : {
           "return 1",
           "return 1.9",
           "return -1.9",
           "return true",
           "return false",
           "return nil",
           "return",
           "return {}",
           "return {1, 2, {3, 'x'}, true, false, 4}",
           "return {1, nil, 3}",
           "return {ok='FINE'}",
           "return {err='CODE words'}",
           "return {err='a\\nb'}",
           "return redis.status_reply('A\\r\\nB')",
           "return redis.error_reply('MY words')",
           "return redis.error_reply('-MY words')",
           "return redis.error_reply('words')",
           "return redis.error_reply(1)",
           "return redis.sha1hex('')",
           "return redis.sha1hex()",
           "return redis.call('SET', KEYS[1], 1.5)",
           "return redis.call('SET', KEYS[1], 2^53)",
           "return redis.call('SET', KEYS[1], 1e300)",
           "return redis.call('SET', KEYS[1], -0)",
           "return redis.call('SET', KEYS[1], 0.1)",
           "return redis.call('GET', KEYS[1])",
           "return redis.call('SET', KEYS[1], true)",
           "return redis.call('SET', KEYS[1], {})",
           "return redis.call()",
           "return redis.pcall()",
           "return redis.call('NOSUCH')",
           "return redis.pcall('NOSUCH')",
           "return redis.call('GET')",
           "return redis.pcall('GET')",
           "return redis.call('EVAL', 'return 1', 0)",
           "return redis.call('SUBSCRIBE', 'a')",
           "return redis.call('HSET', KEYS[1], 'a', 'b')",
           "return redis.pcall('HSET', KEYS[1], 'a', 'b')",
           "return {redis.pcall('HSET', KEYS[1], 'a', 'b'), 1}",
           "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], 'a', 'b') error('end')",
           "error({err='MY own'})",
           "error('x')",
           "error()",
           "error(5)",

           "local a = nil return a.b",
           "return nosuch",
           "x = 1",
           "redis = 1",
           "return type(os)",
           "return #ARGV .. KEYS[1]",
           "KEYS[1] = 'y' return KEYS[1]",
           "return tostring(1e15)",
           "return tostring(2^53)",
           "return string.format('%.0f', 1700000000123456)",
           "return {pcall(redis.call, 'NOSUCH')}",
           "return {pcall(error, {err='A b'})}",
           "return {pcall(error, 'A b')}",
           "return {xpcall(function() error('z') end, tostring)}",
           "return redis.call('TIME')",
           "return redis.call('TYPE', KEYS[1])",
           "return redis.call('TYPE', KEYS[1]).ok",
           "return redis.call('PING')",
           "return redis.call('HMGET', KEYS[1], 'a', 'x')[2] == false",
           "return redis.call('HGET', KEYS[1], 'x') == false",
           "return #redis.call('HGETALL', KEYS[1])",
           "return redis.call('HGETALL', 'none')",
           "return redis.call('publish', 'nobody', 'x')",
           "return {1, 2, 3, 'a', 5}",
           "return loadstring('return 5')()",
           "return redis.replicate_commands()",
           "return math.floor(-1.5)",
           "return unpack({1, 2})",
           "return cjsonx",
           "return {1, redis.error_reply('E x')}",
           "for",
           "return redis.LOG_WARNING",
           "return redis.call('PEXPIRE', KEYS[1], 1.5)",
           "return redis.call('CLIENT', 'ID')",
           "return redis.call('client', 'nosuch')",
           "return 9007199254740993",
           "return redis.setresp(2)",
           "return 2^63",
           "return -2^63",
       }) {
    pair.ask({"EVAL", std::string(text), "1", "key", "argument"});
  }
  pair.compare_keys();
}

}  // namespace
}  // namespace simulation::redis
