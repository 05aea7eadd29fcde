// SPDX-License-Identifier: MIT
// Goal: holds that are due soon are renewed along with the one that is due, in one request, and one
// that is told of early waits for none of the others. Method: a thousand of them, whose renewals a
// client spreads over a second, on a backend that counts; a hundred, on one that answers for half.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include "base/piecemeal_renewal.hpp"
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
    locks.push_back(client.make_lock("name/" + std::to_string(i), {.lease = 3s}));
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

// Two servers in one: of names that begin with "silent" it never tells anything.
class HalfSilentRelay final : public model::Relay {
 public:
  using Relay::Relay;
  void renew(const std::shared_ptr<Renewal>& operation) override {
    bool all = true;
    std::vector<Renewal::Item>& items = operation->items();
    for (std::size_t i = 0; i < items.size(); ++i) {
      Renewal::Item& item = items[i];
      if (item.hold.name.starts_with("silent")) {
        all = false;
        continue;
      }
      item.answer = Renewal::Answer::renewed;
      item.counted_from = now();
      item.granted = item.lease;
      base::tell_early(*operation, i);
    }
    if (all) return operation->answered();
    pending_.push_back(operation);
  }

 private:
  std::vector<std::shared_ptr<Renewal>> pending_;  // by the background thread alone
};

TEST(Renewals, AreToldOfEachHoldWhateverBecomesOfTheOthersOfTheirRequest) {
  memory::Server server;
  Client client(std::make_unique<HalfSilentRelay>(server.backend()));
  std::vector<Lock> locks;
  for (int i = 0; i < 100; ++i) {
    const std::string name = (i % 2 == 0 ? "silent" : "told") + std::to_string(i);
    locks.push_back(client.make_lock(name, {.lease = 500ms}));
    locks.back().lock();
  }
  const auto lost = [&](int which) {
    return locks[static_cast<std::size_t>(which)].lost().stop_requested();
  };
  for (int i = 0; i < 100; i += 2) {
    while (!lost(i)) std::this_thread::sleep_for(1ms);
  }
  for (int i = 1; i < 100; i += 2) EXPECT_FALSE(lost(i)) << i;
  for (Lock& lock : locks) static_cast<void>(lock.release());
}

}  // namespace
}  // namespace mortise
