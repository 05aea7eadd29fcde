// SPDX-License-Identifier: MIT
// Goal: processes that die or stand still cost the others no more than their leases (L1). Method:
// kill -9 and SIGSTOP of client processes.
#include "fault/redis_fixture.hpp"
#include "model/process.hpp"
#include "support/contract_process.hpp"

#include <unistd.h>

#include <atomic>
#include <thread>

namespace mortise::fault {
namespace {

constexpr std::chrono::minutes until_killed{5};
constexpr std::chrono::milliseconds provisional_lease{2'000};

class RedisDeaths : public RedisTest {};

/// What the processes of one name have in common.
struct DeathsBoard {
  std::atomic<int> ready{0};
  std::atomic<int> turns{0};
  std::atomic<std::uint64_t> token{0};  // of whoever held last: only a holder touches it
};

model::Process start_worker_process(const std::string& url, const contract::Line& tells,
                                    const LockOptions& options = {}) {
  return model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a", options);
    lock.lock();
    tells.tell('h');
    static_cast<void>(contract::Line().hear(until_killed));
    return 0;
  });
}

// Promise: L1
TEST_F(RedisDeaths, AHolderAndHisFirstWaitersThatDieTogetherCostTheirLeases) {
  constexpr std::size_t dead = 2;
  constexpr std::chrono::milliseconds lease{1'000};
  const contract::Line line;
  std::vector<model::Process> processes;
  processes.push_back(start_worker_process(server().url(), line, {.lease = lease}));
  ASSERT_EQ(line.hear(patience), 'h');
  for (std::size_t i = 1; i <= dead; ++i) {
    processes.push_back(start_worker_process(server().url(), line));
    ASSERT_TRUE(come_to_wait("a", i));
  }
  Party living(client(), "a");
  auto served = living.start();
  ASSERT_TRUE(come_to_wait("a", dead + 1));
  for (model::Process& process : processes) process.kill();
  EXPECT_TRUE(comes(served, lease + 1s + dead * provisional_lease));
  EXPECT_EQ(line.hear(0ms), '\0') << "a dead one was served";
  EXPECT_EQ(living.release(), Released::released);
  // Those who have no reader but were heard of lately keep their places for three periods. Then the
  // next one that comes by clears them away.
  Client another = client();
  Lock lock = another.make_lock("a");
  EXPECT_TRUE(eventually(
      [&] {
        if (lock.try_lock()) lock.unlock();
        return waiting("a") == 0;
      },
      3s + slack));
  expect_free("a");
}

TEST_F(RedisDeaths, AHolderAndItsFirstWaitersThatStandStillCostTheirLeases) {
  constexpr std::chrono::milliseconds lease{1'000};
  const contract::Line line;
  std::vector<model::Process> processes;
  processes.push_back(start_worker_process(server().url(), line, {.lease = lease}));
  ASSERT_EQ(line.hear(patience), 'h');
  processes.push_back(start_worker_process(server().url(), line));
  ASSERT_TRUE(come_to_wait("a", 1));
  Party living(client(), "a");
  auto served = living.start();
  ASSERT_TRUE(come_to_wait("a", 2));
  // Their subscriptions stand: the server sees living readers.
  for (model::Process& process : processes) ASSERT_TRUE(process.stop());
  EXPECT_TRUE(comes(served, lease + 1s + provisional_lease));
  const Token token = served.get();
  EXPECT_EQ(living.release(), Released::released);
  // The waiter goes on, and is served again, not by the grant that it has slept through.
  processes.back().resume();
  EXPECT_EQ(line.hear(patience), 'h');
  EXPECT_GT(token.value(), 0U);
  EXPECT_FALSE(living.lock().try_lock());
}

// Promise: S9
TEST_F(RedisDeaths, AForkedChildKeepsNoConnection) {
  const contract::Line forked;
  const contract::Line ends;
  const std::string url = server().url();
  RedisTalk talk = server().talk();
  const std::size_t before = talk.clients().size();
  model::Process parent = model::Process::fork_child([&] {
    Client mine(url);
    Lock lock = mine.make_lock("a", {.lease = 1s});
    lock.lock();
    if (::fork() == 0) {
      forked.tell('f');
      static_cast<void>(ends.hear(10s));
      ::_exit(0);
    }
    static_cast<void>(contract::Line().hear(until_killed));
    return 0;
  });
  ASSERT_EQ(forked.hear(patience), 'f');
  EXPECT_GE(talk.clients().size(), before + 1);
  parent.kill();
  // The child lives on, and the server sees the end of its parent's connections.
  EXPECT_TRUE(eventually([&] { return talk.clients().size() == before; }, 2s));
  Client other = client();
  Lock lock = other.make_lock("a");
  EXPECT_TRUE(taken_within(lock, 1s + 1s));
  ends.tell('e');
}

TEST_F(RedisDeaths, SixtyFourProcessesOnOneNameAreAllServedWithGrowingTokens) {
  constexpr int processes = 64;
  constexpr int rounds = 5;
  const contract::Shared<DeathsBoard> board;
  const std::string url = server().url();
  std::vector<model::Process> all;
  all.reserve(processes);
  for (int i = 0; i < processes; ++i) {
    all.push_back(model::Process::fork_child([&] {
      Client mine(url);
      Lock lock = mine.make_lock("a");
      mine.check(patience);
      board->ready.fetch_add(1);
      while (board->ready.load() < processes) std::this_thread::sleep_for(1ms);
      for (int round = 0; round < rounds; ++round) {
        const Guard guard(lock);
        if (board->token.exchange(guard.token().value()) >= guard.token().value()) return 1;
        board->turns.fetch_add(1);
      }
      return 0;
    }));
  }
  for (model::Process& one : all) {
    const auto exit = one.wait_for(60s);
    ASSERT_TRUE(exit) << "a process was not served";
    EXPECT_EQ(exit->code, 0) << "a token did not grow";
    EXPECT_FALSE(exit->killed());
  }
  EXPECT_EQ(board->turns.load(), processes * rounds);
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
