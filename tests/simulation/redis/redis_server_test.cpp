// SPDX-License-Identifier: MIT
// The model of Redis by itself: its parser, its scripts, its faults. Whether it is right is what
// redis_comparison_test.cpp asks of a real server.
#include "simulation/redis/redis_server.hpp"

#include "redis/store/command.hpp"
#include "redis/store/scripts.hpp"
#include "simulation/redis/quiet_site.hpp"

#include <gmock/gmock.h>

#include <initializer_list>

namespace simulation::redis {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
namespace shipped = mortise::redis::scripts;

class RedisModelTest : public testing::Test {
 protected:
  RedisModelTest() { model.opened(1); }

  std::string ask(std::initializer_list<std::string_view> words, ConnectionId from = 1) {
    std::string bytes;
    mortise::redis::append_command(bytes, {words.begin(), words.size()});
    model.received(from, bytes);
    return site.take(from);
  }
  std::string run(const mortise::redis::Script& script,
                  std::initializer_list<std::string_view> arguments) {
    std::vector<std::string_view> words{"EVAL", script.text, "1", "mortise:{name}"};
    words.insert(words.end(), arguments);
    std::string bytes;
    mortise::redis::append_command(bytes, words);
    model.received(1, bytes);
    return site.take(1);
  }
  std::string acquire(std::string_view attempt) {
    return run(shipped::acquire,
               {attempt, "9000000000000000", "10000", "3610000", "label", "w fair wait"});
  }

  QuietSite site;
  RedisModel model{site};
};

TEST_F(RedisModelTest, ReadsCommandsHoweverTheyAreCut) {
  std::string bytes;
  mortise::redis::append_command(bytes, std::array<std::string_view, 3>{"SET", "key", "a\r\nb"});
  mortise::redis::append_command(bytes, std::array<std::string_view, 2>{"GET", "key"});
  const std::string answers = "+OK\r\n$4\r\na\r\nb\r\n";
  for (std::size_t first = 0; first < bytes.size(); ++first) {
    for (std::size_t second = first; second < bytes.size(); second += 7) {
      model.received(1, std::string_view(bytes).substr(0, first));
      model.received(1, std::string_view(bytes).substr(first, second - first));
      model.received(1, std::string_view(bytes).substr(second));
      ASSERT_EQ(site.take(1), answers) << first << ", " << second;
    }
  }
}

TEST_F(RedisModelTest, ClosesWhereThereIsNoCommand) {
  model.received(1, "*1\r\n:3\r\n");
  EXPECT_EQ(site.take(1), "-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_TRUE(site.has_hung_up(1));
}

TEST_F(RedisModelTest, RunsTheShippedScripts) {
  const std::string a = std::string(16, 'a') + "-1";
  const std::string b = std::string(16, 'b') + "-1";
  EXPECT_EQ(acquire(a),
            "*4\r\n$7\r\ngranted\r\n:1700000000000000\r\n:1700000000000000\r\n"
            ":10000000\r\n");
  EXPECT_EQ(model.lock("mortise:{name}").attempt, a);
  EXPECT_TRUE(model.lock("mortise:{name}").held);
  EXPECT_THAT(acquire(b), HasSubstr("queued\r\n:1700000000000000\r\n:10000000\r\n:1\r\n"
                                    ":1700000000000000\r\n:1\r\n$5\r\nlabel\r\n"));
  EXPECT_EQ(model.lock("mortise:{name}").waiting, 1U);

  model.opened(2);
  const std::string inbox = "mortise:inbox:" + std::string(16, 'b');
  EXPECT_THAT(ask({"SUBSCRIBE", inbox}, 2), StartsWith("*3\r\n$9\r\nsubscribe\r\n"));
  site.pass(std::chrono::seconds(1));
  EXPECT_THAT(run(shipped::release, {a, "1700000000000000", "3602000", "fair"}),
              HasSubstr("\nreleased\r"));
  EXPECT_THAT(site.take(2), HasSubstr("G " + b + " 1700000001000000 1700000001000000 2000 "));
  EXPECT_EQ(model.lock("mortise:{name}").attempt, b);
  site.pass(std::chrono::seconds(2));
  EXPECT_FALSE(model.lock("mortise:{name}").held);
}

TEST_F(RedisModelTest, KnowsAScriptByTheShippedHash) {
  EXPECT_EQ(ask({"EVALSHA", shipped::inspect.sha, "1", "k", ""}),
            "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  EXPECT_EQ(ask({"SCRIPT", "LOAD", shipped::inspect.text}),
            "$40\r\n" + std::string(shipped::inspect.sha) + "\r\n");
  EXPECT_THAT(ask({"EVALSHA", shipped::inspect.sha, "1", "k", ""}), HasSubstr("\nfree\r\n:17"));
  model.flush_scripts();
  EXPECT_THAT(ask({"EVALSHA", shipped::inspect.sha, "1", "k", ""}), StartsWith("-NOSCRIPT"));
}

TEST_F(RedisModelTest, MakesTheMistakeThatItIsTold) {
  const std::string a = std::string(16, 'a') + "-1";
  acquire(a);
  EXPECT_THAT(run(shipped::release, {"stranger-1", "5", "3602000", "fair"}),
              HasSubstr("\nnot_held\r"));
  model.make_mistake("redis.release_without_owner_check");
  EXPECT_THAT(run(shipped::release, {"stranger-1", "5", "3602000", "fair"}),
              HasSubstr("\nreleased\r"));
  EXPECT_FALSE(model.lock("mortise:{name}").held);
}

TEST_F(RedisModelTest, RefusesMemoryAtTheFirstWriteOfAScriptOnly) {
  model.refuse_memory(true);
  EXPECT_EQ(ask({"SET", "a", "1"}), "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_THAT(ask({"EVAL", "return redis.call('HSET', KEYS[1], 'a', 1)", "1", "k"}),
              AllOf(StartsWith("-OOM command not allowed when used memory > 'maxmemory'. script: "),
                    HasSubstr(", on @user_script:1.")));
  EXPECT_EQ(
      ask({"EVAL", "redis.call('HDEL', KEYS[1], '-') return redis.call('HSET', KEYS[1], 'a', 1)",
           "1", "k"}),
      ":1\r\n");
  model.refuse_memory(false);
  EXPECT_EQ(ask({"SET", "a", "1"}), "+OK\r\n");
}

TEST_F(RedisModelTest, RefusesWhatItsStateForbids) {
  model.set_readonly(true);
  EXPECT_EQ(ask({"SET", "a", "1"}), "-READONLY You can't write against a read only replica.\r\n");
  EXPECT_THAT(ask({"INFO", "replication"}), HasSubstr("role:slave"));
  model.set_readonly(false);
  model.set_loading(true);
  EXPECT_EQ(ask({"EXISTS", "a"}), "-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_THAT(ask({"INFO", "server"}), HasSubstr("run_id:" + model.run_id()));
  model.set_loading(false);
  model.set_busy(true);
  EXPECT_THAT(ask({"EXISTS", "a"}), StartsWith("-BUSY Redis is busy running a script."));
  model.set_busy(false);
  model.deny("client|setname");
  EXPECT_EQ(ask({"CLIENT", "SETNAME", "a"}),
            "-NOPERM this user has no permissions to run the 'client|setname' command\r\n");
  model.refuse_writes(true);
  EXPECT_THAT(ask({"PING"}), StartsWith("-MISCONF "));
  EXPECT_EQ(ask({"EXISTS", "a"}), ":0\r\n");
}

TEST_F(RedisModelTest, ForgetsWhatARestartForgets) {
  ask({"SET", "a", "1"});
  ask({"SCRIPT", "LOAD", shipped::inspect.text});
  const std::string before = model.run_id();
  model.restarted(true);
  EXPECT_EQ(before.size(), 40U);
  EXPECT_NE(model.run_id(), before);
  model.opened(2);
  EXPECT_EQ(ask({"GET", "a"}, 2), "$1\r\n1\r\n");
  EXPECT_EQ(ask({"SCRIPT", "EXISTS", shipped::inspect.sha}, 2), "*1\r\n:0\r\n");
  model.restarted(false);
  EXPECT_EQ(model.key_count(), 0U);
}

TEST_F(RedisModelTest, CountsWhatAnOperationCosts) {
  model.count_instructions(1);
  acquire(std::string(16, 'a') + "-1");
  const Counters first = model.counters();
  EXPECT_EQ(first.commands, 1U);
  EXPECT_EQ(first.scripts, 1U);
  EXPECT_EQ(first.commands_of_scripts, 4U);  // TIME HMGET HSET PEXPIRE
  EXPECT_GT(first.instructions, 50U);
  EXPECT_LT(first.instructions, 500U);
  EXPECT_GT(model.bytes_of("mortise:{name}"), 40U);
}

TEST_F(RedisModelTest, CountsLargeNumbersThatAreNotText) {
  ask({"EVAL", "return redis.call('PEXPIRE', 'a', 99999999)", "0"});
  ask({"EVAL", "return redis.call('PEXPIRE', 'a', '100000000')", "0"});
  EXPECT_EQ(model.counters().large_numbers, 0U);
  ask({"EVAL", "return redis.call('PEXPIRE', 'a', 100000000)", "0"});
  EXPECT_EQ(model.counters().large_numbers, 1U);
}

TEST_F(RedisModelTest, EvictsWhatTheSeedSays) {
  for (const std::string_view key : {"a", "b", "c"}) ask({"SET", key, "1"});
  EXPECT_TRUE(model.evict("b"));
  EXPECT_FALSE(model.evict("b"));
  EXPECT_THAT(model.evict_one(), testing::AnyOf("a", "c"));
  EXPECT_EQ(model.key_count(), 1U);
}

TEST_F(RedisModelTest, RemovesWhatHasEndedAlthoughNobodyLooks) {
  ask({"SET", "a", "1", "PX", "50"});
  site.pass(std::chrono::milliseconds(200));
  EXPECT_EQ(ask({"DBSIZE"}), ":0\r\n");
}

}  // namespace
}  // namespace simulation::redis
