// SPDX-License-Identifier: MIT
// Goal: a server's reply is read as the scripts write it, and nothing else is taken for a vote.
// Method: replies as the scripts give them, and replies with a part that is wrong.
#include "core/figures.hpp"
#include "redlock/vote.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace mortise::redlock {
namespace {

using redis::Reply;
using Kind = VoteReply::Kind;

Reply word(std::string of) { return {.kind = Reply::Kind::string, .text = std::move(of)}; }
Reply integer(long long value) { return {.kind = Reply::Kind::integer, .integer = value}; }
Reply list(std::vector<Reply> items) {
  return {.kind = Reply::Kind::array, .items = std::move(items)};
}

constexpr auto limit = static_cast<long long>(core::grant_number_limit);

TEST(RedlockVoteTest, HasANumberAndTheServersTime) {
  const auto reply = VoteReply::parse(list({word("vote"), integer(1000), integer(17)}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->kind, Kind::vote);
  EXPECT_EQ(reply->now.count(), 1000);
  EXPECT_EQ(reply->number, 17U);
}

TEST(RedlockVoteTest, IsNothingWithAPartThatIsWrong) {
  const std::vector<Reply> wrong{
      word("vote"),
      integer(17),
      list({}),
      list({word("vote")}),
      list({word("vote"), integer(1000)}),
      list({word("vote"), integer(1000), integer(0)}),
      list({word("vote"), integer(1000), integer(-1)}),
      list({word("vote"), integer(1000), integer(limit)}),
      list({word("vote"), integer(1000), word("17")}),
      list({word("vote"), integer(1000), integer(17), integer(1)}),
      list({word("vote"), integer(0), integer(17)}),
      list({word("Vote"), integer(1000), integer(17)}),
      list({integer(1000), word("vote"), integer(17)}),
      list({word("released")}),
      list({word("released"), integer(1000), integer(1)}),
      list({word("renewed"), integer(1000), integer(3)}),
      list({word("busy"), integer(1000), integer(1), integer(1), word("")}),
      list({word("busy"), integer(1000), integer(-1), integer(1), word(""), word("w")}),
      list({word("busy"), integer(1000), integer(1), integer(1), word(""), word("x")}),
      list({word("busy"), integer(1000), integer(1), integer(1), word(""), word("r"), integer(0)}),
      list({word("held"), integer(1000), integer(1), integer(1), word(""), word("w"),
            list({word("no attempt"), word("7"), word("1"), word("")}), integer(7)}),
      list({word("held"), integer(1000), integer(1), integer(1), word(""), word("w"),
            list({word("AAAAAQAAAAAAAAACCr"), word("0"), word("1"), word("")}), integer(7)}),
      list({word("held"), integer(1000), integer(1), integer(1), word(""), word("w"),
            list({word("AAAAAQAAAAAAAAACCr"), word("7"), word("0"), word("")}), integer(7)}),
      list({word("held"), integer(1000), integer(1), integer(1), word(""), word("w"),
            list({word("AAAAAQAAAAAAAAACCr"), word("7"), word("536870912"), word("")}),
            integer(7)}),
      list({word("held"), integer(1000), integer(1), integer(1), word(""), word("w"),
            list({word("AAAAAQAAAAAAAAACCr"), word("7"), word("1")}), integer(7)}),
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_FALSE(VoteReply::parse(wrong[i])) << i;
}

TEST(RedlockVoteTest, NamesAnOwnerByItsNumber) {
  const auto reply =
      VoteReply::parse(list({word("busy"), integer(1000), integer(500'000), integer(2),
                             word("label of it"), word("w"), integer(7)}));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->names(7));
  EXPECT_FALSE(reply->names(8));
  const std::optional<Holder> holder = reply->holder();
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->label, "label of it");
  EXPECT_EQ(holder->waiters, 2U);
  EXPECT_EQ(holder->mode, Mode::exclusive);
  EXPECT_EQ(holder->expires_in, std::chrono::milliseconds(500));
  EXPECT_EQ(holder->token, Token(7 * core::tokens_in_a_grant));
}

TEST(RedlockVoteTest, NamesReadersByTheirNumbers) {
  const auto reply = VoteReply::parse(list({word("busy"), integer(1000), integer(500), integer(0),
                                            word(""), word("r"), integer(7), integer(9)}));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->names(7) && reply->names(9));
  EXPECT_EQ(reply->holder_number(), 7U);
  EXPECT_EQ(reply->mode, Mode::shared);
  std::vector<Reply> many{word("busy"), integer(1000), integer(500),
                          integer(0),   word(""),      word("r")};
  for (int i = 1; i <= 10; ++i) many.push_back(integer(i));
  EXPECT_FALSE(VoteReply::parse(list(many))) << "eight readers and an owner, at most";
}

TEST(RedlockVoteTest, NamesNobodyIfTheAttemptSteppedBack) {
  const auto reply = VoteReply::parse(
      list({word("busy"), integer(1000), integer(0), integer(3), word(""), word("w")}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->holder_number(), 0U);
  EXPECT_FALSE(reply->holder());
}

TEST(RedlockVoteTest, NamesEachHoldToAnAdministrator) {
  const auto reply = VoteReply::parse(
      list({word("held"), integer(1000), integer(500), integer(0), word("a"), word("w"),
            list({word("AAAAAQAAAAAAAAACCr"), word("7"), word("1"), word("a"),
                  word("AAAAAQAAAAAAAAACCs"), word("9"), word("3"), word("\xff")}),
            integer(7), integer(9)}));
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->holds.size(), 2U);
  EXPECT_EQ(reply->holds[0].hold.attempt,
            (AttemptId{.client_high = 1, .client_low = 2, .sequence = 0xab}));
  EXPECT_EQ(reply->holds[0].step, 1U);
  EXPECT_EQ(reply->holds[1].hold.number, 9U);
  EXPECT_EQ(reply->holds[1].step, 3U);
  EXPECT_EQ(reply->holds[1].label, "\xff");
  EXPECT_EQ(reply->numbers, (std::vector<std::uint64_t>{7, 9}));
}

TEST(RedlockVoteTest, HasACodeForEachHoldThatIsRenewed) {
  const auto reply = VoteReply::parse(
      list({word("renewed"), integer(1000), integer(1), integer(2), integer(0), integer(-1)}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->renewals, (std::vector<int>{1, 2, 0, -1}));
}

}  // namespace
}  // namespace mortise::redlock
