// SPDX-License-Identifier: MIT
// Goal: who wants to hear that a lock may be free is known to each server, in the order of arrival,
// as long as it asks; one of them is told at a release, who can be told, and keeps its place until
// it has a vote; and the polite step back. Method: one server's scripts, and inboxes that are open
// for some clients only.
#include "fault/redlock_script.hpp"

namespace mortise::fault {
namespace {

constexpr std::chrono::milliseconds soon{100};

class RedlockInterest : public RedlockScriptTest {
 protected:
  /// They ask while somebody has the lock, and want to hear more.
  void interest(std::string_view clients) {
    for (const char client : clients) {
      ASSERT_TRUE(is_busy(vote(client, {.manner = "10"}))) << client;
    }
  }
  /// @return those who are noted, by their letters.
  [[nodiscard]] std::string interested() {
    std::string letters;
    const RedisAnswer all = server().talk().expect_ok({"ZRANGE", key("a") + ":queue", "0", "-1"});
    for (const RedisAnswer& each : all.items) letters += each.text.at(1);
    return letters;
  }
  /// It was heard of then. @param time of the server's clock, in us
  void heard_at(char client, std::uint64_t time) {
    server().talk().expect_ok(
        {"ZADD", key("a") + ":contacts", std::to_string(time), "w" + attempt(client)});
  }
  /// Nothing was heard of it for a long time.
  void silence(char client) { heard_at(client, 1'000'000); }
  [[nodiscard]] static bool hears(RedisTalk& inbox, char client) {
    const auto push = inbox.receive(patience);
    return push && push->items.back().text == attempt(client);
  }
};

TEST_F(RedlockInterest, IsToldOnceAndInTheOrderOfArrival) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcdb"));
  EXPECT_EQ(interested(), "bcd");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(hears(inboxes_of, 'b'));
  EXPECT_FALSE(inboxes_of.receive(soon)) << "one of them";
  EXPECT_EQ(interested(), "bcd");
  EXPECT_EQ(undo('a'), "released_before");
  EXPECT_TRUE(hears(inboxes_of, 'c')) << "the first may have died since it was told";
  EXPECT_EQ(vote('b', {.manner = "10", .number = proposal + 1}), granted(proposal + 1));
  EXPECT_EQ(interested(), "cd");
  EXPECT_TRUE(is_busy(vote('c', {.manner = "10"})));
  EXPECT_EQ(interested(), "dc") << "it came too late";
  EXPECT_EQ(undo('b'), "released");
  EXPECT_TRUE(hears(inboxes_of, 'd'));
}

TEST_F(RedlockInterest, OfTheFutureIsOver) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  heard_at('b', ahead);
  EXPECT_EQ(undo('c'), "not_held");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(interested(), "") << "the clock was set back, and nobody knows when it was heard of";
}

TEST_F(RedlockInterest, OfWhoCanNotBeToldOrIsSilentIsPassedOver) {
  RedisTalk inboxes_of = listen("cd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  silence('c');
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(hears(inboxes_of, 'd'));
  EXPECT_EQ(interested(), "d");
  EXPECT_EQ(vote('d', {.number = proposal + 1}), granted(proposal + 1));
  EXPECT_FALSE(has("has_others")) << "the plain way is closed";
}

TEST_F(RedlockInterest, IsRefreshedByAsking) {
  RedisTalk inboxes_of = listen("bc");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("b"));
  silence('b');
  ASSERT_NO_FATAL_FAILURE(interest("b"));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(hears(inboxes_of, 'b'));
  EXPECT_EQ(interested(), "b");
}

TEST_F(RedlockInterest, IsNotedOfWhoWantsItAndBounded) {
  ASSERT_EQ(vote('a'), granted(proposal));
  EXPECT_TRUE(is_busy(vote('b')));
  EXPECT_EQ(interested(), "");
  for (int i = 0; i < 70; ++i) {
    const std::string who = std::string(16, 'c') + std::to_string(i);
    static_cast<void>(run(redlock::scripts::acquire, {who, "1", std::to_string(any_time), "30000",
                                                      std::to_string(proposal), "", "10"}));
  }
  EXPECT_EQ(interested().size(), 64U);
}

TEST_F(RedlockInterest, OfTheDeadMakesRoom) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  silence('b');
  silence('c');
  ASSERT_NO_FATAL_FAILURE(interest("d"));
  EXPECT_EQ(interested(), "d");
}

TEST_F(RedlockInterest, EndsWithAVoteAndWithLeaving) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  EXPECT_EQ(undo('c'), "not_held") << "it leaves, and has no vote";
  EXPECT_EQ(interested(), "bd");
  EXPECT_FALSE(inboxes_of.receive(soon)) << "it is still held";
  lapse();
  ASSERT_EQ(vote('d'), granted(proposal + 1));
  EXPECT_EQ(interested(), "b");
}

// What it was asked in that round it may not have done: it goes on waiting.
TEST_F(RedlockInterest, StaysWhereARoundIsTakenBack) {
  RedisTalk inboxes_of = listen("bc");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bc"));
  EXPECT_EQ(undo('b', false), "not_held");
  EXPECT_EQ(interested(), "bc");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(hears(inboxes_of, 'b'));
  EXPECT_EQ(undo('b', false), "not_held") << "nothing was freed that another one has to hear of";
  EXPECT_FALSE(inboxes_of.receive(soon));
  EXPECT_EQ(interested(), "bc");
  ASSERT_EQ(vote('b', {.manner = "10", .number = proposal + 1}), granted(proposal + 1));
  EXPECT_EQ(undo('b', false), "released");
  EXPECT_TRUE(hears(inboxes_of, 'c'));
}

TEST_F(RedlockInterest, OfOthersIsRespectedByThePolite) {
  RedisTalk inboxes_of = listen("bcd");
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(interest("bcd"));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(is_busy(vote('c', {.manner = "11", .number = proposal + 1})));
  EXPECT_EQ(vote('c', {.manner = "10"}), granted(proposal + 1)) << "whom nothing is asked of";
  lapse();
  silence('d');
  EXPECT_TRUE(is_busy(vote('e', {.manner = "11"}))) << "who was told has its place";
  silence('b');
  EXPECT_EQ(vote('e', {.manner = "11"}), granted(proposal + 2)) << "only the dead are before it";
}

// An administrator may delete any key by hand. The vote goes on, or is as that of a server that
// lost it; and waiters are noted again as they ask.
TEST_F(RedlockInterest, EndsNothingIfOneKeyIsDeleted) {
  const std::string suffixes[] = {"", ":queue", ":contacts", ":readers", ":reader_info", ":forced"};
  for (const std::string& deleted : suffixes) {
    server().talk().expect_ok({"FLUSHALL"});
    ASSERT_TRUE(share('r', {}).starts_with("vote")) << deleted;
    ASSERT_TRUE(is_busy(vote('w', {.manner = "10"}))) << deleted;
    ASSERT_TRUE(is_busy(share('b', {.manner = "10"}))) << deleted;
    ASSERT_EQ(release(attempt('x'), "", true, 9, "60000"), "not_held") << deleted;
    server().talk().expect_ok({"DEL", key("a") + deleted});
    static_cast<void>(inspect("who"));
    static_cast<void>(renew('r', proposal));
    EXPECT_TRUE(share('r', {.manner = "hold", .step = 9}).starts_with("vote")) << deleted;
    EXPECT_EQ(renew('r', proposal).substr(0, 1) == "-", false) << deleted;
    EXPECT_TRUE(is_busy(vote('w', {.manner = "10", .step = 2}))) << deleted;
    EXPECT_TRUE(undo('r', true, 10).starts_with("released")) << deleted;
    const std::string number = vote('w', {.manner = "10", .step = 3, .number = proposal + 9});
    EXPECT_TRUE(number.starts_with("vote")) << deleted << ": " << number;
    EXPECT_TRUE(is_busy(share('b', {.manner = "10", .step = 2}))) << deleted;
    EXPECT_EQ(undo('w', true, 9), "released") << deleted;
    EXPECT_TRUE(share('b', {.manner = "10", .step = 3}).starts_with("vote")) << deleted;
  }
}

}  // namespace
}  // namespace mortise::fault
