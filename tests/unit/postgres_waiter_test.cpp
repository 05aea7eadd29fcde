// SPDX-License-Identifier: MIT
// Goal: an attempt that waits, and hears of a free name, asks once at a time and misses nothing.
// Method: the requests of one attempt alone.
#include "postgres/waiter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace mortise::postgres {
namespace {

using InVain = Waiter::InVain;

std::shared_ptr<Acquisition> operation_of(const char* name, bool wait) {
  return std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = AttemptId{1, 2, 3}, .name = name, .wait = wait});
}

TEST(PostgresWaiter, AsksAtOnceIfNoRequestIsUnderWay) {
  Waiter waiter;
  EXPECT_TRUE(waiter.tell());
  EXPECT_FALSE(waiter.is_told_meanwhile()) << "it has asked already";
}

// A hundred releases elsewhere, while its connection stands still, are worth one more request.
TEST(PostgresWaiter, AsksOnceMoreWhenTheRequestUnderWayIsAnswered) {
  Waiter waiter;
  waiter.ask();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(waiter.tell());
  EXPECT_FALSE(waiter.is_told_meanwhile()) << "it is not answered yet";
  waiter.arrive();
  EXPECT_TRUE(waiter.is_told_meanwhile());
  EXPECT_FALSE(waiter.is_told_meanwhile());
}

TEST(PostgresWaiter, CountsTheRequestsThatAreUnderWay) {
  Waiter waiter;
  waiter.arrive();
  EXPECT_FALSE(waiter.is_asked());
  waiter.ask();
  waiter.ask();
  waiter.arrive();
  EXPECT_TRUE(waiter.is_asked());
  waiter.arrive();
  EXPECT_FALSE(waiter.is_asked());
}

// The looks without success before say nothing about a name that is free now.
TEST(PostgresWaiter, LooksSoonAgainAfterANotification) {
  Waiter waiter;
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(waiter.look_in_vain(InVain::held), i);
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(waiter.look_in_vain(InVain::locked), i);
  EXPECT_TRUE(waiter.tell());
  EXPECT_EQ(waiter.look_in_vain(InVain::locked), 1U);
  EXPECT_EQ(waiter.look_in_vain(InVain::held), 1U);
}

// The first of a queue behind a pooler looks each quarter of a second. When its turn had come it
// met the row locked, by another client's look, and came as late again. Promise: L2
TEST(PostgresWaiter, LooksSoonAgainIfTheRowIsLocked) {
  Waiter waiter;
  for (unsigned i = 1; i <= 7; ++i) EXPECT_EQ(waiter.look_in_vain(InVain::held), i);
  EXPECT_EQ(waiter.look_in_vain(InVain::locked), 1U);
  EXPECT_EQ(waiter.look_in_vain(InVain::locked), 2U);
  EXPECT_EQ(waiter.look_in_vain(InVain::held), 8U) << "nor does it look more often now";
  EXPECT_EQ(waiter.look_in_vain(InVain::locked), 1U);
  EXPECT_EQ(waiter.look_in_vain(InVain::told_later), 0U);
  EXPECT_EQ(waiter.look_in_vain(InVain::held), 1U);
}

// The release that it hears of is its own client's: clients that are farther from the server ask
// before it.
TEST(PostgresWaiter, ThatGivesWayHearsOfNoReleaseUntilItHasAsked) {
  Waiter waiter;
  waiter.give_way();
  EXPECT_FALSE(waiter.tell());
  EXPECT_FALSE(waiter.is_told_meanwhile()) << "it will ask by itself";
  EXPECT_TRUE(waiter.gives_way());
  waiter.ask();
  EXPECT_FALSE(waiter.gives_way());
  EXPECT_FALSE(waiter.tell()) << "its request is under way";
  waiter.arrive();
  EXPECT_TRUE(waiter.is_told_meanwhile());
}

TEST(PostgresWaiter, ThatGaveWayUntilItsEndAsksOnce) {
  Waiter waiter;
  EXPECT_FALSE(waiter.ask_last()) << "it does not give way";
  waiter.give_way();
  EXPECT_FALSE(waiter.asks_last());
  EXPECT_TRUE(waiter.ask_last());
  EXPECT_TRUE(waiter.asks_last());
  EXPECT_FALSE(waiter.ask_last());
}

TEST(PostgresWaiter, IsFoundByItsNameAsLongAsItWaits) {
  Waiter::Names names;
  const auto one = operation_of("a", true);
  std::optional<Waiter> first(std::in_place);
  first->wait(names, one);
  first->wait(names, one);
  Waiter second;
  second.wait(names, operation_of("a", false));
  EXPECT_EQ(names.size(), 1U) << "each once, and a try does not wait";
  EXPECT_EQ(names.find("a")->second.lock(), one);
  first.reset();
  EXPECT_TRUE(names.empty());
}

}  // namespace
}  // namespace mortise::postgres
