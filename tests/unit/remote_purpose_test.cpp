// SPDX-License-Identifier: MIT
// Goal: what frees a name is sent until it is answered, and a caller waits for nothing that cannot
// come. Method: the whole table.
#include "remote/purpose.hpp"

#include <gtest/gtest.h>

#include <array>

namespace mortise::remote {
namespace {

struct Row {
  Purpose purpose;
  Fate lost_before_up, lost, lost_for_good;
  Fate refused, refused_for_good;
  Fate misread;
};

using enum Fate;
constexpr std::array table{
    Row{Purpose::take, drop, drop, fail, report, fail, fail},
    Row{Purpose::look, drop, drop, drop, later, fail, keep},
    Row{Purpose::undo, keep, keep, keep, later, fail, keep},
    Row{Purpose::cancel, keep, keep, keep, report, fail, keep},
    Row{Purpose::release, keep, keep, keep, report, fail, keep},
    Row{Purpose::give_back, keep, keep, keep, later, fail, keep},
    Row{Purpose::renew, unanswered, keep, unanswered, fail, fail, fail},
    Row{Purpose::question, keep, keep, fail, fail, fail, fail},
    Row{Purpose::hint, drop, drop, drop, fail, fail, fail},
    Row{Purpose::route, drop, drop, drop, fail, fail, fail},
};

TEST(RemotePurpose, DecidesWhatBecomesOfACallWithoutAnAnswer) {
  for (const Row& row : table) {
    SCOPED_TRACE(static_cast<int>(row.purpose));
    EXPECT_EQ(fate_of_lost(row.purpose, false, false), row.lost_before_up);
    EXPECT_EQ(fate_of_lost(row.purpose, false, true), row.lost);
    EXPECT_EQ(fate_of_lost(row.purpose, true, false), row.lost_for_good);
    EXPECT_EQ(fate_of_lost(row.purpose, true, true), row.lost_for_good);
    EXPECT_EQ(fate_of_refused(row.purpose, false), row.refused);
    EXPECT_EQ(fate_of_refused(row.purpose, true), row.refused_for_good);
    EXPECT_EQ(fate_of_misread(row.purpose), row.misread);
  }
}

}  // namespace
}  // namespace mortise::remote
