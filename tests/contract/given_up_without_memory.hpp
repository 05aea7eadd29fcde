// SPDX-License-Identifier: MIT
// A scene of the program in short_of_memory_main.cpp: an attempt is granted when its caller has
// given it up, and there is no memory to give that back.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/mortise.hpp>

#include "support/failing_allocations.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace mortise::test {

/// Grants when it is told to, and loses what is said to it at first.
class LateBackend final : public Backend {
 public:
  struct Seen {
    std::shared_ptr<Acquisition> asked{};
    std::atomic<int> releases{0};
  };
  explicit LateBackend(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  [[nodiscard]] StoreDescription describe() const override {
    return {.name = "late", .capabilities = {.leases = Support::yes}};
  }
  void start(Host& /*host*/) override {}
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    operation->sent(BootClock::now());
    seen_->asked = operation;
  }
  void cancel(const std::shared_ptr<Acquisition>& /*operation*/) override {}
  void renew(const std::shared_ptr<Renewal>& /*operation*/) override {}
  void release(const std::shared_ptr<Release>& operation) override {
    if (++seen_->releases > 1) operation->answered(Released::released);
  }

 private:
  const std::shared_ptr<Seen> seen_;
};

struct GivenUp {
  bool reached = false;     ///< so many allocations there were
  bool given_back = false;  ///< what was granted
};

[[nodiscard]] inline GivenUp grant_what_was_given_up(const char* name, long fails_at) {
  using namespace std::chrono_literals;
  const auto seen = std::make_shared<LateBackend::Seen>();
  Client client(std::make_unique<LateBackend>(seen));
  std::error_code ec;
  static_cast<void>(client.make_lock(name, {.lease = 30s}).try_lock_for(1ms, ec));
  until_failure = fails_at;
  seen->asked->granted({.number = 1, .counted_from = BootClock::now(), .lease = 30s});
  GivenUp outcome{.reached = until_failure == 0};
  until_failure = 0;
  // Far sooner than by its lease. The second one where the first was not noted to be repeated.
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (seen->releases < 2 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(1ms);
  }
  outcome.given_back = seen->releases >= 2;
  return outcome;
}

}  // namespace mortise::test
