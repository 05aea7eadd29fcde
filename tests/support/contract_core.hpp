// SPDX-License-Identifier: MIT
// The core alone: a client on a backend that the test plays by hand, and on a clock in its hand.
#pragma once

#include <mortise/mortise.hpp>

#include "support/contract_script.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <utility>

namespace mortise::contract {

using namespace std::chrono_literals;

class CoreAnswers : public ::testing::Test {
 protected:
  Client open(ClientOptions options = {}) {
    options.clock = clock_;
    return Client(std::make_unique<ScriptedBackend>(script_), std::move(options));
  }
  [[nodiscard]] Grant grant(std::uint64_t number, std::chrono::nanoseconds lease = 30s) const {
    return {.number = number, .counted_from = clock_->now(), .lease = lease};
  }
  /// Every request is granted, every release believed.
  void be_kind() {
    script_->on_acquire = [this](const auto& operation) { operation->granted(grant(++number_)); };
    script_->on_release = [](const auto& operation) { operation->answered(Released::released); };
    script_->on_cancel = [](const auto& operation) { operation->busy(std::nullopt); };
  }
  void answer_renewal(Renewal::Answer answer, Instant counted_from,
                      std::chrono::nanoseconds lease = 30s) {
    const auto renewal = script_->renewal();
    for (Renewal::Item& item : renewal->items()) {
      item.answer = answer;
      item.counted_from = counted_from;
      item.granted = lease;
    }
    renewal->answered();
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  std::atomic<std::uint64_t> number_{1000};
};

}  // namespace mortise::contract
