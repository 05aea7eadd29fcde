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

TEST(PostgresLater, WhereThereIsNoMemoryForOneTheOthersAreMade) {
  const auto first = std::make_shared<Inspection>("first");
  const auto second = std::make_shared<Inspection>("second");
  std::vector<const Operation*> made;
  bool tidied = false;
  Later later(
      [&](const Call& call) {
        if (call.operation == first) throw std::bad_alloc();
        made.push_back(call.operation.get());
      },
      [&] {
        tidied = true;
        throw std::bad_alloc();
      });
  EXPECT_TRUE(later.add({.operation = first}, Instant(1s)));
  EXPECT_FALSE(later.add({.operation = second}, Instant(2s)));
  EXPECT_TRUE(later.tidy_at(Instant(2s)));
  EXPECT_THROW(later.ready(0, Instant(3s)), std::bad_alloc);
  EXPECT_TRUE(tidied);
  EXPECT_THAT(made, ElementsAre(second.get()));
  EXPECT_EQ(later.due(), never);
}

TEST(PostgresLater, MakesAnOperationsCallOnceAndAtTheEarlierMoment) {
  const auto operation = std::make_shared<Inspection>("name");
  int made = 0;
  Later later([&](const Call&) { ++made; }, [] {});
  EXPECT_TRUE(later.add({.operation = operation}, Instant(2s)));
  EXPECT_FALSE(later.add({.operation = operation}, Instant(3s)));
  EXPECT_TRUE(later.add({.operation = operation}, Instant(1s)));
  later.ready(0, Instant(1s));
  EXPECT_EQ(made, 1);
  later.ready(0, Instant(4s));
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace mortise::postgres
