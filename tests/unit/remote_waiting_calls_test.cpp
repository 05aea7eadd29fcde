// SPDX-License-Identifier: MIT
// Goal: each call that is not under way is given once to the step that it waits for, and close()
// waits for the releases of the client itself. Method: the class alone; the time is an argument.
#include "remote/purpose.hpp"
#include "remote/waiting_calls.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::remote {
namespace {

using namespace std::chrono_literals;

struct Errand {
  char name = 'a';
  std::shared_ptr<char> operation = std::make_shared<char>();
  [[nodiscard]] static Purpose purpose() { return Purpose::question; }
};
struct Way {};
using Waiting = WaitingCalls<Errand, Way>;
using Errands = Waiting::Calls;

std::string names_of(const Errands& letters) {
  std::string names;
  for (const Errand& letter : letters) names += letter.name;
  return names;
}

class RemoteWaitingCalls : public ::testing::Test {
 protected:
  static constexpr Instant noon{1h};
  Waiting waiting_;
};

TEST_F(RemoteWaitingCalls, GivesTheCallsOfEachLineInTheirOrder) {
  const Way one;
  const Way other;
  waiting_.add_line(one);
  waiting_.add_line(other);
  EXPECT_FALSE(waiting_.any(one));
  for (const char name : {'a', 'b', 'c'}) waiting_.keep(one, Errands{{name}});
  waiting_.keep(other, Errands{{'x'}});
  EXPECT_TRUE(waiting_.any(one));
  EXPECT_EQ(names_of(waiting_.take(one, 2)), "ab");
  EXPECT_TRUE(waiting_.any(one));
  EXPECT_EQ(names_of(waiting_.take(one)), "c");
  EXPECT_FALSE(waiting_.any(one));
  EXPECT_TRUE(waiting_.any(other));
  waiting_.keep(one, Errands{{'d'}});
  EXPECT_EQ(names_of(waiting_.take_all()).size(), 2U);
  EXPECT_FALSE(waiting_.any(other));
  waiting_.keep(other, Errands{{'y'}});
  EXPECT_EQ(names_of(waiting_.close()), "y");
}

TEST_F(RemoteWaitingCalls, GivesWhatIsSentAgainAtItsMoment) {
  EXPECT_EQ(waiting_.due(), never);
  waiting_.repeat_at({'b'}, noon + 2s);
  waiting_.repeat_at({'a'}, noon + 1s);
  EXPECT_EQ(waiting_.due(), noon + 1s);
  EXPECT_EQ(names_of(waiting_.take_due(noon)), "");
  EXPECT_EQ(names_of(waiting_.take_due(noon + 1s)), "a");
  EXPECT_EQ(waiting_.due(), noon + 2s);
  const Errand again{'c'};
  waiting_.repeat_at({'d', again.operation}, noon + 4s);
  waiting_.repeat_at(again, noon + 3s);
  EXPECT_EQ(names_of(waiting_.take_due(noon + 3s)), "bc");
  EXPECT_EQ(waiting_.due(), never);
  waiting_.repeat_at({'e'}, noon + 5s);
  EXPECT_EQ(names_of(waiting_.close()), "e") << "its caller gets to know that the client closes";
  waiting_.repeat_at({'f'}, noon + 5s);
  EXPECT_EQ(waiting_.due(), never);
}

TEST_F(RemoteWaitingCalls, HoldsUpWhatWaitsForSomethingElseUntilItIsClosed) {
  const Way one;
  const Way other;
  waiting_.add_line(one);
  waiting_.add_line(other);
  for (const char name : {'a', 'b'}) EXPECT_TRUE(waiting_.hold_up(one, {name}));
  EXPECT_TRUE(waiting_.hold_up(other, {'c'}));
  EXPECT_EQ(names_of(waiting_.take_held_up(one)), "ab");
  EXPECT_EQ(names_of(waiting_.take_held_up(one)), "");
  EXPECT_EQ(names_of(waiting_.close()), "c");
  EXPECT_FALSE(waiting_.hold_up(one, {'d'})) << "nobody would complete it";
}

TEST_F(RemoteWaitingCalls, AwaitsWhatItGivesBack) {
  const auto release = std::make_shared<Release>(HoldId{});
  EXPECT_FALSE(waiting_.is_any_awaited());
  waiting_.await(release);
  EXPECT_TRUE(waiting_.is_any_awaited());
  for (int i = 0; i < 1'000; ++i) waiting_.await(std::make_shared<Release>(HoldId{}));
  EXPECT_TRUE(waiting_.is_any_awaited());
  release->answered(Released::released);
  EXPECT_FALSE(waiting_.is_any_awaited()) << "the others have ended";
}

}  // namespace
}  // namespace mortise::remote
