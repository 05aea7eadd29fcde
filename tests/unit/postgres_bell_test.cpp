// SPDX-License-Identifier: MIT
// Goal: one request at a time tells of freed names, and none of them is forgotten. Method: the bell
// alone.
#include "postgres/bell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mortise::postgres {
namespace {

using ::testing::ElementsAre;

Freed lock(std::string name) { return {.mode = Mode::exclusive, .name = std::move(name)}; }
Freed key(std::string name) { return {.mode = Mode::once, .name = std::move(name)}; }

std::vector<Freed> names_of(const std::shared_ptr<Bell::Wake>& wake) {
  return wake ? std::vector<Freed>(wake->names().begin(), wake->names().end())
              : std::vector<Freed>();
}
void answer(std::shared_ptr<Bell::Wake> wake) { wake->told(); }

TEST(PostgresBell, TellsAtOnceIfNothingIsUnderWay) {
  Bell bell;
  bell.freed(lock("a"));
  auto wake = bell.next();
  EXPECT_THAT(names_of(wake), ElementsAre(lock("a")));
  answer(std::move(wake));
  EXPECT_EQ(bell.next(), nullptr);
  bell.freed(lock("b"));
  EXPECT_THAT(names_of(bell.next()), ElementsAre(lock("b")));
}

TEST(PostgresBell, TellsTogetherOfNamesThatWereFreedInTheMeantime) {
  Bell bell;
  bell.freed(lock("a"));
  auto wake = bell.next();
  for (const char* const name : {"b", "a", "b"}) bell.freed(lock(name));
  bell.freed(key("a"));
  EXPECT_EQ(bell.next(), nullptr) << "one is under way";
  EXPECT_TRUE(bell.keeps_some());
  answer(std::move(wake));
  EXPECT_THAT(names_of(bell.next()), ElementsAre(lock("a"), lock("b"), key("a")));
}

// Its connection was lost, it was not sent, or there was no memory for it.
TEST(PostgresBell, TellsAgainOfWhatWasNotAnswered) {
  Bell bell;
  bell.freed(lock("a"));
  auto wake = bell.next();
  bell.freed(lock("b"));
  wake.reset();
  wake = bell.next();
  EXPECT_THAT(names_of(wake), ElementsAre(lock("a"), lock("b")));
  auto next = wake;
  answer(std::move(wake));
  bell.freed(lock("c"));
  EXPECT_THAT(names_of(bell.next()), ElementsAre(lock("c"))) << "an old copy changes nothing";
}

TEST(PostgresBell, HasABoundForOneRequest) {
  Bell bell;
  for (int i = 0; i < 300; ++i) bell.freed(lock(std::to_string(i)));
  auto wake = bell.next();
  const std::size_t first = wake->names().size();
  EXPECT_LT(first, 300U);
  answer(std::move(wake));
  EXPECT_EQ(first + bell.next()->names().size(), 300U);
}

}  // namespace
}  // namespace mortise::postgres
