// SPDX-License-Identifier: MIT
// Goal: a server that stands still costs time and nothing else: calls keep theirs, nothing is
// forgotten, and closing is bounded (L3, L4, L7). Method: SIGSTOP, while locks are held and wanted.
#include "fault/own_server.hpp"

#include <optional>

namespace mortise::fault {
namespace {

// Promise: L3
MORTISE_TEST(Standstill, CostsTimeAndNothingElse) {
  constexpr auto lease = 20s;
  Client mine = client(lease);
  Client other = client();
  Lock held = mine.lock("held", server().hold(lease));
  held.lock();
  Lock lock = mine.lock("a", server().hold(6s));
  server().stop();
  std::error_code error;
  EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock(error)); }), 1s + allowance + slack);
  EXPECT_TRUE(is_retryable(error)) << error.message();
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(own_duration_of([&] { EXPECT_FALSE(lock.try_lock_for(100ms, error)); }),
              100ms + allowance + slack);
    EXPECT_TRUE(is_retryable(error)) << error.message();
  }
  Released outcome{};
  EXPECT_LT(own_duration_of([&] { outcome = held.release(); }), 1s + slack);
  EXPECT_EQ(outcome, Released::unknown);
  server().resume();
  EXPECT_TRUE(lock.try_lock_for(4s));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(comes_free(other, "held", 4s)) << "the release was forgotten";
  EXPECT_TRUE(comes_free(other, "a", 1s));
  for (const char* const name : {"a", "held"}) expect_nobody_waits(name);
}

// Promise: L4
MORTISE_TEST(Standstill, ClosingIsBounded) {
  const std::chrono::milliseconds lease = std::max(ground().short_lease, 2'000ms);
  std::optional<Client> mine = client(lease);
  Lock lock = mine->lock("a", server().hold(lease));
  lock.lock();
  server().stop();
  EXPECT_LT(own_duration_of([&] { mine.reset(); }), 2s + slack);
  server().resume();
  // It is told so in good order, or the lease ends.
  Client other = client();
  EXPECT_TRUE(comes_free(other, "a", lease + 2s));
}

}  // namespace
}  // namespace mortise::fault
