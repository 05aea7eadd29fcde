// SPDX-License-Identifier: MIT
#include "redis_readers.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"
#include "process.hpp"
#include "redis_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr const char* name_read = "bench/read";
constexpr auto held_for = 5ms;
constexpr std::size_t most_processes = 8;
constexpr std::size_t readers_beside_a_writer = 32;
constexpr int writes = 200;

struct Board {
  std::array<std::atomic<std::size_t>, most_processes> holds{};
  std::atomic<std::size_t> ready{0};
  std::atomic<bool> ends{false};
};

void read_on(const std::string& url, std::size_t number, std::size_t all, Board& board) {
  Client client(url);
  client.check(10s);
  Lock lock = client.make_lock(name_read, {.mode = mortise::Mode::shared});
  ++board.ready;
  while (board.ready.load() < all) std::this_thread::sleep_for(1ms);
  while (!board.ends.load()) {
    lock.lock();
    std::this_thread::sleep_for(held_for);
    lock.unlock();
    ++board.holds.at(number);
  }
}

double holds_a_second(Mode mode, std::size_t processes) {
  const RedisServer server(mode);
  const Shared<Board> board;
  std::vector<std::unique_ptr<Process>> workers;
  for (std::size_t i = 0; i < processes; ++i) {
    workers.push_back(
        std::make_unique<Process>([&, i] { read_on(server.url(), i, processes, *board); }));
  }
  while (board->ready.load() < processes) std::this_thread::sleep_for(1ms);
  const auto sum = [&] {
    std::size_t all = 0;
    for (const auto& each : board->holds) all += each.load();
    return all;
  };
  std::this_thread::sleep_for(200ms);
  const std::size_t before = sum();
  const std::int64_t began = now_ns();
  std::this_thread::sleep_for(2s);
  const double rate =
      static_cast<double>(sum() - before) * 1e9 / static_cast<double>(now_ns() - began);
  board->ends = true;
  for (const auto& worker : workers) worker->wait();
  return rate;
}

}  // namespace

double redis_readers_of_eight(Mode mode) { return holds_a_second(mode, most_processes); }

double redis_readers_of_one(Mode mode) { return holds_a_second(mode, 1); }

double redis_writer_among_readers(Mode mode) {
  const RedisServer server(mode);
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < readers_beside_a_writer; ++i) {
    readers.emplace_back([&](const std::stop_token& stop) {
      Client client(server.url());
      Lock lock = client.make_lock(name_read, {.mode = mortise::Mode::shared});
      while (!stop.stop_requested()) {
        lock.lock();
        std::this_thread::sleep_for(held_for);
        lock.unlock();
      }
    });
  }
  Client client(server.url());
  Lock lock = client.make_lock(name_read);
  std::vector<double> waits;
  for (int i = 0; i < writes; ++i) {
    std::this_thread::sleep_for(2ms);
    waits.push_back(timed(1, [&] { lock.lock(); }));
    lock.unlock();
  }
  std::sort(waits.begin(), waits.end());
  return waits[waits.size() * 99 / 100] / 1e6;
}

}  // namespace mortise::bench
