// SPDX-License-Identifier: MIT
// Goal: timed calls return in time, whatever keeps them from an answer (L3). Method: contention,
// and stores that are cut off, lose messages or delay them; the best of several calls is looked at,
// since the machine may be busy.
#include "support/contract_suites.hpp"

namespace mortise::contract {
namespace {

/// One call of at most 100 ms. @return how long it took; a failed test where it gave up early.
std::chrono::nanoseconds timed_try(Lock& lock) {
  constexpr auto wait = 100ms;
  const auto took = own_duration_of([&] {
    std::error_code ec;
    if (lock.try_lock_for(wait, ec)) lock.unlock(ec);
  });
  EXPECT_LT(took, 5s);
  return took - wait;
}

// Promise: L3
MORTISE_TEST(Outage, TimedCallsKeepTheirTimeInContention) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  held.lock();
  Lock wanted = other.make_lock("name");
  EXPECT_LE(best_of(10, allowance, [&] { return timed_try(wanted); }), allowance);
  Worker behind_a_thread;
  Lock same_client = one.make_lock("name");
  EXPECT_LE(best_of(10, allowance,
                    [&] { return behind_a_thread.run([&] { return timed_try(same_client); }); }),
            allowance);
  held.unlock();
}

// Promise: L3
MORTISE_TEST(Outage, TimedCallsKeepTheirTimeWhileUnreachable, Hook::unreachable) {
  Client one = client();
  Lock wanted = one.make_lock("name");
  store().set_reachable(false);
  EXPECT_LE(best_of(10, allowance, [&] { return timed_try(wanted); }), allowance);
  Client fresh = client();  // one that was never connected
  Lock first = fresh.make_lock("name");
  EXPECT_LE(best_of(10, allowance, [&] { return timed_try(first); }), allowance);
  store().set_reachable(true);
}

// Promise: L3
MORTISE_TEST(Outage, TimedCallsKeepTheirTimeWhileMessagesAreLost, Hook::lost_messages) {
  Client one = client();
  Lock wanted = one.make_lock("name");
  for (const Misbehaviour& how : {Misbehaviour{.lose_request = 1}, Misbehaviour{.lose_reply = 1},
                                  Misbehaviour{.lose_request = 0.5, .lose_reply = 0.5}}) {
    store().misbehave(how);
    EXPECT_LE(best_of(10, allowance, [&] { return timed_try(wanted); }), allowance);
  }
  store().misbehave({});
}

// Promise: L3
MORTISE_TEST(Outage, TimedCallsKeepTheirTimeWhileMessagesAreSlow, Hook::delays) {
  Client one = client();
  Lock wanted = one.make_lock("name");
  store().misbehave({.delay_min = 1s, .delay_max = 2s});
  EXPECT_LE(best_of(10, allowance, [&] { return timed_try(wanted); }), allowance);
  store().misbehave({});
}

}  // namespace
}  // namespace mortise::contract
