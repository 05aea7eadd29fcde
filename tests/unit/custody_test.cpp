// SPDX-License-Identifier: MIT
// Goal: somebody answers for an attempt at every moment, and one only. Method: all pairs of who has
// it and what happens, beside the table as the map tells it; and all orders of the three events.
#include "core/custody.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace mortise::core {
namespace {

constexpr std::array all_fates{Fate::completed, Fate::abandoned, Fate::given_back,
                               Fate::not_given_back, Fate::tried_again};

struct Pair {
  Custody now;
  Fate fate;
  Custody next;
  Duty duty;
};

constexpr std::array<Pair, 30> all_pairs{{
    {Custody::caller, Fate::completed, Custody::answered, Duty::none},
    {Custody::caller, Fate::abandoned, Custody::client, Duty::none},
    {Custody::caller, Fate::given_back, Custody::caller, Duty::none},
    {Custody::caller, Fate::not_given_back, Custody::caller, Duty::none},
    {Custody::caller, Fate::tried_again, Custody::caller, Duty::none},
    {Custody::answered, Fate::completed, Custody::answered, Duty::none},
    {Custody::answered, Fate::abandoned, Custody::answered, Duty::take_answer},
    {Custody::answered, Fate::given_back, Custody::answered, Duty::none},
    {Custody::answered, Fate::not_given_back, Custody::answered, Duty::none},
    {Custody::answered, Fate::tried_again, Custody::answered, Duty::none},
    {Custody::client, Fate::completed, Custody::giver, Duty::give_back},
    {Custody::client, Fate::abandoned, Custody::client, Duty::none},
    {Custody::client, Fate::given_back, Custody::client, Duty::none},
    {Custody::client, Fate::not_given_back, Custody::client, Duty::none},
    {Custody::client, Fate::tried_again, Custody::client, Duty::none},
    {Custody::giver, Fate::completed, Custody::giver, Duty::none},
    {Custody::giver, Fate::abandoned, Custody::giver, Duty::none},
    {Custody::giver, Fate::given_back, Custody::nobody, Duty::none},
    {Custody::giver, Fate::not_given_back, Custody::debtor, Duty::none},
    {Custody::giver, Fate::tried_again, Custody::giver, Duty::none},
    {Custody::debtor, Fate::completed, Custody::debtor, Duty::none},
    {Custody::debtor, Fate::abandoned, Custody::debtor, Duty::none},
    {Custody::debtor, Fate::given_back, Custody::debtor, Duty::none},
    {Custody::debtor, Fate::not_given_back, Custody::debtor, Duty::none},
    {Custody::debtor, Fate::tried_again, Custody::giver, Duty::give_back},
    {Custody::nobody, Fate::completed, Custody::nobody, Duty::none},
    {Custody::nobody, Fate::abandoned, Custody::nobody, Duty::none},
    {Custody::nobody, Fate::given_back, Custody::nobody, Duty::none},
    {Custody::nobody, Fate::not_given_back, Custody::nobody, Duty::none},
    {Custody::nobody, Fate::tried_again, Custody::nobody, Duty::none},
}};

TEST(CustodyTest, EachPairIsAsTheTableSays) {
  for (const Pair& pair : all_pairs) {
    const CustodyStep step = after(pair.now, pair.fate);
    EXPECT_EQ(step.next, pair.next) << static_cast<int>(pair.now) << static_cast<int>(pair.fate);
    EXPECT_EQ(step.duty, pair.duty) << static_cast<int>(pair.now) << static_cast<int>(pair.fate);
  }
}

TEST(CustodyTest, AGrantFallsToExactlyOneWhicheverComesFirst) {
  std::array order{Fate::completed, Fate::abandoned, Fate::completed, Fate::abandoned};
  std::sort(order.begin(), order.end());
  do {
    Custody custody = Custody::caller;
    int takers = 0;  // of the grant that the first completion brings
    for (const Fate fate : order) {
      const CustodyStep step = after(custody, fate);
      if (step.duty == Duty::give_back) ++takers;
      custody = step.next;
    }
    // Else the caller has it: it was told by the answer, and told again when it would leave.
    takers += custody == Custody::answered ? 1 : 0;
    EXPECT_EQ(takers, 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(CustodyTest, NothingComesBackFromWhatIsOver) {
  for (const Fate fate : all_fates) EXPECT_EQ(after(Custody::nobody, fate).next, Custody::nobody);
}

}  // namespace
}  // namespace mortise::core
