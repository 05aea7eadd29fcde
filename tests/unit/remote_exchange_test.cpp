// SPDX-License-Identifier: MIT
// Goal: a call that only the client repeats is sent again when it is due, and close() waits for
// what it gives back. Method: the class alone; the time is an argument.
#include "remote/exchange.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Errand {
  char name = 'a';
};
using Errands = Exchange<Errand>::Calls;

std::string names_of(const Errands& letters) {
  std::string names;
  for (const Errand& letter : letters) names += letter.name;
  return names;
}

class RemoteExchange : public ::testing::Test {
 protected:
  static constexpr Instant noon{1h};
  Exchange<Errand> exchange_;
};

TEST_F(RemoteExchange, GivesWhatIsSentAgainAtItsMoment) {
  EXPECT_EQ(exchange_.due(), never);
  exchange_.repeat_at({'b'}, noon + 2s);
  exchange_.repeat_at({'a'}, noon + 1s);
  EXPECT_EQ(exchange_.due(), noon + 1s);
  EXPECT_EQ(names_of(exchange_.take_due(noon)), "");
  EXPECT_EQ(names_of(exchange_.take_due(noon + 1s)), "a");
  EXPECT_EQ(exchange_.due(), noon + 2s);
  exchange_.repeat_at({'c'}, noon + 3s);
  EXPECT_EQ(names_of(exchange_.take_due(noon + 3s)), "bc");
  EXPECT_EQ(exchange_.due(), never);
}

TEST_F(RemoteExchange, HoldsUpWhatWaitsForSomethingElseUntilItIsClosed) {
  for (const char name : {'a', 'b', 'c'}) EXPECT_TRUE(exchange_.hold_up({name}));
  EXPECT_EQ(names_of(exchange_.take_held_up([](const Errand& each) { return each.name != 'b'; })),
            "ac");
  EXPECT_EQ(names_of(exchange_.close()), "b");
  EXPECT_FALSE(exchange_.hold_up({'d'})) << "nobody would complete it";
}

TEST_F(RemoteExchange, AwaitsWhatItGivesBack) {
  const auto release = std::make_shared<Release>(HoldId{});
  EXPECT_FALSE(exchange_.is_any_awaited());
  exchange_.await(release);
  EXPECT_TRUE(exchange_.is_any_awaited());
  for (int i = 0; i < 1'000; ++i) exchange_.await(std::make_shared<Release>(HoldId{}));
  EXPECT_TRUE(exchange_.is_any_awaited());
  release->answered(Released::released);
  EXPECT_FALSE(exchange_.is_any_awaited()) << "the others have ended";
}

}  // namespace
}  // namespace mortise::remote
