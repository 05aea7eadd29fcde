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
  Attempts attempts(false);
  Later later(
      [&](const Flights& call) {
        if (call.front().operation == first) throw std::bad_alloc();
        made.push_back(call.front().operation.get());
      },
      [&] {
        tidied = true;
        throw std::bad_alloc();
      },
      attempts, [](const auto&) {});
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
  Attempts attempts(false);
  Later later([&](const Flights&) { ++made; }, [] {}, attempts, [](const auto&) {});
  EXPECT_TRUE(later.add(call_of(operation), Instant(2s)));
  EXPECT_FALSE(later.add(call_of(operation), Instant(3s)));
  EXPECT_TRUE(later.add(call_of(operation), Instant(1s)));
  later.ready(0, Instant(1s));
  EXPECT_EQ(made, 1);
  later.ready(0, Instant(4s));
  EXPECT_EQ(made, 1);
}

// Promise: S5
TEST(PostgresLater, LooksAtWhatALostRequestMayHaveTaken) {
  const auto taker = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = AttemptId{1, 2, 3}, .name = "a", .lease = 10s});
  Attempts attempts(false);
  std::vector<const Operation*> looked;
  Later later([](const Flights&) {}, [] {}, attempts,
              [&](const auto& operation) { looked.push_back(operation.get()); });
  attempts.request_lost(taker, {.after = 5s, .clock = 7, .noted = Instant(1s)}, Instant(2s));
  EXPECT_EQ(later.due(), Instant(2s));
  later.ready(0, Instant(2s));
  EXPECT_THAT(looked, ElementsAre(taker.get()));
  EXPECT_EQ(later.due(), never);
}

}  // namespace
}  // namespace mortise::postgres
