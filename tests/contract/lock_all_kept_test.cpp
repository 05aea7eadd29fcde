// SPDX-License-Identifier: MIT
// Goal: several names keep what each promises alone: `min_hold` for what was worked with, and not
// for what was given back untouched; a hold of guards outlives its thread, as that of a guard does.
// Method: hold some of the names, and look from outside at the others.
#include "support/contract_several.hpp"

#include <thread>

namespace mortise::contract {
namespace {

MORTISE_TEST(LockAllKept, WhatIsBackedOutOfIsFreeAtOnce, Quality::min_hold) {
  Client one = client();
  Client other = client();
  Lock held = other.make_lock("b");
  held.lock();
  std::vector<Lock> locks = locks_of(one, {"a", "b"}, {.min_hold = 10min});
  EXPECT_FALSE(lock_all(all_of(locks), {.wait = 0ns}));
  EXPECT_TRUE(is_free_for(other, "a"));
  held.unlock();
  {
    const Several all = lock_all(all_of(locks));
    ASSERT_TRUE(all);
  }
  EXPECT_FALSE(is_free_for(other, "a"));
  EXPECT_FALSE(is_free_for(other, "b"));
}

MORTISE_TEST(LockAllKept, OutlivesTheThreadThatTookIt) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Client other = client();
  const LockOptions options{.lease = renewed_lease()};
  std::vector<Lock> locks = locks_of(one, {"a", "b"}, options);
  Several all;
  std::thread([&] { all = lock_all(all_of(locks)); }).join();
  ASSERT_TRUE(all);
  Lock next = other.make_lock("b");
  // Both for longer than a lease, where they have one.
  EXPECT_TRUE(!leases() || record->told(Record::Kind::renewed, 8));
  EXPECT_FALSE(next.try_lock());
  EXPECT_GT(all.valid_for(), 0ns);
  EXPECT_EQ(all.unlock(), Released::released);
  EXPECT_TRUE(next.try_lock_for(patience));
  next.unlock();
}

}  // namespace
}  // namespace mortise::contract
