// SPDX-License-Identifier: MIT
#include "redis_shapes.hpp"

#include <mortise/mortise.hpp>

#include "figure.hpp"
#include "process.hpp"
#include "redis_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mortise::bench {
namespace {

using namespace std::chrono_literals;

constexpr int many = 4000;
constexpr std::size_t processes = 8;
constexpr std::size_t pairs_of_each = 125;

struct Board {
  std::array<std::array<double, pairs_of_each>, processes> took{};
  std::atomic<std::size_t> ready{0};
};

void transfer(const std::string& url, std::size_t number, Board& board) {
  Client client(url);
  client.check(10s);
  Lock from = client.make_lock(number % 2 == 0 ? "bench/alice" : "bench/bob");
  Lock to = client.make_lock(number % 2 == 0 ? "bench/bob" : "bench/alice");
  ++board.ready;
  while (board.ready.load() < processes) std::this_thread::sleep_for(1ms);
  for (double& took : board.took.at(number)) {
    took = timed(1, [&] {
      if (!lock_all({from, to}, {.wait = 10s})) throw std::runtime_error("no transfer in 10 s");
    });
  }
}

}  // namespace

double redis_lock_all_8(Mode mode) {
  const RedisServer server(mode);
  Client client(server.url());
  std::vector<Lock> locks;
  for (int i = 0; i < 8; ++i) locks.push_back(client.make_lock("bench/shape" + std::to_string(i)));
  const std::vector<std::reference_wrapper<Lock>> all(locks.begin(), locks.end());
  return p50(many, [&] { return timed(1, [&] { static_cast<void>(lock_all(all)); }); }) / 1000;
}

double redis_opposed_pairs(Mode mode) {
  const RedisServer server(mode);
  const Shared<Board> board;
  std::vector<std::unique_ptr<Process>> workers;
  for (std::size_t i = 0; i < processes; ++i) {
    workers.push_back(std::make_unique<Process>([&, i] { transfer(server.url(), i, *board); }));
  }
  for (const auto& worker : workers) worker->wait();
  std::vector<double> all;
  for (const auto& took : board->took) all.insert(all.end(), took.begin(), took.end());
  std::sort(all.begin(), all.end());
  return all[all.size() * 99 / 100] / 1000;
}

}  // namespace mortise::bench
