// SPDX-License-Identifier: MIT
// Goal: the first so many nodes of a semaphore are its permits, whoever made them, and who has come
// with another number is found out. Method: known answers.
#include "zookeeper/lease_place.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mortise::zookeeper {
namespace {

std::string ours(int number, int permits = 2) {
  return "0123456789abcdef-" + std::to_string(permits) + "-lease-000000000" +
         std::to_string(number);
}
std::string curators(int number) {
  return "_c_8d0a43c8-1f1c-4e1a-a1a7-7ae5c8a1f1f3-lease-000000000" + std::to_string(number);
}

TEST(ZooKeeperLeasePlaceTest, TellsHowManyAreBeforeIt) {
  const std::string first = ours(3);
  const std::string second = curators(5);
  const std::string third = ours(7);
  const Children children{third, first, second};
  EXPECT_EQ(LeasePlace::of(children, first, 2).ahead, 0U);
  EXPECT_EQ(LeasePlace::of(children, second, 2).ahead, 1U);
  const LeasePlace last = LeasePlace::of(children, third, 2);
  EXPECT_TRUE(last.there);
  EXPECT_EQ(last.ahead, 2U);
  EXPECT_EQ(last.count, 3U);
  EXPECT_EQ(last.first, first);
  EXPECT_EQ(last.number, 7);
  EXPECT_FALSE(last.other_number);
  EXPECT_FALSE(LeasePlace::of(children, ours(9), 2).there);
  EXPECT_EQ(LeasePlace::of({}, {}, 2).count, 0U);
}

TEST(ZooKeeperLeasePlaceTest, TellsAnotherNumberToWhoCameLater) {
  const std::string first = ours(3, 2);
  const std::string second = ours(5, 30);
  const Children children{first, second, "_c_x-20-lease-0000000001"};
  EXPECT_FALSE(LeasePlace::of(children, first, 2).other_number);
  EXPECT_EQ(LeasePlace::of(children, second, 30).other_number, 2U);
  EXPECT_EQ(LeasePlace::of({first}, {}, 30).other_number, 2U) << "whoever looks comes later";
}

TEST(ZooKeeperLeasePlaceTest, ATieIsNobodysPermit) {
  const std::string one = "0123456789abcdef-1-lease-2147483647";
  const std::string other = "123456789abcdef0-1-lease-2147483647";
  EXPECT_EQ(LeasePlace::of({one, other}, one, 1).ahead, 1U);
  EXPECT_EQ(LeasePlace::of({one, other}, other, 1).ahead, 1U);
}

TEST(ZooKeeperLeasePlaceTest, TellsWhoHasOne) {
  const std::string first = ours(3);
  const std::string second = curators(5);
  const std::string third = ours(7, 9);  // somebody else's number, who came later
  EXPECT_EQ(permits_held({third, "config", second, first}), (Children{first, second}));
  EXPECT_EQ(permits_held({second}), Children{second}) << "how many there are nobody says";
  EXPECT_EQ(permits_held({first}), Children{first});
  EXPECT_TRUE(permits_held({}).empty());
}

TEST(ZooKeeperLeasePlaceTest, HasAPlaceOfItsOwnBelowTheLocks) {
  const GatePlace place = GatePlace::of("/locks", "a/b");
  EXPECT_EQ(place.leases, "/locks/%permits/a%2Fb/leases");
  EXPECT_EQ(place.locks, "/locks/%permits/a%2Fb/locks");
  EXPECT_TRUE(lease_prefix({.client_high = 1}, 0, 20).ends_with("-20-lease-"));
  EXPECT_NE(lease_prefix({.client_high = 1}, 0, 20), lease_prefix({.client_high = 1}, 1, 20));
}

}  // namespace
}  // namespace mortise::zookeeper
