// SPDX-License-Identifier: MIT
// Goal: a vote is asked for again only for exactly a hold that stands, and a release knows whom it
// concerns. Method: the tables alone, by moments of the test's own.
#include "redlock/copies.hpp"
#include "redlock/holds.hpp"
#include "redlock/outbox.hpp"
#include "redlock/trail.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace mortise::redlock {
namespace {

using namespace std::chrono_literals;

constexpr Instant now{100s};

HoldId hold() {
  return {
      .name = "name", .attempt = {.client_high = 1, .client_low = 2, .sequence = 3}, .number = 7};
}

/// @return a trail to one server, by an address of the same number
Trail at(std::size_t node) {
  Trail trail;
  static_cast<void>(trail.add({.server = 100 + node, .node = node, .since = now}));
  return trail;
}

TEST(RedlockHoldsTest, OnlyExactlyTheHoldStands) {
  Holds holds;
  EXPECT_FALSE(holds.stands(hold(), now));
  holds.add(hold(), now + 1s, at(0), now);
  EXPECT_TRUE(holds.stands(hold(), now));
  HoldId other = hold();
  other.name = "other name";
  EXPECT_FALSE(holds.stands(other, now));
  other = hold();
  ++other.number;
  EXPECT_FALSE(holds.stands(other, now));
  other = hold();
  ++other.attempt.client_high;
  EXPECT_FALSE(holds.stands(other, now));
}

TEST(RedlockHoldsTest, StandsUntilItsEndAndIsExtendedByRenewal) {
  Holds holds;
  holds.add(hold(), now + 1s, at(0), now);
  EXPECT_FALSE(holds.stands(hold(), now + 1s));
  holds.extend(hold(), now + 2s);
  EXPECT_TRUE(holds.stands(hold(), now + 1s));
  holds.extend(hold(), now);
  EXPECT_TRUE(holds.stands(hold(), now + 1s)) << "a late answer never shortens";
}

TEST(RedlockHoldsTest, EndsWithItsRelease) {
  Holds holds;
  Trail voters = at(0);
  voters.add(at(3));
  holds.add(hold(), now + 1s, std::move(voters), now);
  EXPECT_TRUE(holds.voted(hold(), {.server = 104, .node = 4, .since = now}));
  const auto release = std::make_shared<Release>(hold());
  const Holds::End first = holds.end(release);
  EXPECT_TRUE(first.fresh);
  EXPECT_TRUE(first.known);
  EXPECT_TRUE(first.freeing->known) << "so that servers that voted late are freed, too";
  EXPECT_EQ(first.maybe.size(), 3U);
  for (const std::uint64_t server : {100U, 103U, 104U}) EXPECT_TRUE(first.maybe.has(server));
  EXPECT_FALSE(holds.stands(hold(), now)) << "or a vote could be asked for behind the release";
  EXPECT_FALSE(holds.voted(hold(), {.server = 101, .node = 1, .since = now}))
      << "the release would not reach it";
  const Holds::End again = holds.end(release);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(again.freeing, first.freeing);
  holds.forget(hold().attempt);
  const Holds::End late = holds.end(std::make_shared<Release>(hold()));
  EXPECT_TRUE(late.fresh);
  EXPECT_FALSE(late.known) << "what is not known anybody may have";
}

TEST(RedlockHoldsTest, AForgedReleaseEndsNothing) {
  Holds holds;
  holds.add(hold(), now + 1s, at(0), now);
  HoldId forged = hold();
  ++forged.number;
  EXPECT_FALSE(holds.end(std::make_shared<Release>(forged)).known);
  EXPECT_TRUE(holds.stands(hold(), now));
}

TEST(RedlockHoldsTest, TheLapsedAreForgottenInTheEnd) {
  Holds holds;
  HoldId old = hold();
  holds.add(old, now, at(0), now);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    HoldId each = hold();
    each.attempt.sequence = 10 + i;
    holds.add(each, now + 1h, at(0), now + 10min);
  }
  EXPECT_FALSE(holds.end(std::make_shared<Release>(old)).known);
}

constexpr std::uint64_t server = 100;

constexpr redis::ServerTime void_after{50s};  // by the server's clock

TEST(RedlockCopiesTest, AreOverWhenTheServerHasTakenBackAfterTheirMoment) {
  Copies copies;
  const AttemptId attempt = hold().attempt;
  EXPECT_EQ(copies.taken_back(server, attempt, void_after, now), never) << "there are none";
  copies.add(server, attempt, void_after, now);
  EXPECT_TRUE(copies.has(server, attempt));
  const Instant again = copies.taken_back(server, attempt, void_after - 300ms, now);
  EXPECT_GT(again, now + 300ms);
  EXPECT_LT(again, now + 310ms);
  EXPECT_EQ(copies.taken_back(server, attempt, void_after + 1us, again), never);
  EXPECT_FALSE(copies.has(server, attempt));
}

TEST(RedlockCopiesTest, HaveTheLatestMoment) {
  Copies copies;
  const AttemptId attempt = hold().attempt;
  copies.add(server, attempt, void_after, now);
  copies.add(server, attempt, void_after - 1s, now);
  EXPECT_NE(copies.taken_back(server, attempt, void_after, now), never);
  copies.add(server, attempt, void_after + 1s, now);
  EXPECT_NE(copies.taken_back(server, attempt, void_after + 1ms, now), never);
  EXPECT_EQ(copies.taken_back(server, attempt, void_after + 2s, now), never);
}

// Two addresses may lead to it, and the other one is asked next.
TEST(RedlockCopiesTest, AreOfOneServerAndOneAttempt) {
  Copies copies;
  copies.add(server, hold().attempt, void_after, now);
  AttemptId other = hold().attempt;
  ++other.sequence;
  EXPECT_FALSE(copies.has(server + 1, hold().attempt));
  EXPECT_FALSE(copies.has(server, other));
  EXPECT_EQ(copies.taken_back(server + 1, hold().attempt, void_after + 1s, now), never);
  EXPECT_TRUE(copies.has(server, hold().attempt));
}

// A server that never comes back would be remembered for ever.
TEST(RedlockCopiesTest, AreForgottenInTheEnd) {
  Copies copies;
  copies.add(server, hold().attempt, void_after, now);
  copies.add(server + 1, hold().attempt, void_after, now + 3min);
  EXPECT_FALSE(copies.has(server, hold().attempt));
}

TEST(RedlockTrailTest, NamesEachServerOnceAndByTheAddressThatLedThereLast) {
  Trail trail = at(0);
  EXPECT_FALSE(trail.add({.server = 100, .node = 2, .since = now + 1s}));
  EXPECT_TRUE(trail.add({.server = 101, .node = 1, .since = now}));
  EXPECT_EQ(trail.size(), 2U);
  EXPECT_EQ(trail.begin()->node, 2U);
  EXPECT_EQ(trail.begin()->since, now) << "it was asked before it was asked again";
  trail.remove(100);
  EXPECT_FALSE(trail.has(100));
  EXPECT_TRUE(trail.meets(at(1)));
  EXPECT_FALSE(trail.meets(at(0)));
}

// A majority of votes is counted against those that surely have none.
TEST(RedlockTrailTest, LeavesAsManyAddressesAsThereAreServersThatWereNotAsked) {
  const Quorum three{.nodes = 3};
  EXPECT_EQ(Trail().rest(three), three.all());
  EXPECT_EQ(at(1).rest(three), only(0) | only(2));
  Trail two = at(1);
  static_cast<void>(two.add({.server = 7, .node = 1, .since = now}));
  EXPECT_EQ(count(two.rest(three)), 1U) << "two servers, by one address that has moved";
}

// A thread that could not ask a server may notice that long after another one could.
TEST(RedlockTrailTest, KeepsWhoWasAskedAgainSinceItWasNotAsked) {
  Trail trail;
  static_cast<void>(trail.add({.server = 100, .node = 0, .since = now, .asked = now}));
  static_cast<void>(trail.add({.server = 100, .node = 0, .since = now, .asked = now + 1ns}));
  trail.not_asked(100, now);
  EXPECT_TRUE(trail.has(100));
  trail.not_asked(100, now + 1ns);
  EXPECT_FALSE(trail.has(100));
}

redis::Call entry_of(std::shared_ptr<Operation> operation, Instant since) {
  return {.server = server, .operation = std::move(operation), .since = since};
}
constexpr auto stays = [](const redis::Call&) { return Outbox::Look{}; };

/// Whatever a server is to be told leaves.
template <class LookAt>
std::vector<Outbox::Due> all_told(Outbox& outbox, std::uint64_t to, Instant met, LookAt look_at) {
  std::vector<Outbox::Due> due = outbox.take(to, met, now, look_at);
  for (const Outbox::Due& one : due) outbox.sent(one, true);
  return due;
}

TEST(RedlockOutboxTest, AreAServersWhateverAddressLeadsThere) {
  Outbox outbox;
  const auto operation = std::make_shared<Release>(hold());
  outbox.put(server, entry_of(operation, now));
  outbox.put(server, entry_of(operation, now));
  EXPECT_TRUE(all_told(outbox, server + 1, now - 1s, stays).empty()) << "it was there before";
  EXPECT_EQ(all_told(outbox, server, now - 1s, stays).size(), 1U);
  EXPECT_FALSE(outbox.any());
}

// It may be the same one, started anew, or a stranger.
TEST(RedlockOutboxTest, AreToldToWhoWasMetSinceAndStay) {
  Outbox outbox;
  outbox.put(server, entry_of(std::make_shared<Release>(hold()), now));
  EXPECT_EQ(all_told(outbox, server + 1, now, stays).size(), 1U);
  EXPECT_EQ(all_told(outbox, server, now - 1s, stays).size(), 1U);
  EXPECT_FALSE(outbox.any());
  outbox.put(server, entry_of(std::make_shared<Release>(hold()), now));
  EXPECT_EQ(all_told(outbox, server + 1, now,
                     [](const redis::Call&) { return Outbox::Look{.told_to_all = true}; })
                .size(),
            1U);
  EXPECT_FALSE(outbox.any());
}

// What was told to another one in its place, which refused it for now, is owed to that.
TEST(RedlockOutboxTest, OfWhoRefusesAreItsOwn) {
  Outbox outbox;
  outbox.put(server + 1, entry_of(std::make_shared<Release>(hold()), now));
  EXPECT_TRUE(all_told(outbox, server + 2, now + 1h, stays).empty());
  EXPECT_EQ(all_told(outbox, server + 1, now - 1s, stays).size(), 1U);
  EXPECT_FALSE(outbox.any());
}

// A server that never comes back would be remembered for ever.
TEST(RedlockOutboxTest, AreForgottenWhenTheirTimeIsOverWhoeverIsMet) {
  Outbox outbox;
  const auto over = [](const redis::Call&) { return Outbox::Look{.over = true}; };
  outbox.put(server, entry_of(std::make_shared<Release>(hold()), now));
  EXPECT_TRUE(all_told(outbox, server + 1, now - 1s, over).empty());
  EXPECT_FALSE(outbox.any());
  outbox.put(server, entry_of(std::make_shared<Release>(hold()), now));
  EXPECT_EQ(all_told(outbox, server, now - 1s, over).size(), 1U) << "itself it is told";
}

// A thread that finds no memory on the way, or no connection, takes nothing of it along.
TEST(RedlockOutboxTest, StayUntilTheyHaveLeft) {
  Outbox outbox;
  for (int i = 0; i < 2; ++i) {
    outbox.put(server, entry_of(std::make_shared<Release>(hold()), now));
  }
  const std::vector<Outbox::Due> due = outbox.take(server, now - 1s, now, stays);
  ASSERT_EQ(due.size(), 2U);
  EXPECT_TRUE(outbox.take(server, now - 1s, now, stays).empty()) << "another thread sends them";
  EXPECT_TRUE(outbox.any());
  outbox.sent(due.front(), true);
  outbox.sent(due.back(), false);
  const std::vector<Outbox::Due> again = outbox.take(server, now - 1s, now, stays);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.front().call.operation, due.back().call.operation);
  // The server has refused it before its sender was back.
  outbox.put(server, again.front().call);
  outbox.sent(again.front(), true);
  EXPECT_EQ(all_told(outbox, server, now - 1s, stays).size(), 1U);
  EXPECT_FALSE(outbox.any());
}

TEST(RedlockOutboxTest, WaitUntilTheyAreDue) {
  Outbox outbox;
  const auto release = std::make_shared<Release>(hold());
  outbox.put(server, entry_of(release, now), now + 1s);
  EXPECT_TRUE(all_told(outbox, server, now - 1s, stays).empty());
  EXPECT_EQ(outbox.next(server, now), now + 1s);
  EXPECT_EQ(outbox.next(server + 1, now), never);
  EXPECT_EQ(outbox.take(server, now - 1s, now + 1s, stays).size(), 1U);
  // What is to be told at once takes the place of what was to be repeated.
  outbox.put(server, entry_of(release, now));
  EXPECT_EQ(all_told(outbox, server, now - 1s, stays).size(), 1U);
  EXPECT_FALSE(outbox.any());
}

TEST(RedlockOutboxTest, AreBoundedAndTheOldestGoFirst) {
  Outbox outbox;
  const auto first = std::make_shared<Release>(hold());
  outbox.put(server, entry_of(first, now));
  std::vector<std::shared_ptr<Release>> others;
  for (int i = 0; i < 4096; ++i) {
    others.push_back(std::make_shared<Release>(hold()));
    outbox.put(server, entry_of(others.back(), now));
  }
  const std::vector<Outbox::Due> due = all_told(outbox, server, now - 1s, stays);
  ASSERT_EQ(due.size(), 4096U);
  EXPECT_EQ(due.front().call.operation, others.front());
  EXPECT_EQ(due.back().call.operation, others.back());
}

// A fail-over puts a server in the place of one that has voted.
TEST(RedlockHoldsTest, AServerThatHasRenewedHasAVote) {
  Holds holds;
  holds.add(hold(), now + 1s, at(0), now);
  const std::vector<Renewal::Item> items{{.hold = hold(), .lease = 1s}};
  const Trail::Stop there{.server = 105, .node = 0, .since = now};
  EXPECT_TRUE(holds.renewed(items, {0}, there).empty());
  const auto release = std::make_shared<Release>(hold());
  EXPECT_FALSE(holds.end(release).maybe.has(105));
  const auto told = holds.renewed(items, {1}, there);
  ASSERT_EQ(told.size(), 1U) << "it is released meanwhile";
  EXPECT_EQ(told.front()->release, release);
  EXPECT_TRUE(holds.renewed(items, {1}, there).empty()) << "and was told";
  holds.forget(hold().attempt);
  EXPECT_EQ(holds.renewed(items, {1}, there).size(), 1U) << "nobody knows whether it was";
}

}  // namespace
}  // namespace mortise::redlock
