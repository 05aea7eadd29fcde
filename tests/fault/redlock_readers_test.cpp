// SPDX-License-Identifier: MIT
// Goal: one server gives its vote to many readers or to one writer, in the order in which they
// came; numbers tell writers from readers; each vote ends by itself and alone; and what comes late,
// or is said twice, changes nothing. Method: one server's scripts, called one by one.
#include "fault/redlock_script.hpp"

namespace mortise::fault {
namespace {

constexpr std::chrono::milliseconds soon_enough{100};

class RedlockReaders : public RedlockScriptTest {
 protected:
  /// @param beside of its own client
  std::string read(char client, std::uint64_t number = proposal, bool waits = false, int step = 1,
                   const std::string& beside = {}) {
    return share(client,
                 {.manner = waits ? "10" : "00", .step = step, .lease = lease_, .number = number},
                 beside);
  }
  std::string write(char client, std::uint64_t number = proposal, char manner = '2') {
    return vote(client, {.manner = std::string("1") + manner, .number = number});
  }
  std::string relock_reader(char client, std::uint64_t number, int step = 9) {
    return share(client, {.manner = "hold", .step = step, .number = number});
  }
  [[nodiscard]] bool writable(std::uint64_t number = proposal + 999) {
    const bool may = vote('z', {.number = number}).starts_with("vote");
    return may && undo('z') == "released";
  }
  /// The lease of one who reads is over.
  void end_lease_of(char client) {
    ASSERT_EQ(
        server()
            .talk()
            .expect_ok({"ZADD", key("a") + ":readers", "XX", "CH", "1000000", attempt(client)})
            .integer,
        1);
  }
  [[nodiscard]] bool is_noted(const std::string& field) {
    const RedisAnswer answer =
        server().talk().command({"HEXISTS", key("a") + ":reader_info", field});
    return answer.integer == 1;
  }
  /// Of all that it is told until it hears nothing any more, the letters of the clients.
  std::string told(RedisTalk& inboxes) {
    std::string letters;
    while (const auto push = inboxes.receive(soon_enough)) letters += push->items.back().text.at(0);
    return letters;
  }
  std::int64_t lease_ = 30'000;
};

// Promise: S1
TEST_F(RedlockReaders, HaveTheVoteTogetherAndAWriterAlone) {
  EXPECT_EQ(read('a'), granted(proposal));
  EXPECT_EQ(read('b', proposal + 1), granted(proposal + 1));
  EXPECT_TRUE(is_busy(vote('w')));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_TRUE(is_busy(vote('w'))) << "the other one reads";
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(vote('w'), granted(proposal + 2));
  EXPECT_TRUE(is_busy(read('a')));
  EXPECT_TRUE(is_busy(vote('x')));
  EXPECT_EQ(undo('w'), "released");
  EXPECT_EQ(read('a'), granted(proposal + 3));
}

// Promise: S2
TEST_F(RedlockReaders, NumbersTellThemFromWriters) {
  ASSERT_EQ(vote('w', {.number = proposal + 50}), granted(proposal + 50));
  ASSERT_EQ(undo('w'), "released");
  EXPECT_EQ(read('a', proposal), granted(proposal + 51)) << "larger than each writer's before it";
  EXPECT_EQ(read('b', proposal + 90), granted(proposal + 90));
  EXPECT_EQ(read('c', proposal + 60), granted(proposal + 60)) << "what it proposed: no round more";
  EXPECT_EQ(settle('a', proposal + 70), granted(proposal + 70));
  for (const char each : {'b', 'a', 'c'}) EXPECT_EQ(undo(each), "released");
  EXPECT_EQ(vote('w'), granted(proposal + 91)) << "larger than each reader's before it";
}

TEST_F(RedlockReaders, ANumberThatWasDecidedOnCountsForTheNextWriter) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(settle('a', proposal + 500), granted(proposal + 500));
  EXPECT_EQ(settle('x', proposal + 900), "not_held");
  EXPECT_EQ(renew('a', proposal + 500), "1");
  EXPECT_EQ(renew('a', proposal), "-1") << "it has another number now";
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(vote('w'), granted(proposal + 501));
}

TEST_F(RedlockReaders, EachLeaseEndsAlone) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(end_lease_of('a'));
  EXPECT_EQ(renew('a', proposal), "-1") << "a renewal brings nothing back";
  EXPECT_TRUE(is_busy(vote('w')));
  EXPECT_EQ(undo('a'), "expired");
  EXPECT_EQ(undo('b'), "released");
  EXPECT_TRUE(writable());
  lease_ = 300;
  ASSERT_EQ(read('c', proposal + 2'000), granted(proposal + 2'000));
  lease_ = 30'000;
  EXPECT_TRUE(eventually([&] { return writable(proposal + 3'000); })) << "nobody has let go";
}

TEST_F(RedlockReaders, ARenewalMovesOneEndAndTellsOfWritersThatWait) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 1), granted(proposal + 1));
  EXPECT_EQ(renew('a', proposal), "1");
  EXPECT_EQ(renew('b', proposal), "-1") << "it has another number";
  EXPECT_TRUE(is_busy(write('w')));
  EXPECT_EQ(renew('a', proposal), "2");
  ASSERT_NO_FATAL_FAILURE(end_lease_of('b'));
  EXPECT_EQ(renew('b', proposal + 1), "-1");
  EXPECT_TRUE(is_busy(vote('x')));
  EXPECT_EQ(undo('a'), "released");
  ASSERT_EQ(vote('w', {.number = proposal + 9}), granted(proposal + 9));
  EXPECT_EQ(renew('a', proposal), "0") << "somebody else has it alone";
}

TEST_F(RedlockReaders, AReleaseIsKnownToHaveWorked) {
  for (const char each : {'a', 'b', 'c'}) ASSERT_EQ(read(each), granted(proposal));
  EXPECT_EQ(release('a', proposal + 7), "not_held") << "another hold is meant";
  EXPECT_EQ(release('a', proposal), "released");
  EXPECT_EQ(undo('a'), "released_before");
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(undo('c'), "released");
  EXPECT_EQ(undo('c'), "released_before");
  EXPECT_EQ(undo('b'), "released_before");
  ASSERT_EQ(vote('w'), granted(proposal + 1));
  EXPECT_EQ(undo('c'), "not_held");
}

TEST_F(RedlockReaders, LeaveThePlainWayOpen) {
  for (const char each : {'a', 'b'}) ASSERT_EQ(read(each, proposal + 5), granted(proposal + 5));
  for (const char each : {'b', 'a'}) EXPECT_EQ(undo(each), "released");
  EXPECT_FALSE(is_noted(attempt('a') + ":label"));
  ASSERT_EQ(vote('w', {.number = proposal + 9}), granted(proposal + 9));
  EXPECT_FALSE(has("has_others"));
  EXPECT_EQ(undo('w'), "released");
  ASSERT_EQ(read('a', proposal + 10), granted(proposal + 10));
  ASSERT_NO_FATAL_FAILURE(end_lease_of('a'));
  EXPECT_EQ(vote('w', {.number = proposal + 11}), granted(proposal + 11));
  EXPECT_FALSE(has("has_others"));
  EXPECT_EQ(undo('w'), "released");
  ASSERT_EQ(read('b', proposal + 12), granted(proposal + 12));
  EXPECT_FALSE(is_noted(attempt('a'))) << "its lease is over";
}

// A name that is read all the time may not fill the server.
TEST_F(RedlockReaders, ThatLetGoAreForgottenButForEight) {
  ASSERT_EQ(read('z'), granted(proposal));
  for (char each = 'a'; each < 'n'; ++each) {
    ASSERT_TRUE(read(each).starts_with("vote"));
    ASSERT_EQ(undo(each), "released");
  }
  EXPECT_EQ(server().talk().expect_ok({"ZCARD", key("a") + ":readers"}).integer, 9);
  EXPECT_FALSE(is_noted(attempt('a')));
  EXPECT_EQ(undo('a'), "not_held");
  EXPECT_EQ(undo('m'), "released_before");
}

// Promise: L5
TEST_F(RedlockReaders, WaitBehindAWriterThatCameBefore) {
  RedisTalk inboxes_of = listen("bcwx");
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal, true), granted(proposal)) << "it joins";
  EXPECT_EQ(undo('b'), "released");
  ASSERT_TRUE(is_busy(write('w')));
  EXPECT_TRUE(is_busy(read('b', proposal, true)));
  EXPECT_EQ(read('a', proposal + 1, true, 2), granted(proposal + 1)) << "it has the vote";
  ASSERT_TRUE(is_busy(write('x')));
  EXPECT_TRUE(is_busy(read('c', proposal, true)));
  EXPECT_EQ(undo('a', true, 2), "released");
  EXPECT_EQ(told(inboxes_of), "w");
  EXPECT_TRUE(is_busy(read('b', proposal, true))) << "it is free, and the writer has its place";
  EXPECT_EQ(write('w', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(undo('w'), "released");
  EXPECT_EQ(told(inboxes_of), "b");
  EXPECT_EQ(read('b', proposal + 6, true), granted(proposal + 6));
  EXPECT_TRUE(is_busy(read('c', proposal, true))) << "the other writer came before it";
  EXPECT_EQ(undo('x'), "not_held") << "it gives up";
  EXPECT_EQ(told(inboxes_of), "c");
  EXPECT_EQ(read('c', proposal + 7, true), granted(proposal + 7));
}

// Promise: L6
TEST_F(RedlockReaders, ThatLeadAreAllTold) {
  RedisTalk inboxes_of = listen("bcdwe");
  ASSERT_EQ(vote('a'), granted(proposal));
  for (const char each : {'b', 'c'}) ASSERT_TRUE(is_busy(read(each, proposal, true)));
  ASSERT_TRUE(is_busy(write('w')));
  ASSERT_TRUE(is_busy(read('e', proposal, true)));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(told(inboxes_of), "bc");
  EXPECT_TRUE(is_busy(write('w', proposal + 9))) << "they came before it";
  EXPECT_EQ(read('b', proposal + 5, true), granted(proposal + 5));
  EXPECT_EQ(read('c', proposal + 5, true), granted(proposal + 5));
  EXPECT_EQ(undo('b'), "released");
  EXPECT_EQ(told(inboxes_of), "");
  EXPECT_EQ(undo('c'), "released");
  EXPECT_EQ(told(inboxes_of), "w");
}

TEST_F(RedlockReaders, AWriterStepsBackForThoseInFrontButNotForEver) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_TRUE(is_busy(read('b', proposal, true)));
  EXPECT_EQ(undo('a', false), "released");
  // Nobody listens for it: it is forgotten, and notes itself when it asks.
  ASSERT_EQ(vote('a', {.number = proposal + 1}), granted(proposal + 1));
  ASSERT_TRUE(is_busy(read('b', proposal, true)));
  lapse();
  const std::string answer = write('w', proposal + 9);
  EXPECT_TRUE(is_busy(answer)) << "who is in front has not asked yet";
  EXPECT_EQ(write('w', proposal + 9, '0'), granted(proposal + 9)) << "it has waited long enough";
}

TEST_F(RedlockReaders, AnOwnerGoesOnAsAReader) {
  RedisTalk inboxes_of = listen("x");
  ASSERT_EQ(vote('w'), granted(proposal));
  ASSERT_TRUE(is_busy(write('x')));
  EXPECT_TRUE(is_busy(read('r', proposal, false, 1, attempt('y')))) << "whose owner is another";
  EXPECT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  EXPECT_TRUE(is_busy(read('s')));
  EXPECT_EQ(renew('w', proposal), "1");
  EXPECT_EQ(renew('r', proposal + 1), "2");
  EXPECT_EQ(settle('w', proposal), "higher") << "its number stands, and more was given since";
  EXPECT_EQ(undo('w'), "released");
  EXPECT_EQ(undo('w'), "released_before");
  EXPECT_EQ(told(inboxes_of), "");
  EXPECT_TRUE(is_busy(write('x')));
  EXPECT_EQ(renew('r', proposal + 1), "2");
  EXPECT_EQ(undo('r'), "released");
  EXPECT_EQ(told(inboxes_of), "x");
  ASSERT_EQ(write('x', proposal + 20), granted(proposal + 20));
  ASSERT_EQ(read('r', proposal + 21, false, 1, attempt('x')), granted(proposal + 21));
  EXPECT_EQ(undo('r'), "released");
  EXPECT_TRUE(is_busy(read('s'))) << "it is the owner still";
  EXPECT_EQ(relock('x', proposal + 20, 9), granted(proposal + 20));
  EXPECT_TRUE(is_busy(read('s')));
  EXPECT_EQ(undo('x', true, 9), "released");
  EXPECT_EQ(read('s', proposal + 30), granted(proposal + 30));
}

TEST_F(RedlockReaders, AnOwnersEndLeavesTheReaderBesideIt) {
  ASSERT_EQ(vote('w', {.lease = 300}), granted(proposal));
  ASSERT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  EXPECT_TRUE(eventually([&] { return read('s', proposal + 5) == granted(proposal + 5); }));
  EXPECT_EQ(renew('w', proposal), "-1") << "a renewal brings nothing back";
  EXPECT_EQ(undo('w'), "expired");
  EXPECT_TRUE(is_busy(vote('x')));
}

// The owner's vote has lapsed here, since this server missed its renewals. The votes of those who
// read beside it stand, and each of them may be one of a majority.
// Promise: S1
TEST_F(RedlockReaders, OutlastAnOwnerThatIsToHaveItsVoteOnceMore) {
  ASSERT_EQ(vote('w'), granted(proposal));
  ASSERT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  lapse();
  EXPECT_EQ(renew('w', proposal), "-1");
  EXPECT_TRUE(is_busy(relock('w', proposal, 9)));
  EXPECT_EQ(renew('r', proposal + 1), "1");
  EXPECT_EQ(undo('w', true, 10), "expired");
  EXPECT_TRUE(is_busy(vote('x'))) << "it is read";
}

// Promise: S5
TEST_F(RedlockReaders, AreLeftAloneByWhatWasAskedInAnEarlierStep) {
  ASSERT_EQ(read('a', proposal, false, 3), granted(proposal));
  EXPECT_EQ(undo('a', true, 2), "not_held") << "it would free the vote of a later round";
  EXPECT_EQ(settle('a', proposal + 9, 2), "not_held");
  EXPECT_EQ(read('a', proposal, false, 2), "too_late");
  EXPECT_EQ(renew('a', proposal), "1");
  EXPECT_EQ(undo('a', true, 3), "released");
  EXPECT_TRUE(writable());
}

TEST_F(RedlockReaders, AVoteIsGivenOnceMoreBesideReadersAndNotBesideAWriter) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 80), granted(proposal + 80));
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(relock_reader('a', proposal), granted(proposal)) << "of the number that it has";
  EXPECT_EQ(renew('a', proposal), "1");
  EXPECT_EQ(undo('a', true, 9), "released");
  EXPECT_TRUE(is_busy(relock('w', proposal + 3, 9))) << "it is read";
  EXPECT_EQ(undo('b'), "released");
  ASSERT_EQ(vote('w'), granted(proposal + 81));
  EXPECT_TRUE(is_busy(relock_reader('a', proposal)));
}

TEST_F(RedlockReaders, IsToldWithTheNumbersOfThoseWhoRead) {
  ASSERT_EQ(read('b', proposal + 3), granted(proposal + 3));
  ASSERT_EQ(read('a', proposal + 1), granted(proposal + 1));
  const std::string answer = vote('w');
  EXPECT_TRUE(answer.ends_with(" 0 label a r " + std::to_string(proposal + 1) + " " +
                               std::to_string(proposal + 3)))
      << answer;
  const std::string whose = inspect("who");
  EXPECT_TRUE(whose.starts_with("held ")) << whose;
  for (const char each : {'a', 'b'}) {
    EXPECT_THAT(whose, testing::HasSubstr("<" + attempt(each) + "><" +
                                          std::to_string(proposal + (each == 'a' ? 1 : 3)) +
                                          "><1><label " + each + ">"));
  }
}

// A Lua function takes fewer than 8,000 arguments.
TEST_F(RedlockReaders, OfAnyNumberAreNamed) {
  ASSERT_EQ(read('a', proposal + 9), granted(proposal + 9));
  const std::string ends = std::to_string(clock() + 60'000'000);
  server().talk().expect_ok({"EVAL",
                             "for i = 1, 9000 do"
                             " redis.call('ZADD', KEYS[1], ARGV[1], 'reader' .. i)"
                             " redis.call('HSET', KEYS[2], 'reader' .. i, ARGV[2] + 9000 - i) end",
                             "2", key("a") + ":readers", key("a") + ":reader_info", ends,
                             std::to_string(proposal)});
  const std::string answer = vote('w');
  EXPECT_TRUE(
      answer.ends_with(" r " + std::to_string(proposal) + " " + std::to_string(proposal + 1) + " " +
                       std::to_string(proposal + 2) + " " + std::to_string(proposal + 3) + " " +
                       std::to_string(proposal + 4) + " " + std::to_string(proposal + 5) + " " +
                       std::to_string(proposal + 6) + " " + std::to_string(proposal + 7)))
      << answer;
  EXPECT_THAT(inspect("who"), testing::HasSubstr("<reader9000><" + std::to_string(proposal)));
}

// A memory limit refuses a request as a whole, and never one that ends something.
TEST_F(RedlockReaders, EndWhereThereIsNoMemory) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b'), granted(proposal));
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  const RedisAnswer answer = server().talk().command(
      {"EVAL", std::string(redlock::scripts::share.text), "1", key("a"), attempt('c'), "1",
       std::to_string(any_time), "30000", std::to_string(proposal), "", "00", ""});
  EXPECT_THAT(answer.text, testing::HasSubstr("OOM"));
  EXPECT_EQ(renew('a', proposal), "1");
  EXPECT_EQ(undo('a'), "released");
  EXPECT_EQ(release(attempt('b'), "", true, 9, "60000"), "released") << "by an administrator";
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(writable());
}

TEST_F(RedlockReaders, HaveKeysThatOutliveTheLongestLease) {
  lease_ = 10 * hour;
  ASSERT_EQ(read('a'), granted(proposal));
  lease_ = 30'000;
  ASSERT_EQ(read('b'), granted(proposal));
  EXPECT_EQ(renew('b', proposal), "1");
  for (const char* const suffix : {"", ":readers", ":reader_info"}) {
    EXPECT_GT(life(key("a") + suffix), 10 * hour) << suffix;
    EXPECT_LE(life(key("a") + suffix), 12 * hour) << suffix;
  }
}

}  // namespace
}  // namespace mortise::fault
