// SPDX-License-Identifier: MIT
// Goal: readers and writers wait in one queue, in order of arrival; a name that becomes free for
// readers is granted to all who lead. Method: scripts, and hears that are open for some clients
// only.
#include <mortise/redis.hpp>

#include "fault/redis_readers.hpp"

#include <set>

namespace mortise::fault {
namespace {

using ::testing::SizeIs;

class RedisReadersQueue : public RedisReadersTest {
 protected:
  void silence(int place_in_queue, char client, const std::string& lease) {
    set("#" + std::to_string(place_in_queue), attempt(client) + " 1000000 " + lease + " ");
  }
};

// Promise: L6
TEST_F(RedisReadersQueue, AReaderWaitsBehindAWriterThatWaits) {
  RedisTalk hears = listen("xab");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(acquire('x').starts_with("Q"));
  EXPECT_TRUE(read('b').starts_with("Q"));
  EXPECT_TRUE(read('c', {.flags = "f00s"}).starts_with("B"));
  EXPECT_TRUE(read('b').starts_with("Q")) << "asked again";
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(hear(hears), said('G', 'x'));
  EXPECT_TRUE(holds('x'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(release(), "F");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_GT(end_of('b'), 0);
  EXPECT_EQ(leave('b'), "F");
  expect_free("a");
}

TEST_F(RedisReadersQueue, AllWhoLeadAreLetInByOneRelease) {
  RedisTalk hears = listen("abcxyd");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  const std::uint64_t written = number();
  for (const char each : {'a', 'b', 'c'}) ASSERT_TRUE(read(each).starts_with("Q"));
  ASSERT_TRUE(acquire('y').starts_with("Q"));
  ASSERT_TRUE(read('d').starts_with("Q"));
  EXPECT_EQ(release(), "F");
  for (const char each : {'a', 'b', 'c'}) EXPECT_EQ(hear(hears), said('G', each));
  EXPECT_FALSE(hears.receive(100ms));
  EXPECT_THAT(get("s"), SizeIs(3 * place));
  EXPECT_LT(written, number_of('a'));
  EXPECT_LT(number_of('a'), number_of('b'));
  EXPECT_LT(number_of('b'), number_of('c'));
  EXPECT_EQ(waiting("a"), 2U);
  for (const char each : {'a', 'b', 'c'}) EXPECT_EQ(prolong(each), "2") << "y is kept out";
  for (const char each : {'b', 'a', 'c'}) EXPECT_EQ(leave(each), "F");
  EXPECT_EQ(hear(hears), said('G', 'y'));
  EXPECT_GT(number(), number_of('c'));
}

// They have to be confirmed as any other.
TEST_F(RedisReadersQueue, WhoIsLetInHasAProvisionalLease) {
  RedisTalk hears = listen("ab");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_TRUE(read('b', {.lease = 700}).starts_with("Q"));
  ASSERT_EQ(release(), "F");
  const auto now = static_cast<std::int64_t>(number());
  EXPECT_LE(end_of('a'), now + 2'000'000);
  EXPECT_LE(end_of('b'), now + 700'000);
  EXPECT_TRUE(lasts(2'000 - 1));
}

TEST_F(RedisReadersQueue, AWriterThatLeavesLetsInWhoStandsBehindIt) {
  RedisTalk hears = listen("abcxy");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(acquire('x').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  ASSERT_TRUE(read('c').starts_with("Q"));
  ASSERT_TRUE(acquire('y').starts_with("Q"));
  EXPECT_EQ(cancel('x').front(), 'B');
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(hear(hears), said('G', 'c'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(cancel('y').front(), 'B');
  EXPECT_EQ(prolong('a'), "1");
}

// Promise: L5
TEST_F(RedisReadersQueue, ADeadWriterKeepsNobodyOut) {
  RedisTalk hears = listen("abc");
  ASSERT_TRUE(reads('a'));
  ASSERT_TRUE(acquire('x').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  ASSERT_TRUE(read('c').starts_with("Q"));
  silence(0, 'x', "30000");
  EXPECT_TRUE(reads('c')) << "it asks";
  EXPECT_EQ(hear(hears), said('G', 'b'));
  ASSERT_TRUE(acquire('x').starts_with("Q"));
  EXPECT_EQ(prolong('a'), "2");
  silence(3, 'x', "30000");
  EXPECT_EQ(prolong('a'), "1") << "nobody waits who lives";
  EXPECT_TRUE(reads('d'));
}

TEST_F(RedisReadersQueue, AWriterWhoseLeaseEndedLetsInAllWhoLead) {
  RedisTalk hears = listen("ab");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  lapse();
  EXPECT_TRUE(reads('a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_THAT(get("s"), SizeIs(2 * place));
}

TEST_F(RedisReadersQueue, AWriterThatIsTakenAwayLetsInAllWhoLead) {
  RedisTalk hears = listen("ab");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  EXPECT_EQ(force().front(), 'O');
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
}

TEST_F(RedisReadersQueue, WhoHasNoInboxJustNowKeepsItsPlace) {
  RedisTalk hears = listen("b");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  ASSERT_EQ(release(), "F");
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_TRUE(reads('a'));
  EXPECT_EQ(waiting("a"), 0U);
  EXPECT_EQ(get("w"), "");
}

TEST_F(RedisReadersQueue, ASuccessorThatReadsIsAnswered) {
  RedisTalk hears = listen("ab");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  const std::string answer =
      call(redis::scripts::release, {hold(), "f010s", "1", attempt('a'), "30000", "reads"});
  EXPECT_TRUE(answer.starts_with("F G ")) << answer;
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_FALSE(hears.receive(100ms)) << "told twice";
  EXPECT_GT(end_of('a'), 0);
  EXPECT_GT(end_of('b'), 0);
  ASSERT_TRUE(acquire('y').starts_with("Q"));
  const std::string waits =
      call(redis::scripts::release, {hold_of('b'), "f010s", "1", attempt('c'), "30000", "reads"});
  EXPECT_TRUE(waits.starts_with("F Q ")) << waits;
}

// One script takes so long for 256, and all others wait.
TEST_F(RedisReadersQueue, MoreThanOneScriptMayLetInAreLetInOneScriptAfterTheOther) {
  constexpr std::size_t many = 600;
  RedisTalk hears = listen("d");
  ASSERT_TRUE(acquire('x').starts_with("G"));
  std::vector<RedisTalk::Command> readers;
  for (std::size_t i = 0; i < many; ++i)
    readers.push_back(reading(std::string(16, 'd') + std::to_string(i), {}));
  for (const std::string& answer : call_all(redis::scripts::acquire, readers)) {
    ASSERT_TRUE(answer.starts_with("Q")) << answer;
  }
  ASSERT_EQ(release(), "F");
  std::set<std::string> in;
  while (in.size() < many) {
    const std::optional<std::string> told = hear(hears);
    ASSERT_TRUE(told) << in.size();
    const std::string who = told->substr(2);
    if (told->starts_with("L")) {
      ASSERT_TRUE(ask_to_read(who, {}).starts_with("G")) << "it is to ask";
    }
    EXPECT_TRUE(in.insert(who).second);
  }
  EXPECT_EQ(waiting("a"), 0U);
}

// Where newcomers may overtake: a free name, and not the readers of one that somebody waits for.
TEST_F(RedisReadersQueue, AnUnfairReaderTakesWhatIsFreeAndLetsInWhoLeads) {
  RedisTalk hears = listen("abcx");
  const Read unfair{.flags = "u01s"};
  ASSERT_TRUE(acquire('x', {.flags = "u01"}).starts_with("G"));
  ASSERT_TRUE(read('a', unfair).starts_with("Q"));
  ASSERT_TRUE(acquire('y', {.flags = "u01"}).starts_with("Q"));
  ASSERT_EQ(release("u0"), "F");
  EXPECT_EQ(hear(hears), said('L', 'a'));
  EXPECT_TRUE(read('b', unfair).starts_with("G"));
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_TRUE(read('c', unfair).starts_with("Q")) << "y waits, and would for ever";
  EXPECT_TRUE(acquire('z', {.flags = "u00"}).starts_with("B"));
}

TEST_F(RedisReadersQueue, WhoNeedsRedissonsKeyTakesTurnsWithReaders) {
  RedisTalk hears = listen("abx");
  ASSERT_TRUE(acquire_keyed('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_EQ(release("r0"), "F");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(server().talk().command({"EXISTS", "a"}).integer, 0)
      << "it writes no key of Redisson's";
  EXPECT_TRUE(acquire('y', {.flags = "r00"}).starts_with("B"));
  EXPECT_TRUE(acquire_keyed('x').starts_with("Q"));
  EXPECT_TRUE(read('b').starts_with("Q"));
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(hear(hears), said('L', 'x')) << "its own script has to write that key";
  EXPECT_TRUE(read('b').starts_with("Q"));
  EXPECT_TRUE(acquire_keyed('x').starts_with("G"));
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
  ASSERT_TRUE(acquire('x').starts_with("G"));
  ASSERT_TRUE(read('a').starts_with("Q"));
  ASSERT_TRUE(read('b').starts_with("Q"));
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(release(), "F");
  EXPECT_EQ(hear(hears), said('G', 'a'));
  EXPECT_EQ(hear(hears), said('G', 'b'));
  EXPECT_EQ(prolong('a'), "1");
  const RedisAnswer refused =
      server().talk().command({"EVAL", std::string(redis::scripts::acquire.text), "1", key("a"),
                               attempt('c'), "f01s", "1", "30000", "reads"});
  EXPECT_THAT(refused.text, HasSubstr("OOM"));
  EXPECT_THAT(get("s"), SizeIs(2 * place));
  EXPECT_EQ(leave('a'), "F");
  EXPECT_EQ(leave('b'), "F");
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
