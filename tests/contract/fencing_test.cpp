// SPDX-License-Identifier: MIT
// Goal: tokens grow at every change of owner, and only then (S2). Method: look at the tokens of
// holds whose order is certain.
#include "support/contract_suites.hpp"

#include <limits>
#include <vector>

namespace mortise::contract {
namespace {

/// One hold, by whoever calls. @return its token
Token token_of_one_hold(Lock& lock) {
  const std::lock_guard hold(lock);
  return lock.token();
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowFromHoldToHold) {
  Client one = client();
  Lock lock = one.make_lock("name");
  Token last;
  for (int i = 0; i < 50; ++i) {
    const Token token = token_of_one_hold(lock);
    EXPECT_GT(token, last) << "hold " << i;
    last = token;
  }
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowFromClientToClient) {
  Client one = client();
  Client other = client();
  Lock first = one.make_lock("name");
  Lock second = other.make_lock("name");
  Token last;
  for (int i = 0; i < 20; ++i) {
    const Token token = token_of_one_hold(i % 2 == 0 ? first : second);
    EXPECT_GT(token, last) << "hold " << i;
    last = token;
  }
}

MORTISE_TEST(Fencing, TokensGrowOverTheLifeOfClients) {
  // Nothing that an idle store may forget holds the number.
  Token last;
  for (int i = 0; i < 5; ++i) {
    Client one = client();
    Lock lock = one.make_lock("name");
    const Token token = token_of_one_hold(lock);
    EXPECT_GT(token, last) << "client " << i;
    last = token;
  }
}

MORTISE_TEST(Fencing, TokensGrowWhenAWaiterIsServed) {
  Client one = client();
  Client other = client();
  Lock held = one.make_lock("name");
  Lock wanted = other.make_lock("name");
  Worker waiter;
  Token last;
  for (int i = 0; i < 10; ++i) {
    held.lock();
    EXPECT_GT(held.token(), last);
    const Token before = held.token();
    auto served = waiter.start([&] { return token_of_one_hold(wanted); });
    ASSERT_TRUE(waiter.falls_asleep());
    held.unlock();
    last = served.get();
    EXPECT_GT(last, before);
  }
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowAtAHandOverInsideTheProcess) {
  Client one = client({.turn = 10s});
  Lock lock = one.make_lock("name");
  Worker waiter;
  lock.lock();
  const Token before = lock.token();
  auto served = waiter.start([&] { return token_of_one_hold(lock); });
  ASSERT_TRUE(waiter.falls_asleep());
  lock.unlock();
  EXPECT_GT(served.get(), before);
  EXPECT_GT(token_of_one_hold(lock), before);
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowBeyondThoseOfATurn) {
  // A turn's last token is the grant's number and a thousand hand-overs: the next grant beats it.
  Client one = client({.turn = 10s});
  Client other = client();
  Lock lock = one.make_lock("name");
  Worker first;
  Worker second;
  std::atomic<std::uint64_t> highest{0};
  const auto hold_often = [&] {
    for (int i = 0; i < 400; ++i) {
      const std::lock_guard hold(lock);
      const std::uint64_t token = lock.token().value();
      EXPECT_LT(highest.exchange(token), token);
    }
  };
  auto one_half = first.start(hold_often);
  auto other_half = second.start(hold_often);
  one_half.get();
  other_half.get();
  Lock stranger = other.make_lock("name");
  EXPECT_GT(token_of_one_hold(stranger).value(), highest.load());
}

// Promise: S2
MORTISE_TEST(Fencing, TheTokenStaysOnReentry) {
  Client one = client();
  Lock lock = one.make_lock("name");
  Lock same = one.make_lock("name");
  lock.lock();
  const Token token = lock.token();
  same.lock();
  EXPECT_EQ(lock.token(), token);
  EXPECT_EQ(same.token(), token);
  ASSERT_TRUE(lock.try_lock());
  EXPECT_EQ(lock.token(), token);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lock.token(), token);
    lock.unlock();
  }
  EXPECT_EQ(lock.token(), Token());
}

// Promise: S2
MORTISE_TEST(Fencing, TheTokenStaysOnRenewal, Quality::leases) {
  take_any_clock();
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Lock lock = one.make_lock("name", {.lease = real_time() ? renewed_lease() : 30'000ms});
  lock.lock();
  const Token token = lock.token();
  for (std::size_t renewals = 1; renewals <= 3; ++renewals) {
    if (!real_time()) clock().advance(10s);
    ASSERT_TRUE(record->told(Record::Kind::renewed, renewals));
    EXPECT_EQ(lock.token(), token);
  }
  lock.unlock();
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowOverARestartOfTheServer, Hook::restart) {
  // With a clock that stands still the server cannot fall back on the time.
  take_any_clock();
  Client one = client();
  Lock lock = one.make_lock("name");
  const Token before = token_of_one_hold(lock);
  store().restart();
  Client other = client();
  Lock after = other.make_lock("name");
  ASSERT_TRUE(after.try_lock_for(patience));
  EXPECT_GT(after.token(), before);
  after.unlock();
}

// Promise: S2
MORTISE_TEST(Fencing, TokensGrowOverAHoldThatWasTakenAway, Hook::take_away) {
  Client one = client();
  Client other = client();
  Lock taken = one.make_lock("name");
  taken.lock();
  const Token before = taken.token();
  store().take_away("name");
  Lock next = other.make_lock("name");
  ASSERT_TRUE(next.try_lock_for(patience));
  EXPECT_GT(next.token(), before);
  next.unlock();
  static_cast<void>(taken.release());
}

// Promise: S2
MORTISE_TEST(Fencing, TokensFitASignedColumnAndAreNeverZero) {
  Client one = client();
  for (int i = 0; i < 20; ++i) {
    Lock lock = one.make_lock("name " + std::to_string(i));
    const Token token = token_of_one_hold(lock);
    EXPECT_NE(token.value(), 0U);
    EXPECT_TRUE(token);
    EXPECT_LE(token.value(), static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  }
}

MORTISE_TEST(Fencing, OnlyTheOwnerSeesAToken) {
  Client one = client();
  Client other = client();
  Lock lock = one.make_lock("name");
  Lock elsewhere = other.make_lock("name");
  EXPECT_FALSE(lock.token());
  lock.lock();
  EXPECT_TRUE(lock.token());
  EXPECT_FALSE(elsewhere.token());
  Worker thread;
  EXPECT_FALSE(thread.run([&] { return lock.token(); }));
  lock.unlock();
  EXPECT_FALSE(lock.token());
}

}  // namespace
}  // namespace mortise::contract
