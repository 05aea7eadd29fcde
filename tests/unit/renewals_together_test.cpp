// SPDX-License-Identifier: MIT
// Goal: holds that are due soon are renewed along with the one that is due, in one request. Method:
// a thousand of them, whose renewals a client spreads over a second, on a backend that counts.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "model/relay.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace mortise {
namespace {

using namespace std::chrono_literals;

struct Counts {
  std::atomic<std::size_t> requests{0};
  std::atomic<std::size_t> holds{0};
};

class CountingRelay final : public model::Relay {
 public:
  CountingRelay(std::unique_ptr<Backend> behind, Counts& counts)
      : Relay(std::move(behind)), counts_(counts) {}
  void renew(const std::shared_ptr<Renewal>& operation) override {
    counts_.requests.fetch_add(1);
    counts_.holds.fetch_add(operation->items().size());
    Relay::renew(operation);
  }

 private:
  Counts& counts_;
};

// 10 ms of them are ten holds, a tenth of the second is a hundred.
TEST(Renewals, ThatAreDueSoonComeAlong) {
  constexpr std::size_t many = 1'000;
  Counts counts;
  memory::Server server;
  Client client(std::make_unique<CountingRelay>(server.backend(), counts));
  std::vector<Lock> locks;
  for (std::size_t i = 0; i < many; ++i) {
    locks.push_back(client.lock("name/" + std::to_string(i), {.lease = 3s}));
    locks.back().lock();
  }
  while (counts.holds.load() < many) std::this_thread::sleep_for(10ms);  // those are not spread yet
  const std::size_t before = counts.holds.load();
  const std::size_t requests_before = counts.requests.load();
  while (counts.holds.load() < before + 2 * many) std::this_thread::sleep_for(10ms);
  const std::size_t holds = counts.holds.load() - before;
  const std::size_t requests = counts.requests.load() - requests_before;
  EXPECT_LE(requests, holds / 30);
  for (Lock& lock : locks) lock.unlock();
}

}  // namespace
}  // namespace mortise
