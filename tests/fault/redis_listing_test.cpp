// SPDX-License-Identifier: MIT
// Goal: a list tells what is held and nobody else's keys, by the rights that the manual names, and
// keeps no other client waiting. Method: a database with strangers' keys of every kind, users who
// lack a right, many keys, and the server's own count of what it did.
#include "fault/redis_fixture.hpp"
#include "redis/store/listing.hpp"
#include "support/redis_store.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace mortise::fault {
namespace {

using Names = std::vector<std::string>;

class RedisListings : public RedisTest {
 protected:
  [[nodiscard]] static Names all_of(Client& asking, const std::string& prefix,
                                    std::size_t limit = 1'000) {
    std::set<std::string> names;
    ListOptions options{.limit = limit, .wait = patience};
    do {
      NamePage page = asking.list(prefix, options);
      EXPECT_LE(page.names.size(), limit);
      names.insert(page.names.begin(), page.names.end());
      options.cursor = page.cursor;
    } while (!options.cursor.empty());
    return {names.begin(), names.end()};
  }
  [[nodiscard]] Client with(const std::string& parameters) {
    return Client(server().url() + "?" + parameters);
  }
};

TEST_F(RedisListings, TellsNothingOfOthersKeys) {
  RedisTalk talk = server().talk();
  Client mine = client();
  Client other = with("prefix=other:");
  Client like = with("prefix=mortise:x");
  Lock a = mine.make_lock("a");
  Lock b = other.make_lock("b");
  Lock c = like.make_lock("c");
  for (Lock* const each : {&a, &b, &c}) ASSERT_TRUE(each->try_lock());
  talk.expect_ok({"SET", "mortise:{string}", "x"});
  talk.expect_ok({"LPUSH", "mortise:{list}", "x"});
  talk.expect_ok({"HSET", "mortise:{hash}", "o", "x", "l", "y"});
  talk.expect_ok({"HSET", "mortise:{numbers}", "l", "9000000000000"});
  talk.expect_ok({"HSET", "mortise:{{}}", "o", "x"});
  talk.expect_ok({"SET", "mortise:inbox:x", "x"});
  talk.expect_ok({"SET", "{a}", "x"});
  talk.expect_ok({"SELECT", "2"});
  talk.expect_ok({"SET", "mortise:{elsewhere}", "x"});
  EXPECT_EQ(all_of(mine, ""), Names{"a"});
  EXPECT_EQ(all_of(other, ""), Names{"b"});
  EXPECT_EQ(all_of(like, ""), Names{"c"});
  EXPECT_EQ(all_of(mine, "x"), Names{});
}

TEST_F(RedisListings, PrefixesOfClientsAreNoPatterns) {
  Client mine = with("prefix=m*[a]?:");
  Client other = with("prefix=mxa?:");
  Lock a = mine.make_lock("a");
  Lock b = other.make_lock("b");
  ASSERT_TRUE(a.try_lock());
  ASSERT_TRUE(b.try_lock());
  EXPECT_EQ(all_of(mine, ""), Names{"a"});
  EXPECT_EQ(all_of(other, ""), Names{"b"});
}

TEST_F(RedisListings, WritesNothing) {
  Client mine = client();
  Lock held = mine.make_lock("held");
  Lock lapsed = mine.make_lock("lapsed", {.lease = 100ms, .renew = false});
  ASSERT_TRUE(held.try_lock());
  ASSERT_TRUE(lapsed.try_lock());
  ASSERT_TRUE(eventually([&] { return all_of(mine, "") == Names{"held"}; }));
  RedisTalk talk = server().talk();
  const auto changes = [&] {
    const std::string info = talk.expect_ok({"INFO", "persistence"}).text;
    const std::string_view key = "rdb_changes_since_last_save:";
    return info.substr(info.find(key) + key.size(), 8);
  };
  const std::string before = changes();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(all_of(mine, ""), Names{"held"});
  EXPECT_EQ(changes(), before);
}

// While the table of keys grows and shrinks under the pages.
TEST_F(RedisListings, MissesNoNameWhileTheTableChangesItsSize) {
  Client mine = client();
  std::deque<Lock> locks;
  Names names;
  for (int i = 0; i < 500; ++i) {
    names.push_back("n" + std::to_string(i));
    locks.push_back(mine.make_lock(names.back(), {.lease = 60s}));
    ASSERT_TRUE(locks.back().try_lock());
  }
  std::sort(names.begin(), names.end());
  RedisTalk talk = server().talk();
  std::set<std::string> seen;
  ListOptions options{.limit = 20, .wait = patience};
  int page_number = 0;
  do {
    const NamePage page = mine.list("", options);
    seen.insert(page.names.begin(), page.names.end());
    options.cursor = page.cursor;
    const int round = page_number++ / 20;
    for (int i = 0; i < 300; ++i) {
      const std::string key = "other:" + std::to_string(page_number) + ":" + std::to_string(i);
      talk.expect_ok({"SET", key, "x"});
    }
    if (round % 2 == 1 && page_number % 20 == 0) {
      talk.expect_ok({"EVAL",
                      "for _, k in ipairs(redis.call('KEYS', 'other:*')) do redis.call('DEL', k) "
                      "end return 'OK'",
                      "0"});
    }
  } while (!options.cursor.empty() && page_number < 2'000);
  EXPECT_EQ(options.cursor, "");
  EXPECT_EQ(Names(seen.begin(), seen.end()), names);
}

TEST_F(RedisListings, NamesAsLongAsTheyComeFitOnePage) {
  Client mine = client();
  std::deque<Lock> locks;
  Names names;
  for (int i = 0; i < 400; ++i) {
    std::string name = std::string(508, i % 2 == 0 ? '{' : 'x') + std::to_string(1'000 + i);
    names.push_back(name);
    locks.push_back(mine.make_lock(name, {.lease = 60s}));
    ASSERT_TRUE(locks.back().try_lock());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(all_of(mine, ""), names);
  EXPECT_EQ(all_of(mine, std::string(508, '{')).size(), 200U);
}

// A page keeps others waiting for as long as its script takes. The server's own time counts: on a
// loaded machine the script also waits for a processor.
TEST_F(RedisListings, KeepsTheServerForAMomentAPage) {
  Client mine = client();
  server().talk().expect_ok(
      {"EVAL",
       "for i = 1, 20000 do redis.call('HSET', 'mortise:{n' .. i .. '}', 'o', 'a', "
       "'l', '1', 'g', '1', 'n', 'b') end return 'OK'",
       "0"});
  RedisTalk talk = server().talk();
  const auto busy = [&] {
    auto cpu = talk.info("cpu");
    return std::stod(cpu.at("used_cpu_user")) + std::stod(cpu.at("used_cpu_sys"));
  };
  talk.expect_ok({"CONFIG", "RESETSTAT"});
  const double before = busy();
  EXPECT_EQ(all_of(mine, ""), Names{});
  const double took = busy() - before;
  auto stats = talk.command_stats();
  const auto pages = static_cast<double>(stats["evalsha"] + stats["eval"]);
  ASSERT_GT(pages, 0);
  const double each = took / pages * 1e6;
  RecordProperty("microseconds_of_a_page", std::to_string(each));
  EXPECT_LT(each, 3'000);
}

TEST_F(RedisListings, WhoMayNotScanIsDeniedAndMayLookAtQueues) {
  RedisServerOptions options;
  options.users = {"shop on >open-sesame " + contract::least_redis_privilege()};
  static_cast<void>(server(options));
  Client shop("redis://shop:open-sesame@127.0.0.1:" + std::to_string(server().port()));
  Lock lock = shop.make_lock("a");
  ASSERT_TRUE(lock.try_lock());
  const Failure failure = failure_of([&] { static_cast<void>(shop.list("")); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("+scan"));
  EXPECT_EQ(shop.queue("a").holders.size(), 1U);
  EXPECT_EQ(shop.force_release("a").size(), 1U);
  server().talk().expect_ok({"ACL", "SETUSER", "shop", "+scan"});
  EXPECT_EQ(all_of(shop, ""), Names{});
  lock.unlock();
}

TEST_F(RedisListings, AQueueOfAnUnfairLockIsInOrder) {
  Client mine = with("fair=no");
  Lock held = mine.make_lock("a");
  ASSERT_TRUE(held.try_lock());
  std::deque<Party> waiters;
  for (std::size_t i = 0; i < 3; ++i) {
    waiters.emplace_back(with("fair=no"), "a");
    static_cast<void>(waiters.back().start());
    ASSERT_TRUE(come_to_wait("a", i + 1));
  }
  const NameQueue queue = mine.queue("a");
  EXPECT_EQ(queue.waiters.size(), 3U);
  EXPECT_EQ(queue.waiters_in_all, 3U);
  held.unlock();
}

TEST_F(RedisListings, BesideRedissonWhatIsInItsHandsIsTold) {
  RedisTalk talk = server().talk();
  Client mine = with("interop=redisson");
  Lock ours = mine.make_lock("ours");
  Lock theirs = mine.make_lock("theirs");
  ASSERT_TRUE(ours.try_lock());
  ASSERT_TRUE(theirs.try_lock());
  theirs.unlock();
  const std::string whose = "12345678-1234-1234-1234-123456789012:7";
  talk.expect_ok({"HSET", "theirs", whose, "1"});
  talk.expect_ok({"PEXPIRE", "theirs", "60000"});
  talk.expect_ok({"HSET", "only theirs", whose, "1"});
  EXPECT_EQ(all_of(mine, ""), (Names{"ours", "theirs"}));
  const NameQueue queue = mine.queue("theirs");
  ASSERT_EQ(queue.holders.size(), 1U);
  EXPECT_THAT(queue.holders[0].label, HasSubstr(whose));
  EXPECT_FALSE(queue.holders[0].token);
  EXPECT_EQ(mine.queue("only theirs").holders.size(), 1U);
  // As forceUnlock() does.
  talk.expect_ok({"DEL", "ours"});
  EXPECT_EQ(all_of(mine, ""), Names{"theirs"});
  talk.expect_ok({"DEL", "theirs"});
  EXPECT_EQ(all_of(mine, ""), Names{});
  talk.expect_ok({"SET", "ours", "item:17"});
  EXPECT_EQ(all_of(mine, ""), Names{}) << "another program's, which is no lock";
  EXPECT_EQ(talk.command({"GET", "ours"}).text, "item:17");
}

}  // namespace
}  // namespace mortise::fault
