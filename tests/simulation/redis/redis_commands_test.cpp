// SPDX-License-Identifier: MIT
// The model beside a real redis-server: random commands, right and wrong ones, with the same
// answers to the byte and the same keys afterwards.
#include "model/seed.hpp"
#include "simulation/redis/beside/pair.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace simulation::redis {
namespace {

class Commands {
 public:
  explicit Commands(std::uint64_t seed) : luck_(seed) {}

  Words next() {
    Words words = of(shapes);
    for (std::string& word : words) fill(word);
    if (below(40) == 0) words.pop_back();
    if (below(60) == 0) words.push_back(text());
    if (words.empty()) words = {"PING"};
    if (below(8) == 0) {
      for (char& c : words[0]) c = static_cast<char>(std::tolower(c));
    }
    return words;
  }
  std::size_t below(std::size_t size) {
    return std::uniform_int_distribution<std::size_t>(0, size - 1)(luck_);
  }

 private:
  // K a key, F a field, V a value, N a number, T a time in ms, S in s, A and B the same since 1970.
  static const std::vector<Words> shapes;

  template <typename Items>
  const typename Items::value_type& of(const Items& items) {
    return items[below(items.size())];
  }

  std::string text() {
    static const std::vector<std::string> texts{"",
                                                "1",
                                                "-5",
                                                "007",
                                                "-0",
                                                "+3",
                                                "9223372036854775807",
                                                "-9223372036854775808",
                                                " 4",
                                                "4 ",
                                                "a",
                                                "abc",
                                                "a\r\nb",
                                                "1.5",
                                                "92233720368547758070",
                                                std::string("z\0y", 3),
                                                "-1",
                                                "0",
                                                "10",
                                                "NX",
                                                "px",
                                                "GET",
                                                "xx",
                                                "keepttl",
                                                "EX",
                                                "GT",
                                                "lt",
                                                std::string(70, 'v')};
    return of(texts);
  }
  std::string number(std::int64_t most) {
    if (below(12) == 0) return text();
    const auto size = static_cast<std::size_t>(most);
    return std::to_string(static_cast<std::int64_t>(below(size)) - (below(6) == 0 ? most : 0));
  }

  void fill(std::string& word) {
    static const std::vector<std::string> keys{"a", "b", "c", "d", "e", "key with blanks", ""};
    static const std::vector<std::string> fields{"f", "g", "h", "", "field\n", "i", "j"};
    constexpr std::int64_t start = 1'700'000'000;
    if (word == "K") {
      word = of(keys);
    } else if (word == "F") {
      word = of(fields);
    } else if (word == "V") {
      word = text();
    } else if (word == "N") {
      word = number(20);
    } else if (word == "T") {
      word = number(6000);
    } else if (word == "S") {
      word = number(8);
    } else if (word == "A") {
      word = below(10) == 0
                 ? text()
                 : std::to_string(start * 1000 + static_cast<std::int64_t>(below(4'000'000)));
    } else if (word == "B") {
      word =
          below(10) == 0 ? text() : std::to_string(start + static_cast<std::int64_t>(below(4000)));
    } else if (word == "O") {
      word = of(std::array<std::string, 8>{"NX", "XX", "GT", "LT", "nx", "GET", "KEEPTTL", "bad"});
    } else if (word == "U") {
      word = of(std::array<std::string, 6>{"EX", "PX", "EXAT", "PXAT", "px", "KEEPTTL"});
    }
  }

  std::mt19937_64 luck_;
};

const std::vector<Words> Commands::shapes{
    {"GET", "K"},
    {"SET", "K", "V"},
    {"SET", "K", "V", "O"},
    {"SET", "K", "V", "PX", "T"},
    {"SET", "K", "V", "U", "T"},
    {"SET", "K", "V", "U", "A", "O"},
    {"SET", "K", "V", "O", "PX", "T"},
    {"SET", "K", "V", "U", "S", "U", "T"},
    {"SETNX", "K", "V"},
    {"SETEX", "K", "S", "V"},
    {"PSETEX", "K", "T", "V"},
    {"GETDEL", "K"},
    {"STRLEN", "K"},
    {"APPEND", "K", "V"},
    {"INCR", "K"},
    {"DECR", "K"},
    {"INCRBY", "K", "N"},
    {"INCRBY", "K", "V"},
    {"DECRBY", "K", "V"},
    {"HSET", "K", "F", "V"},
    {"HSET", "K", "F", "V", "F", "V"},
    {"HSET", "K", "F", "V", "F"},
    {"HMSET", "K", "F", "V"},
    {"HMSET", "K", "F", "V", "F"},
    {"HSETNX", "K", "F", "V"},
    {"HGET", "K", "F"},
    {"HMGET", "K", "F", "F", "F"},
    {"HDEL", "K", "F"},
    {"HDEL", "K", "F", "F", "F", "F"},
    {"HEXISTS", "K", "F"},
    {"HLEN", "K"},
    {"HSTRLEN", "K", "F"},
    {"HGETALL", "K"},
    {"HKEYS", "K"},
    {"HVALS", "K"},
    {"HINCRBY", "K", "F", "N"},
    {"HINCRBY", "K", "F", "V"},
    {"LPUSH", "K", "V"},
    {"RPUSH", "K", "V", "V"},
    {"LPOP", "K"},
    {"RPOP", "K"},
    {"LLEN", "K"},
    {"LRANGE", "K", "N", "N"},
    {"LRANGE", "K", "0", "-1"},
    {"SADD", "K", "V", "V"},
    {"SREM", "K", "V"},
    {"SCARD", "K"},
    {"SISMEMBER", "K", "V"},
    {"ZADD", "K", "N", "V"},
    {"ZADD", "K", "N", "V", "N", "F"},
    {"ZADD", "K", "NX", "CH", "N", "F"},
    {"ZADD", "K", "XX", "CH", "N", "F"},
    {"ZADD", "K", "V", "F"},
    {"ZREM", "K", "F"},
    {"ZREM", "K", "F", "V"},
    {"ZCARD", "K"},
    {"ZSCORE", "K", "F"},
    {"ZMSCORE", "K", "F", "V", "F"},
    {"ZRANK", "K", "F"},
    {"ZCOUNT", "K", "N", "+inf"},
    {"ZCOUNT", "K", "(2", "N"},
    {"ZRANGE", "K", "N", "N"},
    {"ZRANGE", "K", "0", "-1", "WITHSCORES"},
    {"ZRANGE", "K", "-inf", "N", "BYSCORE", "LIMIT", "N", "N"},
    {"ZRANGE", "K", "+inf", "(3", "BYSCORE", "REV", "WITHSCORES"},
    {"ZRANGE", "K", "N", "N", "LIMIT", "0", "1"},
    {"ZRANGE", "K", "N", "N", "O"},
    {"DEL", "K"},
    {"DEL", "K", "K"},
    {"UNLINK", "K"},
    {"EXISTS", "K", "K"},
    {"TYPE", "K"},
    {"TYPE", "K"},
    {"EXPIRE", "K", "S"},
    {"EXPIRE", "K", "V", "O"},
    {"PEXPIRE", "K", "T"},
    {"PEXPIRE", "K", "T", "O"},
    {"PEXPIRE", "K", "T", "O", "O"},
    {"EXPIREAT", "K", "B"},
    {"PEXPIREAT", "K", "A", "O"},
    {"TTL", "K"},
    {"PTTL", "K"},
    {"EXPIRETIME", "K"},
    {"PEXPIRETIME", "K"},
    {"PERSIST", "K"},
    {"PING"},
    {"PING", "V"},
    {"ECHO", "V"},
    {"TIME"},
    {"AUTH", "V"},
    {"AUTH", "V", "V"},
    {"AUTH", "default", "V"},
    {"AUTH", "V", "V", "V"},
    {"HELLO", "V"},
    {"SELECT", "V"},
    {"SELECT", "0"},
    {"CLIENT", "SETNAME", "V"},
    {"CLIENT", "GETNAME"},
    {"CLIENT", "NOTHING", "V"},
    {"CONFIG", "GET", "maxmemory-policy"},
    {"CONFIG", "GET", "databases", "max*policy"},
    {"CONFIG", "GET", "no-such-thing"},
    {"ROLE"},
    {"WAIT", "0", "N"},
    {"PUBLISH", "K", "V"},
    {"PUBSUB", "NUMSUB", "K", "V"},
    {"SCRIPT", "EXISTS", "V"},
    {"SCRIPT", "FLUSH", "V"},
    {"SCRIPT", "LOAD", "return KEYS"},
    {"EVALSHA", "V", "0"},
    {"EVALSHA", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB", "0"},
    {"EVAL", "return {KEYS, ARGV}", "N", "K", "V"},
    {"EVAL", "return 'x", "0"},
    {"NOSUCH", "V", "V", "V"},
    {"V", "V"},
    {"KEYS", "*"},
    {"FLUSHALL"},
};

bool is_left_out(const Words& words) {
  // Numbers of connections and of the protocol differ on purpose, and these commands are not
  // modelled whole.
  const bool many = words.size() > 2 && (words[0] == "LPOP" || words[0] == "RPOP" ||
                                         words[0] == "lpop" || words[0] == "rpop");
  const bool hello = (words[0] == "HELLO" || words[0] == "hello") &&
                     (words.size() == 1 || words[1] == "2" || words[1] == "3");
  // A word that is no command here may be one there; a first byte may be of the protocol.
  return many || hello || words[0].empty();
}

void compare_commands(std::size_t rounds) {
  const std::uint64_t seed = mortise::model::test_seed();
  SCOPED_TRACE("MORTISE_SEED=" + std::to_string(seed));
  Commands commands(seed);
  Pair pair;
  for (std::size_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    for (int i = 0; i < 25; ++i) {
      Words words = commands.next();
      // Seldom, or little would ever be there.
      if (words[0].starts_with("FLUSH") && commands.below(20) != 0) continue;
      if (!is_left_out(words)) pair.say(std::move(words));
    }
    pair.exchange();
    if (round % 10 == 0) {
      pair.ask({"SELECT", "0"});
      pair.compare_keys();
    }
    pair.pass(std::chrono::microseconds(commands.below(800'000)));
  }
  std::cout << pair.commands() << " commands compared\n";
}

TEST(RedisCommands, AnswerAsThoseOfARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_commands(400);
}

TEST(RedisCommandsLong, AnswerAsThoseOfARealServer) {
  MORTISE_NEEDS_REDIS_SERVER();
  compare_commands(5000);
}

}  // namespace
}  // namespace simulation::redis
