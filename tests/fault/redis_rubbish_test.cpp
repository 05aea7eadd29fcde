// SPDX-License-Identifier: MIT
// Goal: rubbish in place of a reply or in an inbox is a typed error or nothing: never a hold, never
// a hold left behind, never much memory. Method: a proxy replaces replies, and others publish.
#include "base/random_id.hpp"
#include "fault/redis_proxied.hpp"
#include "model/build.hpp"
#include "model/seed.hpp"

#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace mortise::fault {
namespace {

const LockOptions briefly{.lease = 1200ms};

class RedisRubbish : public ProxiedRedisTest {
 protected:
  [[nodiscard]] static std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t used = 0;
    file >> all >> used;
    return used * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
  [[nodiscard]] static std::vector<std::string> rubbish(base::SplitMix random) {
    std::vector<std::string> all = {
        "+OK\r\n", "$5\r\nhello\r\n", "*2147483647\r\n", "$1000000000\r\n", "-ERR x\r\n", ":1\r\n",
        "$-1\r\n", "*0\r\n", "$0\r\n\r\n", "-\r\n", "*-2\r\n", "$-7\r\n",
        ":99999999999999999999\r\n",
        // Grants, nearly: short of a field, a number of 0 or beyond 2^53, a time in the future.
        "$3\r\nG 1\r\n", "$9\r\nG 1 0 1 9\r\n", "$27\r\nG 1 99999999999999999999 1 9\r\n",
        "$24\r\nG 1 9007199254740993 1 9\r\n", "$12\r\nG 1 -2 1 900\r\n", "$2\r\nQ \r\n"};
    for (int depth : {10, 1'000, 100'000}) {
      std::string nested;
      for (int i = 0; i < depth; ++i) nested += "*1\r\n";
      all.push_back(nested + ":1\r\n");
    }
    for (int i = 0; i < 20; ++i) {
      std::string bytes(1 + random.next() % 40, ' ');
      for (char& byte : bytes) byte = static_cast<char>(random.next());
      // Without an end it would be a reply that has not come yet, which is another test.
      all.push_back(bytes + "\r\n");
    }
    return all;
  }
};

TEST_F(RedisRubbish, InPlaceOfAnAcquiresReplyIsNoHold) {
  const base::SplitMix random(model::test_seed());
  Client mine = ready_client();
  for (const std::string& bytes : rubbish(random)) {
    const std::string about = ::testing::PrintToString(bytes.substr(0, 60));
    Lock lock = mine.make_lock("a", {.lease = 6s});
    proxy().garbage(bytes, Proxy::Replies::scripts);
    std::error_code error;
    bool held = false;
    EXPECT_LT(own_duration_of([&] { held = lock.try_lock_for(1s, error); }), 1s + allowance + slack)
        << about;
    EXPECT_TRUE(held || error == Errc::protocol || is_retryable(error))
        << about << ": " << error.message();
    expect_truth(lock, held, about);
    proxy().heal();
    ASSERT_FALSE(HasFailure()) << about;
    ASSERT_TRUE(lock.try_lock_for(patience)) << about << ": it did not recover";
    lock.unlock();
  }
}

// What it cannot answer is to be taken back, so that it is connected to again and again.
TEST_F(RedisRubbish, InPlaceOfEveryReplyIsNoReasonToConnectWithoutAPause) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  RedisTalk talk = server().talk();
  const auto connected = [&] {
    return std::stoull(talk.info("stats").at("total_connections_received"));
  };
  const std::uint64_t before = connected();
  const auto answer_nonsense = [&] { proxy().garbage("+OK\r\n", Proxy::Replies::scripts); };
  answer_nonsense();  // to the first, whenever that thread begins
  std::atomic<bool> ends{false};
  std::thread answers([&] {
    while (!ends.load()) {
      answer_nonsense();  // to the next
      std::this_thread::sleep_for(200us);
    }
  });
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(100ms, error));
  // The pauses double, from 10 ms on.
  EXPECT_FALSE(happens_within([&] { return connected() > before + 30; }, 2s));
  ends.store(true);
  answers.join();
  proxy().heal();
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 4s));
}

// Its caller was told of the nonsense: no library is behind what takes the grant back.
// Promise: S5
TEST_F(RedisRubbish, InPlaceOfAnAcquiresReplyIsTakenBackThoughTheServerRefusesThatFirst) {
  Party taker(ready_client(), "a", {.lease = 20s});
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  proxy().garbage("$1\r\nZ\r\n", Proxy::Replies::scripts);
  auto taken = taker.start();
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_FALSE(happens_within([&] { return !is_held("a"); }, 1500ms));
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 3s)) << "an orphaned grant holds the name";
  EXPECT_TRUE(comes(taken));
}

// The same where the client is closed meanwhile: what nobody else would free is given back first.
TEST_F(RedisRubbish, InPlaceOfAnAcquiresReplyIsTakenBackBeforeTheClientIsClosed) {
  Party taker(ready_client(), "a", {.lease = 20s});
  proxy().delay(300ms, 300ms, Proxy::Direction::to_client);
  proxy().garbage("$1\r\nZ\r\n", Proxy::Replies::scripts);
  auto taken = taker.start();
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_FALSE(happens_within([&] { return !is_held("a"); }, 1500ms));
  proxy().heal();
  server().talk().expect_ok({"CONFIG", "SET", "min-replicas-to-write", "0"});
  taker.client().close();
  EXPECT_FALSE(is_held("a")) << "a closed client holds the name";
  EXPECT_TRUE(comes(taken));
}

TEST_F(RedisRubbish, InPlaceOfAReleasesReplyFreesTheLock) {
  const base::SplitMix random(model::test_seed());
  Client mine = ready_client();
  for (const std::string& bytes : rubbish(random)) {
    const std::string about = ::testing::PrintToString(bytes.substr(0, 60));
    Lock lock = mine.make_lock("a", {.lease = 10s});
    ASSERT_TRUE(lock.try_lock_for(patience)) << about;
    proxy().garbage(bytes, Proxy::Replies::scripts);
    std::error_code error;
    EXPECT_LT(own_duration_of([&] { lock.unlock(error); }), 1s + slack) << about;
    EXPECT_FALSE(error) << about << ": " << error.message();
    EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 2s)) << about;
    proxy().heal();
  }
}

TEST_F(RedisRubbish, InTheInboxIsNoGrant) {
  const base::SplitMix random(model::test_seed());
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(ready_client(), "a", briefly);
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk talk = server().talk();
  const std::string attempt = first_attempt("a");
  const std::string channel = "mortise:inbox:" + attempt.substr(0, 16);
  const std::string far = "99999999999999999999";
  for (std::string text :
       {std::string("G"), "G " + attempt, "G " + attempt + " 0 1 900 " + key("a"),
        "G " + attempt + " " + far + " 1 900 " + key("a"), "G x 1 1 900 " + key("a"),
        "L " + attempt, std::string("T"), std::string(100'000, 'G'), std::string("\0\r\n", 3)}) {
    ASSERT_EQ(talk.command({"PUBLISH", channel, text}).integer, 1);
    EXPECT_FALSE(comes_within(served, 20ms)) << text.substr(0, 60);
  }
  EXPECT_TRUE(is_held("a"));
  EXPECT_GT(lock.valid_for(), 0ns);
  lock.unlock();
  ASSERT_TRUE(comes(served));
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(RedisRubbish, APushBeyondTheLimitCostsTheConnectionAndNotTheWaiter) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(client(), "a", briefly);
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  RedisTalk talk = server().talk();
  const std::string channel = "mortise:inbox:" + first_attempt("a").substr(0, 16);
  // The holder's inbox, too, or it would come later, and count as one too many.
  ASSERT_TRUE(eventually([&] {
    return talk.command({"PUBSUB", "CHANNELS", "mortise:inbox:*"}).items.size() == 2;
  }));
  const std::size_t before = talk.clients().size();
  ASSERT_EQ(talk.command({"PUBLISH", channel, std::string(300'000, 'G')}).integer, 1);
  // Another connection, and the place in the queue is kept.
  ASSERT_TRUE(asks_again("a"));
  EXPECT_TRUE(eventually([&] {
    return talk.command({"PUBSUB", "NUMSUB", channel}).items.at(1).integer == 1;
  }));
  EXPECT_TRUE(eventually([&] { return talk.clients().size() <= before; }));
  EXPECT_FALSE(comes_within(served, 0s));
  lock.unlock();
  EXPECT_TRUE(comes(served, 1s + slack));
  EXPECT_EQ(waiter.release(), Released::released);
  expect_free("a");
}

TEST_F(RedisRubbish, HugePromisesReserveNoMemory) {
  if (model::under_sanitizer) GTEST_SKIP() << "a sanitizer's memory is its own";
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", briefly);
  const std::size_t before = resident();
  for (const char* const bytes :
       {"*2147483647\r\n", "$1000000000\r\n", "*1048576\r\n*1048576\r\n"}) {
    for (int i = 0; i < 10; ++i) {
      proxy().garbage(bytes, Proxy::Replies::scripts);
      std::error_code error;
      if (lock.try_lock_for(300ms, error)) lock.unlock();
      proxy().heal();
    }
  }
  EXPECT_LT(resident(), before + (std::size_t{16} << 20U));
}

}  // namespace
}  // namespace mortise::fault
