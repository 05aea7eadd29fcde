// SPDX-License-Identifier: MIT
// Goal: a renewal that was cut in parts is complete when all of them are, however each ends, and
// what one has learned waits for no other. Method: each part is completed, failed or dropped by
// hand.
#include "base/piecemeal_renewal.hpp"
#include "redis/topology/renewal_parts.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace mortise::redis {
namespace {

std::shared_ptr<Renewal> renewal_of(std::size_t count) {
  std::vector<Renewal::Item> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i].hold.name = "n" + std::to_string(i);
  return std::make_shared<Renewal>(std::move(items));
}

void answer(Renewal& part, Renewal::Answer how) {
  part.items().front().answer = how;
  part.items().front().granted = std::chrono::seconds(3);
  part.answered();
}

TEST(RedisRenewalPartsTest, EachHasOneHoldAndTellsItsOwn) {
  const auto whole = renewal_of(2);
  const auto parts = parts_of(whole);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1]->items().front().hold.name, "n1");
  answer(*parts[1], Renewal::Answer::lost);
  EXPECT_FALSE(whole->done());
  answer(*parts[0], Renewal::Answer::renewed);
  ASSERT_TRUE(whole->done());
  EXPECT_EQ(whole->items()[0].answer, Renewal::Answer::renewed);
  EXPECT_EQ(whole->items()[0].granted, std::chrono::seconds(3));
  EXPECT_EQ(whole->items()[1].answer, Renewal::Answer::lost);
}

TEST(RedisRenewalPartsTest, WhatFailedIsUnknownWhereOthersAreNot) {
  const auto whole = renewal_of(2);
  const auto parts = parts_of(whole);
  parts[0]->failed({Errc::unavailable, "no"});
  answer(*parts[1], Renewal::Answer::renewed);
  ASSERT_TRUE(whole->done());
  EXPECT_FALSE(whole->failure());
  EXPECT_EQ(whole->items()[0].answer, Renewal::Answer::unknown);
}

TEST(RedisRenewalPartsTest, ItFailsWhereAllHave) {
  const auto whole = renewal_of(2);
  for (const auto& part : parts_of(whole)) part->failed({Errc::denied, "no"});
  ASSERT_TRUE(whole->done());
  EXPECT_EQ(whole->failure().code, Errc::denied);
  EXPECT_EQ(whole->failure().text, "no");
}

TEST(RedisRenewalPartsTest, APartThatIsDroppedIsOver) {
  const auto whole = renewal_of(2);
  auto parts = parts_of(whole);
  answer(*parts[0], Renewal::Answer::renewed);
  parts.clear();
  ASSERT_TRUE(whole->done());
  EXPECT_EQ(whole->items()[0].answer, Renewal::Answer::renewed);
  EXPECT_EQ(whole->items()[1].answer, Renewal::Answer::unknown);
}

class PartsHeard final : public base::PiecemealRenewal {
 public:
  using PiecemealRenewal::PiecemealRenewal;
  void learned(std::size_t index) noexcept override { heard.push_back(index); }
  std::vector<std::size_t> heard;
};

TEST(RedisRenewalPartsTest, WhatOneHasLearnedWaitsForNoOther) {
  const auto whole = std::make_shared<PartsHeard>(std::vector<Renewal::Item>(3));
  auto parts = parts_of(whole);
  answer(*parts[2], Renewal::Answer::renewed);
  EXPECT_EQ(whole->heard, std::vector<std::size_t>{2});
  EXPECT_EQ(whole->items()[2].answer, Renewal::Answer::renewed);
  EXPECT_FALSE(whole->done());
  parts[0]->failed({Errc::unavailable, "no"});
  EXPECT_EQ(whole->heard, std::vector<std::size_t>{2}) << "why is told with the whole";
  parts.clear();
  EXPECT_TRUE(whole->done());
}

}  // namespace
}  // namespace mortise::redis
