// SPDX-License-Identifier: MIT
// Goal: a client of a store of mortise::remote that has no memory loses an answer, and no more,
// even while its connection breaks: no request is forgotten, and no hold is left behind (L4).
// Method: a program of its own, whose allocations fail one after the other.
#include "server.hpp"
#include "support/shortage_program.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace mortise::fault {
namespace {

class OwnServerShortage : public ::testing::Test {
 protected:
  /// @param step one of so many allocations fails
  void play(const std::string& step) const {
    test::expect_no_harm_by_shortage("own_server_shortage", {std::to_string(server_.port()), step},
                                     std::chrono::seconds(300));
  }

 private:
  own::LockServer server_;
};
using OwnServerShortageLong = OwnServerShortage;

// Promise: L4
TEST_F(OwnServerShortage, WhicheverOfTheseAllocationsFailsNothingIsForgotten) { play("4"); }

// Promise: L4
TEST_F(OwnServerShortageLong, WhicheverAllocationFailsNothingIsForgotten) { play("1"); }

}  // namespace
}  // namespace mortise::fault
