// SPDX-License-Identifier: MIT
// Goal: thousands of locks and waiters at once are ordinary. Method: ten thousand holds of one
// client, many threads on one name, and as many lives of short clients; nothing is left of any.
#include "model/build.hpp"
#include "support/contract_suites.hpp"

#include <sys/resource.h>

#include <memory>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

/// @return the number of descriptors that this process may have, as many as it can be given.
rlim_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

MORTISE_TEST(Scale, TenThousandLocksAtOnce) {
  have_long_leases();
  // A build that is not optimised and looks at each access takes ten times as long.
  constexpr std::size_t count = model::under_sanitizer ? 2'000 : 10'000;
  // A backend may need a descriptor for each.
  if (raise_descriptor_limit() <= count + 500) {
    GTEST_SKIP() << "this process may not have so many descriptors";
  }
  Client one = client();
  Client other = client();
  std::vector<Lock> locks;
  locks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    locks.push_back(one.make_lock("name " + std::to_string(i)));
    std::error_code ec;
    ASSERT_TRUE(locks.back().try_lock_for(patience, ec)) << i << ": " << ec.message();
  }
  for (std::size_t i = 0; i < count; i += 997) {
    EXPECT_FALSE(other.make_lock(locks[i].name()).try_lock()) << i;
    EXPECT_GT(locks[i].valid_for(), 0ns);
  }
  std::size_t released = 0;
  for (Lock& lock : locks) released += lock.release() == Released::released ? 1U : 0U;
  EXPECT_EQ(released, count);
  for (std::size_t i = 0; i < count; i += 997) {
    EXPECT_TRUE(other.make_lock(locks[i].name()).try_lock()) << i;
  }
}

MORTISE_TEST(Scale, AThousandHoldsAreRenewed, Quality::leases, Hook::hand_clock) {
  take_the_clock();
  constexpr std::size_t count = 1'000;
  const auto record = std::make_shared<Record>();
  Party one = party({.observer = record});
  std::vector<Lock> locks;
  for (std::size_t i = 0; i < count; ++i) {
    locks.push_back(one.client.make_lock("name " + std::to_string(i)));
    ASSERT_TRUE(locks.back().try_lock());
  }
  for (std::size_t round = 1; round <= 3; ++round) {
    clock().advance(10s);
    ASSERT_TRUE(record->told(Record::Kind::renewed, round * count));
  }
  for (Lock& lock : locks) EXPECT_EQ(lock.release(), Released::released);
  EXPECT_LT(one.probe->counts().renewals, 3 * count / 10) << "each hold has its own request";
}

MORTISE_TEST(Scale, ManyThreadsOnOneName) {
  constexpr int threads = model::under_sanitizer ? 40 : 150;
  Client one = client();
  int sum = 0;  // ThreadSanitizer knows of a hand-over whether it synchronises
  std::atomic<int> through_the_server{0};
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        Lock lock = one.make_lock("name");
        for (int j = 0; j < 5; ++j) {
          const std::lock_guard hold(lock);
          ++sum;
          if (lock.token().value() % 1024 == 0) through_the_server.fetch_add(1);
        }
      });
    }
  }
  EXPECT_EQ(sum, threads * 5);
  EXPECT_GE(through_the_server.load(), 1);
}

// Promise: L7
MORTISE_TEST(Scale, ManyShortClientsLeaveNothingBehind) {
  Client witness = client();
  witness.check(patience);
  const std::size_t descriptors = open_descriptors();
  const std::size_t threads = running_threads();
  Token last;
  for (int i = 0; i < 50; ++i) {
    Client one = client();
    Lock lock = one.make_lock("name");
    ASSERT_TRUE(lock.try_lock_for(patience));
    EXPECT_GT(lock.token(), last);
    last = lock.token();
    if (i % 2 == 0) lock.unlock();  // the others are freed by close()
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == descriptors; }))
      << open_descriptors() << " descriptors are open, " << descriptors << " were";
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; }));
}

}  // namespace
}  // namespace mortise::contract
