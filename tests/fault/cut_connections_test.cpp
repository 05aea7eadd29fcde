// SPDX-License-Identifier: MIT
// Goal: connections that the server ends cost time and never a lock (S1, S2, L7). Method: cut at
// random, one or all, under threads of two clients that take one name in turn.
#include "base/random_id.hpp"
#include "fault/own_server.hpp"
#include "model/seed.hpp"

#include <array>
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

/// The threads, and what each of them has seen that must not be.
class Takers {
 public:
  Takers(std::array<Client, 2>& clients, const LockOptions& hold, int cycles) : left_(cycles) {
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      threads_.emplace_back([this, lock = clients.at(i % 2).make_lock("a", hold), i]() mutable {
        while (left_.fetch_sub(1) > 0) cycle(lock, faults_.at(i));
        running_.fetch_sub(1);
      });
    }
  }
  Takers(const Takers&) = delete;
  Takers& operator=(const Takers&) = delete;
  ~Takers() { join(); }

  [[nodiscard]] int left() const noexcept { return left_.load(); }
  [[nodiscard]] bool run() const noexcept { return running_.load() > 0; }
  void join() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  /// After `join()`.
  void expect_no_fault() const {
    for (const auto& of_thread : faults_) EXPECT_THAT(of_thread, IsEmpty());
  }

 private:
  void cycle(Lock& lock, std::vector<std::string>& faults) {
    std::error_code error;
    const Guard guard(lock, {.wait = 10s}, error);
    if (!guard) {
      left_.fetch_add(1);
      if (!is_retryable(error)) faults.push_back(guard.error_text());
      return;
    }
    if (inside_.fetch_add(1) != 0) faults.emplace_back("two hold the lock");
    if (last_.exchange(guard.token().value()) >= guard.token().value()) {
      faults.emplace_back("a token did not grow");
    }
    if (guard.lost().stop_requested()) faults.emplace_back("a hold was lost");
    inside_.fetch_sub(1);
  }

  std::atomic<int> left_;
  std::array<std::vector<std::string>, 4> faults_;
  std::atomic<int> running_{static_cast<int>(faults_.size())};
  // Guarded by the lock; atomic, so that an overlap is a failure and not undefined.
  std::atomic<int> inside_{0};
  std::atomic<std::uint64_t> last_{0};
  std::vector<std::thread> threads_;
};

/// @param cycles in all, about every thirtieth of which connections are cut
void cost_no_lock(OwnServer& server, int cycles) {
  // Each turn is short, so that the server hears of most cycles.
  const ClientOptions options{.turn_handoffs = 2};
  std::array<Client, 2> clients{server.client(6s, options), server.client(6s, options)};
  base::SplitMix random(model::test_seed());
  Takers takers(clients, server.hold(6s), cycles);
  int cuts = 0;
  for (int seen = cycles; takers.run();) {
    if (!eventually([&] { return takers.left() < seen - 30 || !takers.run(); })) break;
    seen = takers.left();
    cuts += server.cut(random.next());
  }
  takers.join();
  takers.expect_no_fault();
  EXPECT_GT(cuts, cycles / 200);
  // What was in doubt has been given back behind the callers, or was never there.
  for (Client& one : clients) {
    Lock lock = one.make_lock("a");
    EXPECT_TRUE(taken_within(lock, 4s));
    EXPECT_EQ(lock.release(), Released::released);
  }
}

// Promise: L7
MORTISE_TEST(CutConnections, AtRandomCostNoLock, Ability::cuts) {
  cost_no_lock(server(), 1'200);
  expect_nobody_waits("a");
}
MORTISE_TEST(CutConnectionsLong, AtRandomCostNoLock, Ability::cuts) {
  cost_no_lock(server(), 20'000);
  expect_nobody_waits("a");
}

}  // namespace
}  // namespace mortise::fault
