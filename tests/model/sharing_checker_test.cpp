// SPDX-License-Identifier: MIT
// Goal: the checker finds each way in which readers, writers and permits can go wrong, names those
// who contradict each other, and takes what is right for right. Method: histories written by hand.
#include "model/checker.hpp"
#include "model/script.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace mortise::model {
namespace {

constexpr Script::Client anna{0, 0};
constexpr Script::Client ben{1, 0};
constexpr Script::Client cleo{2, 0};

Report judge_sharing(const Script& script) { return check(script.events(), {.permits = 2}); }

Script::Acquired acquire(Script& script, Shape shape, Script::Client client, std::uint64_t token,
                         std::int64_t invoked, std::int64_t returned) {
  script.next_are(shape);
  return script.acquire(client, 0, token, invoked, returned);
}

void expect_one_pair(const Report& report, Fault fault, std::uint64_t first, std::uint64_t second) {
  ASSERT_EQ(report.faults, 1U) << report.text();
  EXPECT_EQ(report.violations[0].fault, fault) << report.text();
  EXPECT_EQ(report.violations[0].first.op, first) << report.text();
  EXPECT_EQ(report.violations[0].second.op, second) << report.text();
}

TEST(SharingChecker, ReadersMayHoldAtOnceAndHaveOneToken) {
  Script script;
  const auto one = acquire(script, Shape::shared, anna, 10, 100, 110);
  const auto other = acquire(script, Shape::shared, ben, 10, 105, 115);
  const auto third = acquire(script, Shape::shared, cleo, 11, 100, 120);
  // Joins the hold of the first, which has long been there, although the third has a larger token.
  const auto late = acquire(script, Shape::shared, {0, 1}, 10, 200, 201);
  for (const auto& hold : {one, other, third, late}) script.release(hold, 300, 310);
  const auto writer = acquire(script, Shape::exclusive, ben, 12, 290, 300);
  script.release(writer, 400, 410);
  acquire(script, Shape::shared, anna, 12, 400, 410);
  EXPECT_TRUE(judge_sharing(script).ok()) << judge_sharing(script).text();
}

TEST(SharingChecker, AWriterBesideAReaderIsFound) {
  Script script;
  const auto reader = acquire(script, Shape::shared, anna, 10, 100, 110);
  script.release(reader, 200, 210);
  const auto writer = acquire(script, Shape::exclusive, ben, 11, 150, 199);
  expect_one_pair(judge_sharing(script), Fault::overlap, reader.op, writer.op);
}

TEST(SharingChecker, AReaderBesideAWriterIsFound) {
  Script script;
  const auto writer = acquire(script, Shape::exclusive, anna, 10, 100, 110);
  script.release(writer, 200, 210);
  const auto reader = acquire(script, Shape::shared, ben, 10, 150, 199);
  expect_one_pair(judge_sharing(script), Fault::overlap, writer.op, reader.op);
}

TEST(SharingChecker, AReadersTokenThatIsThatOfTheNextWriterIsFound) {
  Script script;
  const auto reader = acquire(script, Shape::shared, anna, 11, 100, 110);
  script.release(reader, 120, 130);
  const auto writer = acquire(script, Shape::exclusive, ben, 11, 140, 150);
  expect_one_pair(judge_sharing(script), Fault::token_backwards, reader.op, writer.op);
}

TEST(SharingChecker, AReadersTokenThatIsBelowTheLastWritersIsFound) {
  Script script;
  const auto writer = acquire(script, Shape::exclusive, ben, 11, 100, 110);
  script.release(writer, 120, 130);
  const auto reader = acquire(script, Shape::shared, anna, 10, 140, 150);
  expect_one_pair(judge_sharing(script), Fault::token_backwards, writer.op, reader.op);
}

// Each two of these three can have followed each other; all three cannot. The writer's lease was
// over before it heard of its grant: so it says nothing of when that was.
TEST(SharingChecker, AWriterBetweenReadersThatWereThereAtOnceIsFound) {
  Script script;
  const auto before = acquire(script, Shape::shared, anna, 10, 100, 110);
  script.release(before, 200, 210);
  script.next_are(Shape::exclusive);
  const auto writer = script.acquire(ben, 0, 11, 100, 400, 105);
  const auto after = acquire(script, Shape::shared, cleo, 12, 150, 199);
  const Report report = judge_sharing(script);
  expect_one_pair(report, Fault::token_backwards, before.op, after.op);
  EXPECT_EQ(report.violations[0].between, writer.op) << report.text();

  Script in_turn;
  in_turn.release(acquire(in_turn, Shape::shared, anna, 10, 100, 110), 200, 210);
  in_turn.next_are(Shape::exclusive);
  in_turn.acquire(ben, 0, 11, 100, 400, 105);
  acquire(in_turn, Shape::shared, cleo, 12, 150, 200);
  EXPECT_TRUE(judge_sharing(in_turn).ok()) << judge_sharing(in_turn).text();
}

TEST(SharingChecker, PermitsAreCounted) {
  Script script;
  const auto one = acquire(script, Shape::permit, anna, 10, 100, 110);
  const auto two = acquire(script, Shape::permit, ben, 11, 100, 120);
  script.release(one, 200, 210);
  const auto three = acquire(script, Shape::permit, cleo, 12, 150, 205);
  script.release(two, 300, 310);
  script.release(three, 300, 310);
  EXPECT_TRUE(judge_sharing(script).ok()) << judge_sharing(script).text();

  const auto four = acquire(script, Shape::permit, {0, 1}, 13, 250, 299);
  const Report report = judge_sharing(script);
  ASSERT_EQ(report.faults, 1U) << report.text();
  EXPECT_EQ(report.violations[0].fault, Fault::too_many) << report.text();
  EXPECT_EQ(report.violations[0].second.op, four.op) << report.text();
}

TEST(SharingChecker, APermitsTokenGrowsWithEachGrant) {
  Script script;
  const auto one = acquire(script, Shape::permit, anna, 11, 100, 110);
  const auto two = acquire(script, Shape::permit, ben, 10, 120, 130);
  expect_one_pair(judge_sharing(script), Fault::token_backwards, one.op, two.op);

  Script repeated;
  const auto first = acquire(repeated, Shape::permit, anna, 11, 100, 110);
  const auto same = acquire(repeated, Shape::permit, ben, 11, 100, 110);
  expect_one_pair(judge_sharing(repeated), Fault::token_repeated, first.op, same.op);
}

TEST(SharingChecker, ASemaphoreAndALockOfOneNameDoNotMeet) {
  Script script;
  acquire(script, Shape::exclusive, anna, 10, 100, 110);
  acquire(script, Shape::permit, ben, 10, 100, 110);
  acquire(script, Shape::permit, cleo, 11, 100, 110);
  EXPECT_TRUE(judge_sharing(script).ok()) << judge_sharing(script).text();
}

}  // namespace
}  // namespace mortise::model
