// SPDX-License-Identifier: MIT
// Goal: a name that has moved is noticed, and one that rotates is not taken for one that has moved.
// Method: tables of a name server's answers; the decision alone.
#include "model/seed.hpp"
#include "remote/moved_name.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace mortise::remote {
namespace {

/// Each letter is an address: "AB" has both. @return after which answer the name counts as moved,
/// from 1; 0 = it does not
std::size_t moves_at(MovedName& name, const std::vector<std::string>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<std::string> addresses;
    for (const char each : answers[i]) addresses.emplace_back(1, each);
    if (name.answered(std::move(addresses))) return i + 1;
  }
  return 0;
}

std::size_t moves_at(const std::vector<std::string>& answers) {
  MovedName name;
  name.connected("A");
  return moves_at(name, answers);
}

TEST(MovedName, IsThatOfWhichThreeAnswersLackTheAddress) {
  EXPECT_EQ(moves_at({"A", "A", "A", "A"}), 0U);
  EXPECT_EQ(moves_at({"A", "B", "B", "B"}), 4U);
  EXPECT_EQ(moves_at({"B", "B"}), 0U);
  EXPECT_EQ(moves_at({"BC", "CB", "BC"}), 3U) << "the order says nothing";
  EXPECT_EQ(moves_at({"AB", "BA", "CA"}), 0U);
}

TEST(MovedName, FailedLookupsDoNotCount) {
  EXPECT_EQ(moves_at({"", "", "", "", "", ""}), 0U);
  EXPECT_EQ(moves_at({"B", "", "B", "", "B"}), 5U);
}

TEST(MovedName, IsNoneThatRotates) {
  EXPECT_EQ(moves_at({"B", "A", "B", "A", "B", "A", "B", "A"}), 0U);
  EXPECT_EQ(moves_at({"B", "C", "D", "E", "B", "C", "D", "E"}), 0U) << "all of them differ";
  EXPECT_EQ(moves_at({"B", "B", "A", "B", "B", "B", "B"}), 0U) << "it has come back before";
  EXPECT_EQ(moves_at({"B", "B", "A", "B", "B", "B", "B", "B"}), 8U);
}

TEST(MovedName, AnAddressThatNeverComesBackIsGone) {
  MovedName name;
  name.connected("A");
  std::vector<std::string> answers;
  for (std::size_t i = 0; i < 2 * MovedName::answers_at_most; ++i) {
    answers.push_back(i % 2 == 0 ? "B" : "C");
  }
  EXPECT_EQ(moves_at(name, answers), MovedName::answers_at_most);
}

TEST(MovedName, ANewConnectionIsJudgedAnew) {
  MovedName name;
  name.connected("A");
  EXPECT_EQ(moves_at(name, {"B", "B", "B"}), 3U);
  EXPECT_EQ(name.elsewhere(), std::vector<std::string>{"B"});
  name.connected("B");
  EXPECT_EQ(moves_at(name, {"B", "B", "A", "A", "A"}), 5U) << "and back";
}

TEST(MovedName, ANameThatLeadsBackToTheOldAddressRotates) {
  MovedName name;
  name.connected("A");
  EXPECT_EQ(moves_at(name, {"B", "B", "B"}), 3U);
  name.connected("A");
  EXPECT_EQ(moves_at(name, {"B", "B", "B", "B", "B", "B"}), 0U);
  EXPECT_EQ(moves_at(name, {"B"}), 1U);
}

// One address of n in each answer, at random: a weighted record. It costs a few connections, and
// then none.
TEST(MovedName, ARandomAnswerCostsFewConnections) {
  std::mt19937_64 random(model::test_seed());
  for (const std::size_t n : {2U, 3U, 10U}) {
    MovedName name;
    const auto draw = [&] { return std::string(1, static_cast<char>('A' + random() % n)); };
    name.connected(draw());
    std::size_t closed = 0;
    constexpr std::size_t a_day = 24 * 60 * 6;
    for (std::size_t i = 0; i < a_day; ++i) {
      if (!name.answered({draw()})) continue;
      ++closed;
      name.connected(draw());
    }
    EXPECT_LT(closed, 25U) << n << " addresses";
  }
}

}  // namespace
}  // namespace mortise::remote
