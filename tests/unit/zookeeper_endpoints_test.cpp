// SPDX-License-Identifier: MIT
// Goal: the servers that a session can ask are those that its hosts lead to, each session begins
// with any of them, and the last ones stay if no host leads anywhere. Method: numeric hosts, which
// need no lookup, and a host that no name server knows.
#include "zookeeper/endpoints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace mortise::zookeeper {
namespace {

using ::testing::HasSubstr;
using Addresses = std::vector<base::Address>;

base::Address server_at(const std::string& text) {
  return base::Address::parse(text, "zookeeper", 2181);
}

TEST(ZooKeeperEndpoints, NumbersNeedNoLookup) {
  const Addresses hosts{server_at("10.0.0.1:2181"), server_at("10.0.0.2:2182")};
  Endpoints endpoints(hosts);
  endpoints.look_up();
  ASSERT_TRUE(endpoints.take_answers(false));
  EXPECT_FALSE(endpoints.failure());
  EXPECT_EQ(endpoints.count(), 2U);
  EXPECT_EQ(endpoints.descriptor(), -1);
  EXPECT_EQ(endpoints.names(),
            (Hosts{{"10.0.0.1:2181", {"10.0.0.1"}}, {"10.0.0.2:2182", {"10.0.0.2"}}}));
  std::set<std::string> lists;
  for (int i = 0; i < 100; ++i) lists.insert(endpoints.list());
  EXPECT_EQ(lists,
            (std::set<std::string>{"10.0.0.1:2181,10.0.0.2:2182", "10.0.0.2:2182,10.0.0.1:2181"}));
}

TEST(ZooKeeperEndpoints, AreDeniedWhenEachServerHasRefused) {
  const Addresses hosts{server_at("10.0.0.1:2181"), server_at("10.0.0.2:2181")};
  Endpoints endpoints(hosts);
  endpoints.look_up();
  ASSERT_TRUE(endpoints.take_answers(false));
  EXPECT_FALSE(endpoints.deny("10.0.0.1:2181"));
  EXPECT_FALSE(endpoints.deny("10.0.0.1:2181")) << "the same server again";
  EXPECT_TRUE(endpoints.deny("10.0.0.2:2181"));
  endpoints.look_up();
  ASSERT_TRUE(endpoints.take_answers(false));
  EXPECT_FALSE(endpoints.deny("10.0.0.2:2181")) << "the names may mean other servers by now";
}

TEST(ZooKeeperEndpoints, StayIfNoHostLeadsAnywhere) {
  Addresses hosts{server_at("10.0.0.1:2181")};
  Endpoints endpoints(hosts);
  endpoints.look_up();
  ASSERT_TRUE(endpoints.take_answers(false));
  hosts = {server_at("nowhere.invalid:2181")};
  endpoints.look_up();
  ASSERT_TRUE(endpoints.take_answers(true)) << "an answer or none, it is late";
  EXPECT_TRUE(endpoints.failure());
  EXPECT_THAT(endpoints.failure().text, HasSubstr("nowhere.invalid"));
  EXPECT_EQ(endpoints.list(), "10.0.0.1:2181");
}

}  // namespace
}  // namespace mortise::zookeeper
