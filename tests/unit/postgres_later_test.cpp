// SPDX-License-Identifier: MIT
// Goal: of calls that are made again at a moment none is forgotten, whatever becomes of another
// one. Method: the timer alone.
#include "postgres/later.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <vector>

namespace mortise::postgres {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Flights call_of(const std::shared_ptr<Operation>& operation) {
  Flights one;
  one.emplace_back(Call{.operation = operation});
  return one;
}

TEST(PostgresLater, WhereThereIsNoMemoryForOneTheOthersAreMade) {
  const auto first = std::make_shared<Inspection>("first");
  const auto second = std::make_shared<Inspection>("second");
  std::vector<const Operation*> made;
  bool tidied = false;
  Later later(
      [&](const Flights& call) {
        if (call.front().operation == first) throw std::bad_alloc();
        made.push_back(call.front().operation.get());
      },
      [&] {
        tidied = true;
        throw std::bad_alloc();
      });
  EXPECT_TRUE(later.add(call_of(first), Instant(1s)));
  EXPECT_FALSE(later.add(call_of(second), Instant(2s)));
  EXPECT_TRUE(later.tidy_at(Instant(2s)));
  EXPECT_THROW(later.ready(0, Instant(3s)), std::bad_alloc);
  EXPECT_TRUE(tidied);
  EXPECT_THAT(made, ElementsAre(second.get()));
  EXPECT_EQ(later.due(), never);
}

TEST(PostgresLater, MakesAnOperationsCallOnceAndAtTheEarlierMoment) {
  const auto operation = std::make_shared<Inspection>("name");
  int made = 0;
  Later later([&](const Flights&) { ++made; }, [] {});
  EXPECT_TRUE(later.add(call_of(operation), Instant(2s)));
  EXPECT_FALSE(later.add(call_of(operation), Instant(3s)));
  EXPECT_TRUE(later.add(call_of(operation), Instant(1s)));
  later.ready(0, Instant(1s));
  EXPECT_EQ(made, 1);
  later.ready(0, Instant(4s));
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace mortise::postgres
