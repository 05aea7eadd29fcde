// SPDX-License-Identifier: MIT
// Goal: a server that stands still delays no timed call, even of hundreds of threads. Method: three
// processes with 200 threads each, and SIGSTOP of the server.
#include "fault/own_server.hpp"
#include "fault/timed_crowd.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"
#include "support/own_time.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>

namespace mortise::fault {
namespace {

constexpr std::size_t crowds = 3;
constexpr std::size_t threads_of_each = 200;
constexpr auto stands_still = 20s;
constexpr std::chrono::milliseconds latest_return{100};

/// The report of one process.
struct Crowd {
  std::atomic<bool> is_served{false};
  std::atomic<std::int64_t> calls{0};
  std::atomic<std::int64_t> latest{-1};  // ns
  std::atomic<std::int64_t> latest_by_clock{-1};
};
enum class Phase { before, still, over };
struct AllCrowds {
  std::array<Crowd, crowds> each{};
  std::atomic<Phase> phase{Phase::before};
};

class StandstillLong : public Standstill {};

// Promise: L3
MORTISE_TEST(StandstillLong, DelaysNoTimedCallOfSixHundredThreads) {
  constexpr auto lease = 30s;
  constexpr auto long_enough = 3min;
  const contract::Shared<AllCrowds> all;
  const auto wait_for_service = [&](TimedCrowd& crowd, Crowd& reports) {
    crowd.expect_service();
    reports.is_served = eventually([&] { return crowd.is_served(); }, long_enough);
  };
  const auto wait_for = [&](Phase phase) {
    static_cast<void>(eventually([&] { return all->phase == phase; }, long_enough));
  };
  std::array<std::optional<model::Process>, crowds> processes;
  for (std::size_t i = 0; i < crowds; ++i) {
    processes[i] = model::Process::fork_child([&] {
      test::count_servers_of_parent();
      Crowd& reports = all->each[i];
      Client mine = client(lease);
      TimedCrowd crowd(mine, threads_of_each, server().hold(lease), i * threads_of_each);
      wait_for_service(crowd, reports);
      wait_for(Phase::still);
      reports.is_served = false;
      wait_for(Phase::over);
      wait_for_service(crowd, reports);
      crowd.end();
      reports.calls = static_cast<std::int64_t>(crowd.calls());
      reports.latest_by_clock = crowd.latest_by_clock().count();
      reports.latest = crowd.latest().count();
      return 0;
    });
  }
  const auto are_served = [&] {
    return std::all_of(all->each.begin(), all->each.end(),
                       [](const Crowd& each) { return each.is_served.load(); });
  };
  ASSERT_TRUE(eventually(are_served, long_enough));
  server().stop();
  all->phase = Phase::still;
  const auto any_is_over = [&] {
    return std::any_of(all->each.begin(), all->each.end(),
                       [](const Crowd& each) { return each.latest.load() >= 0; });
  };
  EXPECT_FALSE(happens_within(any_is_over, stands_still));
  server().resume();
  all->phase = Phase::over;
  for (std::size_t i = 0; i < crowds; ++i) {
    const auto exit = processes[i]->wait_for(long_enough);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 0);
    const Crowd& one = all->each[i];
    EXPECT_TRUE(one.is_served.load()) << "a thread did not get its lock again";
    EXPECT_LE(std::chrono::nanoseconds(one.latest.load()), latest_return);
    std::cout << one.calls << " calls, at most " << one.latest / 1'000 << " us late, "
              << one.latest_by_clock / 1'000 << " us by the clock\n";
  }
}

}  // namespace
}  // namespace mortise::fault
