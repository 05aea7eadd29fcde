// SPDX-License-Identifier: MIT
// A payment gateway accepts three requests at a time from us. Two instances of the service with six
// threads each share these three permits. If an instance dies, its permits become free when their
// leases end.
// usage: gateway [url of a store that has semaphores, such as redis://127.0.0.1]
#include <mortise/mortise.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t at_a_time = 3;

/// Counts the requests that the gateway gets at a time.
struct Gateway {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  std::atomic<int> requests{0};

  void ask() {
    const int with_me = ++now;
    for (int seen = most; seen < with_me && !most.compare_exchange_weak(seen, with_me);) {
    }
    std::this_thread::sleep_for(10ms);
    ++requests;
    --now;
  }
};

// [permit]
bool pay(mortise::Client& client, Gateway& gateway) {
  mortise::Semaphore gate = client.make_semaphore("payment gateway", at_a_time);
  const mortise::Permit permit = gate.acquire({.wait = 5s});
  if (!permit) return false;  // permit.error() has the reason
  gateway.ask();
  return true;  // returns the permit, which wakes the first waiter
}
// [/permit]

}  // namespace

int main(int argc, char** argv) try {
  const std::string url = argc > 1 ? argv[1] : "memory:gateway";
  std::vector<mortise::Client> instances;
  for (int i = 0; i < 2; ++i) instances.emplace_back(url);
  Gateway gateway;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] { static_cast<void>(pay(instances[i % 2], gateway)); });
  }
  threads.clear();
  std::cout << gateway.requests << " requests, at most " << gateway.most << " at a time\n";
  return gateway.requests == 12 && gateway.most <= 3 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "gateway: " << e.what() << "\n";
  return 2;
}
