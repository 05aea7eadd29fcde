// SPDX-License-Identifier: MIT
// Goal: one server gives its vote to many readers or to one writer, in the order in which they
// came; numbers tell writers from readers; each vote ends by itself and alone; and what comes late,
// or is said twice, changes nothing. Method: one server's scripts, called one by one.
#include "fault/redlock_script.hpp"

namespace mortise::fault {
namespace {

constexpr const char* vote_of_a_late_reader = "R";
constexpr std::chrono::milliseconds soon_enough{100};

class RedlockReaders : public RedlockScriptTest {
 protected:
  /// @param copies 's', or 'S': older copies may be about    @param beside of its own client
  std::string read(char client, std::uint64_t number = proposal, bool waits = false, int step = 1,
                   const std::string& beside = {}, char copies = 's') {
    return call(redlock::scripts::acquire,
                {attempt(client), std::string("q") + copies + (waits ? "10" : "00"),
                 std::to_string(step), std::to_string(lease_), "label " + std::string(1, client),
                 std::to_string(number), beside});
  }
  std::string write(char client, std::uint64_t number = proposal, char manner = '2') {
    return vote(client, {.flags = std::string("q01") + manner, .number = number});
  }
  std::string relock_reader(char client, std::uint64_t number, int step = 9) {
    return relock(client, number, "qs", step);
  }
  static bool refused(const std::string& answer) {
    return answer.starts_with("B") || answer.starts_with("V");
  }
  [[nodiscard]] bool writable(std::uint64_t number = proposal + 999) {
    const bool may = vote('z', {.number = number}).starts_with("G");
    return may && undo('z') == "F";
  }
  /// The lease of one who reads is over; g says nothing of it.
  void end_lease_of(char client) {
    std::string all = get("r");
    const std::size_t since = all.find(' ', all.find(attempt(client)) + attempt(client).size() + 1);
    ASSERT_NE(since, std::string::npos);
    set("r", all.replace(since + 1, all.find(' ', since + 1) - since - 1, "1000000"));
  }
  /// Of all that it is told until it hears nothing any more, the letters of the clients.
  std::string told(RedisTalk& inboxes) {
    std::string letters;
    while (const auto push = inboxes.receive(soon_enough)) letters += push->items.back().text.at(2);
    return letters;
  }
  std::int64_t lease_ = 30'000;
};

// Promise: S1
TEST_F(RedlockReaders, HaveTheVoteTogetherAndAWriterAlone) {
  EXPECT_EQ(read('a'), granted(proposal));
  EXPECT_EQ(read('b', proposal + 1), granted(proposal + 1));
  EXPECT_TRUE(refused(vote('w')));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_TRUE(refused(vote('w'))) << "the other one reads";
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(vote('w'), granted(proposal + 2));
  EXPECT_TRUE(refused(read('a')));
  EXPECT_TRUE(refused(vote('x')));
  EXPECT_EQ(undo('w'), "F");
  EXPECT_EQ(read('a'), granted(proposal + 3));
}

// Promise: S2
TEST_F(RedlockReaders, NumbersTellThemFromWriters) {
  ASSERT_EQ(vote('w', {.number = proposal + 50}), granted(proposal + 50));
  ASSERT_EQ(undo('w'), "F");
  EXPECT_EQ(read('a', proposal), granted(proposal + 51)) << "larger than each writer's before it";
  EXPECT_EQ(read('b', proposal + 90), granted(proposal + 90));
  EXPECT_EQ(read('c', proposal + 60), granted(proposal + 60)) << "what it proposed: no round more";
  EXPECT_EQ(settle('a', proposal + 70), granted(proposal + 70));
  for (const char each : {'b', 'a', 'c'}) EXPECT_EQ(undo(each), "F");
  EXPECT_EQ(vote('w'), granted(proposal + 91)) << "larger than each reader's before it";
}

TEST_F(RedlockReaders, ANumberThatWasDecidedOnCountsForTheNextWriter) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(settle('a', proposal + 500), granted(proposal + 500));
  EXPECT_EQ(settle('x', proposal + 900), "N");
  EXPECT_EQ(renew(hold_of('a', proposal + 500)), "1");
  EXPECT_EQ(renew(hold_of('a', proposal)), "E") << "it has another number now";
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(vote('w'), granted(proposal + 501));
}

TEST_F(RedlockReaders, EachLeaseEndsAlone) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b'), granted(proposal));
  ASSERT_NO_FATAL_FAILURE(end_lease_of('a'));
  EXPECT_EQ(renew(hold_of('a', proposal)), "E") << "a renewal brings nothing back";
  EXPECT_TRUE(refused(vote('w')));
  EXPECT_EQ(undo('a'), "L");
  EXPECT_EQ(undo('b'), "F");
  EXPECT_TRUE(writable());
  lease_ = 300;
  ASSERT_EQ(read('c', proposal + 2'000), granted(proposal + 2'000));
  lease_ = 30'000;
  EXPECT_TRUE(eventually([&] { return writable(proposal + 3'000); })) << "nobody has let go";
}

TEST_F(RedlockReaders, ARenewalMovesOneEndAndTellsOfWritersThatWait) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 1), granted(proposal + 1));
  EXPECT_EQ(renew(hold_of('a', proposal)), "1");
  EXPECT_EQ(renew(hold_of('b', proposal)), "E") << "it has another number";
  EXPECT_TRUE(refused(write('w')));
  EXPECT_EQ(renew(hold_of('a', proposal)), "2");
  ASSERT_NO_FATAL_FAILURE(end_lease_of('b'));
  EXPECT_EQ(renew(hold_of('b', proposal + 1)), "E");
  EXPECT_TRUE(refused(vote('x')));
  EXPECT_EQ(undo('a'), "F");
  ASSERT_EQ(vote('w', {.number = proposal + 9}), granted(proposal + 9));
  EXPECT_EQ(renew(hold_of('a', proposal)), "0") << "somebody else has it alone";
}

TEST_F(RedlockReaders, AReleaseIsKnownToHaveWorked) {
  for (const char each : {'a', 'b', 'c'}) ASSERT_EQ(read(each), granted(proposal));
  EXPECT_EQ(release(hold_of('a', proposal + 7)), "N") << "another hold is meant";
  EXPECT_EQ(release(hold_of('a', proposal)), "F");
  EXPECT_EQ(undo('a'), "A");
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(undo('c'), "F");
  EXPECT_EQ(undo('c'), "A");
  EXPECT_EQ(undo('b'), "A");
  ASSERT_EQ(vote('w'), granted(proposal + 1));
  EXPECT_EQ(undo('c'), "N");
}

TEST_F(RedlockReaders, NothingIsLeftForTheQuickWaysToSee) {
  for (const char each : {'a', 'b'}) ASSERT_EQ(read(each, proposal + 5), granted(proposal + 5));
  for (const char each : {'b', 'a'}) EXPECT_EQ(undo(each), "F");
  for (const char* const field : {"g", "m", "i", "x", "k", "b"}) EXPECT_FALSE(has(field)) << field;
  EXPECT_FALSE(has("@" + attempt('a')));
  ASSERT_EQ(vote('w', {.number = proposal + 9}), granted(proposal + 9));
  EXPECT_EQ(undo('w'), "F");
  ASSERT_EQ(read('a', proposal + 10), granted(proposal + 10));
  lapse();
  set("r", attempt('a') + " " + std::to_string(proposal + 10) + " 1000000 1000 1;");
  EXPECT_EQ(vote('w', {.flags = "q100", .number = proposal + 11}), granted(proposal + 11));
  for (const char* const field : {"r", "k", "b"}) EXPECT_FALSE(has(field)) << field;
  EXPECT_FALSE(has("@" + attempt('a')));
}

// Promise: L5
TEST_F(RedlockReaders, WaitBehindAWriterThatCameBefore) {
  RedisTalk inboxes_of = listen("bcwx");
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal, true), granted(proposal)) << "it joins";
  EXPECT_EQ(undo('b'), "F");
  ASSERT_TRUE(refused(write('w')));
  EXPECT_TRUE(refused(read('b', proposal, true)));
  EXPECT_EQ(read('a', proposal + 1, true, 2), granted(proposal + 1)) << "it has the vote";
  ASSERT_TRUE(refused(write('x')));
  EXPECT_TRUE(refused(read('c', proposal, true)));
  EXPECT_EQ(undo('a', "q01", 2), "F");
  EXPECT_EQ(told(inboxes_of), "w");
  EXPECT_TRUE(refused(read('b', proposal, true))) << "it is free, and the writer has its place";
  EXPECT_EQ(write('w', proposal + 5), granted(proposal + 5));
  EXPECT_EQ(undo('w'), "F");
  EXPECT_EQ(told(inboxes_of), "b");
  EXPECT_EQ(read('b', proposal + 6, true), granted(proposal + 6));
  EXPECT_TRUE(refused(read('c', proposal, true))) << "the other writer came before it";
  EXPECT_EQ(undo('x'), "N") << "it gives up";
  EXPECT_EQ(told(inboxes_of), "c");
  EXPECT_EQ(read('c', proposal + 7, true), granted(proposal + 7));
}

// Promise: L6
TEST_F(RedlockReaders, ThatLeadAreAllTold) {
  RedisTalk inboxes_of = listen("bcdwe");
  ASSERT_EQ(vote('a'), granted(proposal));
  for (const char each : {'b', 'c'}) ASSERT_TRUE(refused(read(each, proposal, true)));
  ASSERT_TRUE(refused(write('w')));
  ASSERT_TRUE(refused(read('e', proposal, true)));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(told(inboxes_of), "bc");
  EXPECT_TRUE(refused(write('w', proposal + 9))) << "they came before it";
  EXPECT_EQ(read('b', proposal + 5, true), granted(proposal + 5));
  EXPECT_EQ(read('c', proposal + 5, true), granted(proposal + 5));
  EXPECT_EQ(undo('b'), "F");
  EXPECT_EQ(told(inboxes_of), "");
  EXPECT_EQ(undo('c'), "F");
  EXPECT_EQ(told(inboxes_of), "w");
}

TEST_F(RedlockReaders, AWriterStepsBackForThoseInFrontButNotForEver) {
  ASSERT_EQ(vote('a'), granted(proposal));
  ASSERT_TRUE(refused(read('b', proposal, true)));
  EXPECT_EQ(undo('a', "q00"), "F");
  // Nobody listens for it: it is forgotten, and notes itself when it asks.
  ASSERT_EQ(vote('a', {.number = proposal + 1}), granted(proposal + 1));
  ASSERT_TRUE(refused(read('b', proposal, true)));
  lapse();
  const std::string answer = write('w', proposal + 9);
  EXPECT_TRUE(answer.starts_with("B")) << "who is in front has not asked yet";
  EXPECT_EQ(write('w', proposal + 9, '0'), granted(proposal + 9)) << "it has waited long enough";
}

TEST_F(RedlockReaders, AnOwnerGoesOnAsAReader) {
  RedisTalk inboxes_of = listen("x");
  ASSERT_EQ(vote('w'), granted(proposal));
  ASSERT_TRUE(refused(write('x')));
  EXPECT_TRUE(refused(read('r', proposal, false, 1, attempt('y')))) << "whose owner is another";
  EXPECT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  EXPECT_TRUE(refused(read('s')));
  EXPECT_EQ(renew(hold_of('w', proposal)), "1");
  EXPECT_EQ(renew(hold_of('r', proposal + 1)), "2");
  EXPECT_EQ(settle('w', proposal), "H") << "its number stands, and more was given since";
  EXPECT_EQ(undo('w'), "F");
  EXPECT_EQ(undo('w'), "A");
  EXPECT_EQ(told(inboxes_of), "");
  EXPECT_TRUE(refused(write('x')));
  EXPECT_EQ(renew(hold_of('r', proposal + 1)), "2");
  EXPECT_EQ(undo('r'), "F");
  EXPECT_EQ(told(inboxes_of), "x");
  ASSERT_EQ(write('x', proposal + 20), granted(proposal + 20));
  ASSERT_EQ(read('r', proposal + 21, false, 1, attempt('x')), granted(proposal + 21));
  EXPECT_EQ(undo('r'), "F");
  EXPECT_TRUE(refused(read('s'))) << "it is the owner still";
  EXPECT_EQ(relock('x', proposal + 20, "q0", 9), granted(proposal + 20));
  EXPECT_TRUE(refused(read('s')));
  EXPECT_EQ(undo('x', "q01", 9), "F");
  EXPECT_EQ(read('s', proposal + 30), granted(proposal + 30));
}

TEST_F(RedlockReaders, AnOwnersEndLeavesTheReaderBesideIt) {
  ASSERT_EQ(vote('w', {.lease = 300}), granted(proposal));
  ASSERT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  EXPECT_TRUE(eventually([&] { return read('s', proposal + 5) == granted(proposal + 5); }));
  EXPECT_EQ(renew(hold_of('w', proposal)), "E") << "a renewal brings nothing back";
  EXPECT_EQ(undo('w'), "N");
  EXPECT_TRUE(refused(vote('x')));
}

// The owner's vote has lapsed here, since this server missed its renewals. The votes of those who
// read beside it stand, and each of them may be one of a majority.
// Promise: S1
TEST_F(RedlockReaders, OutlastAnOwnerThatIsToHaveItsVoteOnceMore) {
  ASSERT_EQ(vote('w'), granted(proposal));
  ASSERT_EQ(read('r', proposal, false, 1, attempt('w')), granted(proposal + 1));
  set("k", "1000000");
  EXPECT_EQ(renew(hold_of('w', proposal)), "E");
  EXPECT_TRUE(refused(relock('w', proposal, "q0", 9)));
  EXPECT_EQ(renew(hold_of('r', proposal + 1)), "1");
  EXPECT_EQ(undo('w', "q01", 10), "N");
  EXPECT_TRUE(refused(vote('x'))) << "it is read";
}

// Promise: S5
TEST_F(RedlockReaders, LateCopiesChangeNothing) {
  ASSERT_EQ(read('a', proposal, false, 3, {}, 'S'), granted(proposal));
  EXPECT_EQ(undo('a', "q01", 2), "N") << "it would free the vote of a later round";
  EXPECT_EQ(settle('a', proposal + 9, 2), "N");
  EXPECT_EQ(read('a', proposal, false, 2), vote_of_a_late_reader);
  EXPECT_EQ(undo('a', "q01", 3), "F");
  EXPECT_EQ(read('a', proposal, false, 2), vote_of_a_late_reader);
  EXPECT_TRUE(writable());
  ASSERT_EQ(read('b', proposal + 2'000), granted(proposal + 2'000));
  EXPECT_EQ(undo('b', "q11", 2), "F");
  ASSERT_EQ(read('c', proposal + 2'001), granted(proposal + 2'001));
  EXPECT_EQ(read('b', proposal + 2'000), vote_of_a_late_reader)
      << "beside another one it would not be seen";
  EXPECT_EQ(relock_reader('b', proposal + 2'000, 1), vote_of_a_late_reader);
}

TEST_F(RedlockReaders, AVoteIsGivenOnceMoreBesideReadersAndNotBesideAWriter) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b', proposal + 80), granted(proposal + 80));
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(relock_reader('a', proposal), granted(proposal)) << "of the number that it has";
  EXPECT_EQ(renew(hold_of('a', proposal)), "1");
  EXPECT_EQ(undo('a', "q01", 9), "F");
  EXPECT_TRUE(refused(relock('w', proposal + 3, "q0", 9))) << "it is read";
  EXPECT_EQ(undo('b'), "F");
  ASSERT_EQ(vote('w'), granted(proposal + 81));
  EXPECT_TRUE(refused(relock_reader('a', proposal)));
}

TEST_F(RedlockReaders, IsToldWithTheNumbersOfThoseWhoRead) {
  ASSERT_EQ(read('b', proposal + 3), granted(proposal + 3));
  ASSERT_EQ(read('a', proposal + 1), granted(proposal + 1));
  const std::string answer = vote('w');
  EXPECT_TRUE(answer.starts_with("V " + std::to_string(proposal + 1) + "," +
                                 std::to_string(proposal + 3) + " B "))
      << answer;
  EXPECT_TRUE(answer.ends_with("*" + std::to_string(proposal + 3) + " " +
                               std::to_string(proposal + 1) + " 0 label a"))
      << answer;
  const std::string whose = call(redlock::scripts::whose, {"", "q"});
  // With the labels "label a" and "label b", by two digits a byte.
  EXPECT_TRUE(whose.starts_with(attempt('a') + "." + std::to_string(proposal + 1) +
                                ".6c6162656c2061," + attempt('b') + "." +
                                std::to_string(proposal + 3) + ".6c6162656c2062, V "))
      << whose;
}

// What its memory limit refuses is refused as a whole; what ends something never is.
TEST_F(RedlockReaders, EndWhereThereIsNoMemory) {
  ASSERT_EQ(read('a'), granted(proposal));
  ASSERT_EQ(read('b'), granted(proposal));
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "1"});
  const RedisAnswer answer = server().talk().command(
      {"EVAL", std::string(redlock::scripts::acquire.text), "1", key("a"), attempt('c'), "qs00",
       "1", "30000", "", std::to_string(proposal), ""});
  EXPECT_THAT(answer.text, testing::HasSubstr("OOM"));
  EXPECT_EQ(renew(hold_of('a', proposal)), "1");
  EXPECT_EQ(undo('a'), "F");
  EXPECT_EQ(undo('b'), "F");
  server().talk().expect_ok({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(writable());
}

// The quick ways, which know of no readers, see an owner that is not theirs.
TEST_F(RedlockReaders, LookLikeAnOwnerToTheQuickWays) {
  ASSERT_EQ(read('a'), granted(proposal));
  EXPECT_EQ(get("o"), "*" + hold_of('a', proposal));
  EXPECT_TRUE(has("g"));
  lease_ = 60'000;
  ASSERT_EQ(read('b'), granted(proposal));
  const std::string held = get("g");
  EXPECT_GE(std::stoi(held.substr(held.find(' ') + 1)), 60'000) << "until the last of them ends";
}

}  // namespace
}  // namespace mortise::fault
