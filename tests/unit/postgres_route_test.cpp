// SPDX-License-Identifier: MIT
// Goal: a client comes back to the server that was good last, before it tries the others of its
// URL. Method: URLs of numbers, of which no server has to be there.
#include "postgres/route.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace mortise::postgres {
namespace {

/// @return the hosts in the order in which they are tried: "10.0.0.1 10.0.0.2 "
std::string order_of(Route& route, const std::string& until = {}) {
  std::string order;
  route.restart();
  while (route.next() == Route::Step::server) {
    const auto& keywords = route.keywords();
    const auto found = std::find_if(keywords.begin(), keywords.end(),
                                    [](const auto& each) { return each.first == "hostaddr"; });
    order += found->second + ' ';
    if (found->second == until) break;
  }
  return order;
}

TEST(PostgresRoute, BeginsWithTheLastGoodServer) {
  const Settings settings = Settings::parse("postgresql://a@10.0.0.1,10.0.0.2,10.0.0.3/db");
  Route route(settings);
  EXPECT_EQ(order_of(route), "10.0.0.1 10.0.0.2 10.0.0.3 ");
  EXPECT_EQ(order_of(route, "10.0.0.2"), "10.0.0.1 10.0.0.2 ");
  route.remember();
  EXPECT_EQ(order_of(route), "10.0.0.2 10.0.0.3 10.0.0.1 ");
  EXPECT_EQ(order_of(route), "10.0.0.2 10.0.0.3 10.0.0.1 ") << "as long as no other one is good";
  EXPECT_EQ(order_of(route, "10.0.0.1"), "10.0.0.2 10.0.0.3 10.0.0.1 ");
  route.remember();
  EXPECT_EQ(order_of(route), "10.0.0.1 10.0.0.2 10.0.0.3 ");
}

}  // namespace
}  // namespace mortise::postgres
