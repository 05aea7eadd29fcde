// SPDX-License-Identifier: MIT
#include "redis_workers.hpp"

#include <mortise/mortise.hpp>

#include "process.hpp"
#include "raw_redis.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto moment = 1ms;
constexpr auto length = 2s;
constexpr auto patience = 10s;
constexpr int most_workers = 16;
constexpr std::int64_t warm = 10;  // grants of each worker before anything is counted

struct Board {
  std::array<std::atomic<std::int64_t>, most_workers> grants{};
  std::atomic<bool> stop{false};
};

void work_on(const std::string& url, const std::string& name, std::atomic<std::int64_t>& grants,
             const std::atomic<bool>& stop) {
  Client client(url);
  Lock lock = client.make_lock(name);
  while (!stop.load()) {
    lock.lock();
    grants.fetch_add(1);
    std::this_thread::sleep_for(moment);
    lock.unlock();
    std::this_thread::sleep_for(moment);
  }
}

void wait_until_warm(const Board& board, std::size_t workers) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::any_of(board.grants.begin(), board.grants.begin() + workers,
                     [](const auto& grants) { return grants.load() < warm; })) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("a worker does not get the lock");
    }
    std::this_thread::sleep_for(moment);
  }
}

std::vector<std::int64_t> counts(const Board& board, std::size_t workers) {
  return {board.grants.begin(), board.grants.begin() + workers};
}

}  // namespace

Work work(const RedisServer& server, int workers, const std::string& name) {
  const Shared<Board> board;
  const auto many = static_cast<std::size_t>(workers);
  std::vector<std::unique_ptr<Process>> processes;
  for (std::size_t i = 0; i < many; ++i) {
    processes.push_back(std::make_unique<Process>(
        [&, i] { work_on(server.url(), name, board->grants.at(i), board->stop); }));
  }
  wait_until_warm(*board, many);
  RawRedis redis(server.port());
  const std::vector<std::int64_t> before = counts(*board, many);
  const std::uint64_t calls_before = redis.script_calls();
  std::this_thread::sleep_for(length);
  std::vector<std::int64_t> shares = counts(*board, many);
  const std::uint64_t calls = redis.script_calls() - calls_before;
  board->stop.store(true);
  for (const auto& process : processes) process->wait();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < many; ++i) sum += shares[i] -= before[i];
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return {.commands_per_grant = static_cast<double>(calls) / static_cast<double>(sum),
          .least_by_most = static_cast<double>(*least) / static_cast<double>(*most)};
}

}  // namespace mortise::bench
