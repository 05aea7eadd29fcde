// SPDX-License-Identifier: MIT
// Goal: readers and writers wait in one queue, in order of arrival; a name that becomes free for
// readers is granted to all who lead. Method: scripts, and hears that are open for some clients
// only.
#include <mortise/redis.hpp>

#include "fault/redis_readers.hpp"

#include <set>

namespace mortise::fault {
namespace {

class RedisReadersQueue : public RedisReadersTest {
 protected:
  void silence(char client) { set_heard(attempt(client), "1000000"); }
};

// Promise: L6
TEST_F(RedisReadersQueue, AReaderWaitsBehindAWriterThatWaits) {
  RedisTalk hears = listen("xab");
  ASSERT_TRUE(reads('a'));
  ASSERT_EQ(acquire('x'), "queued");
  EXPECT_EQ(read('b'), "queued");
  EXPECT_EQ(read('c', {.waits = false}), "busy");
  EXPECT_EQ(read('b'), "queued") << "asked again";
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(hear(hears), said('G', 'x'));
  EXPECT_TRUE(holds('x'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(release(), "released");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_GT(end_of('b'), 0);
  EXPECT_EQ(leave('b'), "released");
  expect_free("a");
}

TEST_F(RedisReadersQueue, AllWhoLeadAreLetInByOneRelease) {
  RedisTalk hears = listen("abcxyd");
  ASSERT_EQ(acquire('x'), "granted");
  const std::uint64_t written = number();
  for (const char each : {'a', 'b', 'c'}) ASSERT_EQ(read(each), "queued");
  ASSERT_EQ(acquire('y'), "queued");
  ASSERT_EQ(read('d'), "queued");
  EXPECT_EQ(release(), "released");
  for (const char each : {'a', 'b', 'c'}) EXPECT_EQ(hear(hears), said('G', each));
  EXPECT_FALSE(hears.receive(100ms));
  EXPECT_EQ(readers(), 3);
  EXPECT_LT(written, number_of('a'));
  EXPECT_LT(number_of('a'), number_of('b'));
  EXPECT_LT(number_of('b'), number_of('c'));
  EXPECT_EQ(waiting("a"), 2U);
  for (const char each : {'a', 'b', 'c'}) EXPECT_EQ(prolong(each), 2) << "y is kept out";
  for (const char each : {'b', 'a', 'c'}) EXPECT_EQ(leave(each), "released");
  EXPECT_EQ(hear(hears), said('G', 'y'));
  EXPECT_GT(number(), number_of('c'));
}

// They have to be confirmed as any other.
TEST_F(RedisReadersQueue, WhoIsLetInHasAProvisionalLease) {
  RedisTalk hears = listen("ab");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(read('b', {.lease = 700}), "queued");
  ASSERT_EQ(release(), "released");
  const auto now = static_cast<std::int64_t>(number());
  EXPECT_LE(end_of('a'), now + 2'000'000);
  EXPECT_LE(end_of('b'), now + 700'000);
}

TEST_F(RedisReadersQueue, AWriterThatLeavesLetsInWhoStandsBehindIt) {
  RedisTalk hears = listen("abcxy");
  ASSERT_TRUE(reads('a'));
  ASSERT_EQ(acquire('x'), "queued");
  ASSERT_EQ(read('b'), "queued");
  ASSERT_EQ(read('c'), "queued");
  ASSERT_EQ(acquire('y'), "queued");
  EXPECT_EQ(cancel('x'), "busy");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(hear(hears), said('G', 'c'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(cancel('y'), "busy");
  EXPECT_EQ(prolong('a'), 1);
}

// Promise: L5
TEST_F(RedisReadersQueue, ADeadWriterKeepsNobodyOut) {
  RedisTalk hears = listen("abc");
  ASSERT_TRUE(reads('a'));
  ASSERT_EQ(acquire('x'), "queued");
  ASSERT_EQ(read('b'), "queued");
  ASSERT_EQ(read('c'), "queued");
  silence('x');
  EXPECT_TRUE(reads('c')) << "it asks";
  EXPECT_EQ(hear(hears), said('G', 'b'));
  ASSERT_EQ(acquire('x'), "queued");
  EXPECT_EQ(prolong('a'), 2);
  silence('x');
  EXPECT_EQ(prolong('a'), 1) << "nobody waits who lives";
  EXPECT_TRUE(reads('d'));
}

TEST_F(RedisReadersQueue, AWriterWhoseLeaseEndedLetsInAllWhoLead) {
  RedisTalk hears = listen("ab");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(read('b'), "queued");
  lapse();
  EXPECT_TRUE(reads('a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(readers(), 2);
}

TEST_F(RedisReadersQueue, AWriterThatIsTakenAwayLetsInAllWhoLead) {
  RedisTalk hears = listen("ab");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(read('b'), "queued");
  EXPECT_EQ(force_holder(), "released");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
}

TEST_F(RedisReadersQueue, WhoHasNoInboxJustNowKeepsItsPlace) {
  RedisTalk hears = listen("b");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(read('b'), "queued");
  ASSERT_EQ(release(), "released");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(reads('a'));
  EXPECT_EQ(waiting("a"), 0U);
}

TEST_F(RedisReadersQueue, ASuccessorThatReadsIsAnswered) {
  RedisTalk hears = listen("ab");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('b'), "queued");
  const auto release_to = [&](const Held& hold, char successor) {
    RedisTalk::Command words = releasing(hold);
    const RedisTalk::Command next = reading(attempt(successor), {});
    words.insert(words.end(), next.begin(), next.end());
    const RedisAnswer answer = call(redis::scripts::release, words);
    return word_of(answer) + " " + word_of(answer.items.at(2));
  };
  EXPECT_EQ(release_to(hold(), 'a'), "released granted");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_FALSE(hears.receive(100ms)) << "told twice";
  EXPECT_GT(end_of('a'), 0);
  EXPECT_GT(end_of('b'), 0);
  ASSERT_EQ(acquire('y'), "queued");
  EXPECT_EQ(release_to(hold_of('b'), 'c'), "released queued");
}

// One script takes so long for 256, and all others wait.
TEST_F(RedisReadersQueue, MoreThanOneScriptMayLetInAreLetInOneScriptAfterTheOther) {
  constexpr std::size_t many = 600;
  RedisTalk hears = listen("d");
  ASSERT_EQ(acquire('x'), "granted");
  std::vector<RedisTalk::Command> come;
  for (std::size_t i = 0; i < many; ++i)
    come.push_back(reading(std::string(16, 'd') + std::to_string(i), {}));
  for (const RedisAnswer& answer : call_all(redis::scripts::acquire, come)) {
    ASSERT_EQ(word_of(answer), "queued");
  }
  ASSERT_EQ(release(), "released");
  std::set<std::string> in;
  while (in.size() < many) {
    const std::optional<std::string> told = hear(hears);
    ASSERT_TRUE(told) << in.size();
    const std::string who = told->substr(2);
    if (told->starts_with("L")) {
      ASSERT_EQ(ask_to_read(who, {}), "granted") << "it is to ask";
    }
    EXPECT_TRUE(in.insert(who).second);
  }
  EXPECT_EQ(waiting("a"), 0U);
}

// Where newcomers may overtake: a free name, and not the readers of one that somebody waits for.
TEST_F(RedisReadersQueue, AnUnfairReaderTakesWhatIsFreeAndLetsInWhoLeads) {
  RedisTalk hears = listen("abcx");
  const Read unfair{.order = 'u'};
  ASSERT_EQ(acquire('x', {.order = 'u'}), "granted");
  ASSERT_EQ(read('a', unfair), "queued");
  ASSERT_EQ(acquire('y', {.order = 'u'}), "queued");
  ASSERT_EQ(release('u'), "released");
  EXPECT_EQ(hear(hears), said('L', 'a'));
  EXPECT_EQ(read('b', unfair), "granted");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(read('c', unfair), "queued") << "y waits, and would for ever";
  EXPECT_EQ(acquire('z', {.order = 'u', .waits = false}), "busy");
}

TEST_F(RedisReadersQueue, WhoNeedsRedissonsKeyTakesTurnsWithReaders) {
  RedisTalk hears = listen("abx");
  ASSERT_EQ(acquire_keyed('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(release('r'), "released");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0)
      << "it writes no key of Redisson's";
  EXPECT_EQ(acquire('y', {.waits = false, .keyed = true}), "busy");
  EXPECT_EQ(acquire_keyed('x'), "queued");
  EXPECT_EQ(read('b'), "queued");
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(hear(hears), said('L', 'x')) << "its own script has to write that key";
  EXPECT_EQ(read('b'), "queued");
  EXPECT_EQ(acquire_keyed('x'), "granted");
}

TEST_F(RedisReadersQueue, IsNotHadWithInterop) {
  Client keyed(server().url() + "?interop=redisson");
  EXPECT_EQ(keyed.capabilities().shared_mode, Support::no);
  const Failure refused = failure_of([&] { static_cast<void>(keyed.make_read_write_lock("a")); });
  EXPECT_EQ(refused.code, Errc::unsupported);
  Client fair = client();
  Client unfair(server().url() + "?fair=no");
  Lock writer = keyed.make_lock("a");
  for (Client* const each : {&fair, &unfair}) {
    EXPECT_EQ(each->capabilities().shared_mode, Support::yes);
    Lock reader = each->make_lock("a", {.mode = Mode::shared});
    reader.lock();
    EXPECT_FALSE(writer.try_lock());
    EXPECT_EQ(reader.release(), Released::released);
    EXPECT_TRUE(writer.try_lock());
    EXPECT_FALSE(reader.try_lock());
    writer.unlock();
  }
}

TEST_F(RedisReadersQueue, WithoutMemoryReadersAreRenewedAndLetInButNoneComes) {
  RedisTalk hears = listen("ab");
  ASSERT_EQ(acquire('x'), "granted");
  ASSERT_EQ(read('a'), "queued");
  ASSERT_EQ(read('b'), "queued");
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(release(), "released");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(prolong('a'), 1);
  const RedisAnswer refused = server().talk().command(
      command("EVAL", std::string(redis::scripts::acquire.text), reading(attempt('c'), {})));
  EXPECT_THAT(refused.text, HasSubstr("OOM"));
  EXPECT_EQ(readers(), 2);
  EXPECT_EQ(leave('a'), "released");
  EXPECT_EQ(leave('b'), "released");
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
