// SPDX-License-Identifier: MIT
// Goal: a client is a client of one cluster, whatever its addresses lead to by now. Method: answers
// by hand, in the orders in which they may come.
#include "redis/topology/membership.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mortise::redis {
namespace {

using Verdict = Membership::Verdict;

const NodeIds ours{"a1", "a2", "a3"};
const NodeIds ours_later{"a2", "a3", "a4"};
const NodeIds theirs{"b1", "b2"};
const std::vector<std::string> seeds{"s1", "s2", "s3"};

/// Asks as a client does: of the servers that it knows.
class Asked {
 public:
  explicit Asked(std::vector<std::string> known) : known_(known), membership_(std::move(known)) {}

  /// All of them are masters.
  Verdict answers(const std::string& server, const NodeIds& nodes) {
    return membership_.answered(server, nodes, nodes, known_);
  }
  Verdict answers(const std::string& server, NodeIds masters, const NodeIds& replicas) {
    NodeIds nodes = masters;
    nodes.insert(replicas.begin(), replicas.end());
    return membership_.answered(server, std::move(nodes), std::move(masters), known_);
  }
  Verdict is_silent(const std::string& server) { return membership_.silent(server, known_); }
  void knows(const std::string& master) { known_.push_back(master); }
  Membership& operator*() noexcept { return membership_; }
  Membership* operator->() noexcept { return &membership_; }

 private:
  std::vector<std::string> known_;
  Membership membership_;
};

TEST(RedisMembership, OneServerInTheUrlIsBelieved) {
  Asked one({"s1"});
  EXPECT_FALSE(one->is_agreed());
  EXPECT_EQ(one.answers("s1", ours), Verdict::agreed);
  EXPECT_EQ(one->chosen(), "s1");
  EXPECT_EQ(one->members(), ours);
}

TEST(RedisMembership, OfSeveralTheMajorityIsBelievedAndTheOtherIsNamed) {
  Asked three(seeds);
  EXPECT_EQ(three.answers("s2", theirs), Verdict::undecided);
  EXPECT_EQ(three.answers("s1", ours), Verdict::undecided);
  EXPECT_EQ(three.answers("s3", ours_later), Verdict::agreed);
  EXPECT_TRUE(three->members().contains("a3"));
  EXPECT_EQ(three->others().count("s2"), 1U);
}

// One that is enough, where the others are silent; but not before that is known.
TEST(RedisMembership, WhoIsSilentIsWaitedForAndNotNeeded) {
  Asked three(seeds);
  EXPECT_EQ(three.answers("s1", ours), Verdict::undecided);
  EXPECT_EQ(three.is_silent("s2"), Verdict::undecided);
  EXPECT_EQ(three.is_silent("s3"), Verdict::agreed);
  Asked again(seeds);
  EXPECT_EQ(again.is_silent("s1"), Verdict::undecided);
  EXPECT_EQ(again.answers("s2", NodeIds()), Verdict::undecided) << "it knows nothing yet";
  EXPECT_EQ(again.is_silent("s3"), Verdict::none);
  again->begin_round();
  EXPECT_EQ(again.answers("s3", ours), Verdict::undecided);
  EXPECT_EQ(again.answers("s2", ours), Verdict::agreed);
}

TEST(RedisMembership, TwoClustersWithoutAMajorityAreNotChosenFrom) {
  Asked two({"s1", "s2"});
  EXPECT_EQ(two.answers("s1", ours), Verdict::undecided);
  EXPECT_EQ(two.answers("s2", theirs), Verdict::split);
  EXPECT_FALSE(two->is_agreed());
  EXPECT_EQ(two->others().size(), 2U);
  two->begin_round();
  EXPECT_EQ(two.answers("s1", ours), Verdict::undecided);
  EXPECT_EQ(two.answers("s2", ours), Verdict::agreed) << "mended";
}

// Promise: S1
TEST(RedisMembership, AForeignAnswerIsNeverBelievedWhileOneOfOursMayBeThere) {
  Asked one({"s1"});
  ASSERT_EQ(one.answers("s1", ours), Verdict::agreed);
  one.knows("m1");
  one.knows("m2");
  EXPECT_EQ(one.answers("s1", theirs), Verdict::foreign);
  EXPECT_EQ(one.is_silent("m1"), Verdict::undecided);
  EXPECT_TRUE(one->is_agreed()) << "m2 was not asked";
  EXPECT_EQ(one.answers("m2", ours_later), Verdict::ours);
  EXPECT_EQ(one.is_silent("m2"), Verdict::undecided);
  EXPECT_TRUE(one->is_agreed()) << "m1 was silent before m2 answered";
  EXPECT_EQ(one.answers("s1", ours_later), Verdict::ours);
  EXPECT_TRUE(one->others().empty());
}

// All are silent: that is an outage, after which the cluster is there again.
TEST(RedisMembership, SilenceEndsNoAgreement) {
  Asked three(seeds);
  ASSERT_EQ(three.answers("s1", ours), Verdict::undecided);
  ASSERT_EQ(three.answers("s2", ours), Verdict::agreed);
  for (int i = 0; i < 10; ++i) {
    for (const std::string& seed : seeds) static_cast<void>(three.is_silent(seed));
  }
  EXPECT_EQ(three.answers("s3", theirs), Verdict::foreign) << "one of three is no majority";
  EXPECT_TRUE(three->is_agreed());
}

// Replaced node by node.
TEST(RedisMembership, MembersMayAllBecomeOthersInTime) {
  Asked one({"s1"});
  ASSERT_EQ(one.answers("s1", ours), Verdict::agreed);
  EXPECT_EQ(one.answers("s1", ours_later), Verdict::ours);
  EXPECT_EQ(one.answers("s1", NodeIds{"a3", "a4", "a5"}), Verdict::ours);
  EXPECT_EQ(one.answers("s1", NodeIds{"a4", "a5"}), Verdict::ours);
}

TEST(RedisMembership, ReplicasMayAllBeReplacedAtOnceAndTakeOver) {
  Asked one({"s1"});
  ASSERT_EQ(one.answers("s1", ours, {"r1", "r2", "r3"}), Verdict::agreed);
  EXPECT_EQ(one.answers("s1", NodeIds{"q1", "a2", "a3"}, {"q2", "q3"}), Verdict::ours);
  EXPECT_EQ(one.answers("s1", NodeIds{"q1", "q2", "q3"}, {"a1", "a2", "a3"}), Verdict::ours);
  EXPECT_EQ(one.answers("s1", NodeIds{"q1", "q2", "q3"}), Verdict::ours);
}

// An administrator who moves a node to another cluster has it keep its id.
// Promise: S1
TEST(RedisMembership, ANodeThatWasMovedDoesNotBringItsNewClusterAlong) {
  Asked three(seeds);
  ASSERT_EQ(three.answers("s1", ours, {"r1"}), Verdict::undecided);
  ASSERT_EQ(three.answers("s2", ours, {"r1"}), Verdict::agreed);
  EXPECT_EQ(three.answers("s3", {"r1", "b1", "b2"}), Verdict::foreign) << "it was a replica";
  EXPECT_EQ(three.answers("s3", {"r1"}), Verdict::foreign);
  for (const std::string& seed : {seeds[0], seeds[1]}) static_cast<void>(three.is_silent(seed));
  EXPECT_TRUE(three->is_agreed()) << "the others may come back";
  EXPECT_EQ(three.answers("s3", {"a3", "b1", "b2"}), Verdict::undecided)
      << "or it was a master, and they were replaced";
  EXPECT_FALSE(three->is_agreed());
  three->begin_round();
  EXPECT_EQ(three.answers("s3", {"a3", "b1", "b2"}), Verdict::undecided);
  EXPECT_EQ(three.answers("s1", {"a1", "a2"}), Verdict::undecided);
  EXPECT_EQ(three.answers("s2", {"a1", "a2"}), Verdict::agreed);
  EXPECT_EQ(three->others().count("s3"), 1U);
  EXPECT_EQ(three.answers("s3", {"a3", "b1", "b2"}), Verdict::foreign);
}

// Promise: L7
TEST(RedisMembership, MostMastersMayBeReplacedUnseen) {
  Asked three(seeds);
  ASSERT_EQ(three.answers("s1", ours), Verdict::undecided);
  ASSERT_EQ(three.answers("s2", ours), Verdict::agreed);
  EXPECT_EQ(three.answers("s3", {"a3", "c1", "c2"}), Verdict::foreign);
  EXPECT_EQ(three.is_silent("s1"), Verdict::undecided);
  EXPECT_TRUE(three->is_agreed());
  EXPECT_EQ(three.is_silent("s2"), Verdict::undecided);
  EXPECT_FALSE(three->is_agreed());
  three->begin_round();
  EXPECT_EQ(three.answers("s3", {"a3", "c1", "c2"}), Verdict::undecided);
  EXPECT_EQ(three.is_silent("s1"), Verdict::undecided);
  EXPECT_EQ(three.is_silent("s2"), Verdict::agreed);
}

// Promise: L7
TEST(RedisMembership, AClusterThatWasSetUpAnewIsAgreedOnOnceNothingOfTheOldOneIsLeft) {
  Asked three(seeds);
  ASSERT_EQ(three.answers("s1", ours), Verdict::undecided);
  ASSERT_EQ(three.answers("s2", ours), Verdict::agreed);
  three.knows("m1");
  EXPECT_EQ(three.answers("s1", theirs), Verdict::foreign);
  EXPECT_EQ(three.answers("s2", theirs), Verdict::foreign);
  EXPECT_EQ(three.answers("s3", theirs), Verdict::foreign);
  EXPECT_TRUE(three->is_agreed()) << "m1 may be there";
  EXPECT_EQ(three.is_silent("m1"), Verdict::undecided);
  EXPECT_FALSE(three->is_agreed());
  three->begin_round();
  EXPECT_EQ(three.answers("s1", theirs), Verdict::undecided);
  EXPECT_EQ(three.answers("s2", theirs), Verdict::agreed);
}

// Promise: L7
TEST(RedisMembership, AServerThatWasResetIsNotOneOfTheOldClusterThatIsLeft) {
  Asked three(seeds);
  ASSERT_EQ(three.answers("s1", ours), Verdict::undecided);
  ASSERT_EQ(three.answers("s2", ours), Verdict::agreed);
  EXPECT_EQ(three.answers("s1", theirs), Verdict::foreign);
  EXPECT_EQ(three.answers("s2", theirs), Verdict::foreign);
  EXPECT_TRUE(three->is_agreed());
  EXPECT_EQ(three.answers("s3", NodeIds()), Verdict::undecided) << "it was left out";
  EXPECT_FALSE(three->is_agreed());
}

}  // namespace
}  // namespace mortise::redis
