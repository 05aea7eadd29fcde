// SPDX-License-Identifier: MIT
// Goal: the run of key histories is not blind itself. Method: the same clients, workload and faults
// as in the good runs, on deliberately broken variants of the library: those that people build who
// store the result beside the lock. Each must be caught, in one of a few short runs.
#include "model/keys_history.hpp"
#include "model/memory_store.hpp"
#include "model/relay.hpp"
#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds key_slice{400};
constexpr int most_key_slices = 30;

// O1: now and then the lock is freed, and the outcome is not there.
class ForgetsOutcomes final : public Relay {
 public:
  using Relay::Relay;

  void release(const std::shared_ptr<Release>& operation) override {
    if (!operation->conclusion() || ++releases_ % 10 != 0) return Relay::release(operation);
    Relay::release(std::make_shared<WithoutOutcome>(operation));
  }

 private:
  class WithoutOutcome final : public Release {
   public:
    explicit WithoutOutcome(std::shared_ptr<Release> asked)
        : Release(asked->hold()), asked_(std::move(asked)) {}

   private:
    void finished() noexcept override {
      if (failure()) {
        asked_->failed(failure());
      } else {
        asked_->answered(outcome());
      }
    }
    const std::shared_ptr<Release> asked_;
  };

  std::atomic<std::uint64_t> releases_{0};
};

// A table of outcomes beside the lock.
class Table {
 public:
  void write(const std::string& key, std::shared_ptr<const Record> record) {
    const std::lock_guard lock(mutex_);
    records_.emplace(key, std::move(record));
  }
  [[nodiscard]] std::shared_ptr<const Record> read(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Record>> records_;
};

// O2: the outcome is written first, whoever has the lock by then, and the lock freed afterwards.
// Nobody hears of a loss in time.
class WritesTheOutcomeFirst final : public Relay {
 public:
  WritesTheOutcomeFirst(std::unique_ptr<Backend> behind, std::shared_ptr<Table> table)
      : Relay(std::move(behind)), table_(std::move(table)) {}

  void start(Host& host) override { Relay::start(deaf_.emplace(host)); }
  void acquire(const std::shared_ptr<Acquisition>& operation) override {
    const Acquisition::Request& request = operation->request();
    const std::shared_ptr<const Record> record = table_->read(request.name);
    if (record && request.memory && request.memory->repeat != Repeat::always) {
      return operation->recorded(record);
    }
    Relay::acquire(operation);
  }
  void release(const std::shared_ptr<Release>& operation) override {
    const auto& conclusion = operation->conclusion();
    if (conclusion && conclusion->state == KeyState::succeeded) {
      table_->write(operation->hold().name, std::make_shared<Record>(Record{
                                                .state = conclusion->state,
                                                .bytes = conclusion->bytes,
                                                .run = conclusion->run,
                                                .number = operation->hold().number,
                                                .fingerprint = conclusion->memory->fingerprint}));
    }
    Relay::release(operation);
  }

 private:
  const std::shared_ptr<Table> table_;
  std::optional<DeafHost> deaf_;
};

Workload short_key_leases() {
  Workload workload;
  workload.processes = 4;
  workload.hold = 30ms;
  workload.lock.lease = contract::memory_server().short_lease;
  workload.passes_on = false;
  workload.tells_of_losses = false;
  return workload;
}

using MakeWrap = std::function<decltype(Workload::wrap)()>;

// `wrap` is made anew for each slice.
bool key_fault_caught(const MakeWrap& wrap, const Adversity& adversity, KeyFault fault) {
  Dice dice(test_seed());
  Workload workload = short_key_leases();
  for (int number = 1; number <= most_key_slices; ++number) {
    StoryTime time;
    workload.wrap = wrap();
    const KeyChronicle chronicle = play_keys({.under_test = contract::memory_server()}, workload,
                                             adversity, time, dice.number(), key_slice);
    if (chronicle.keys.has(fault)) {
      std::cout << to_string(fault) << " caught in slice " << number << ", of "
                << chronicle.keys.runs << " runs\n";
      return true;
    }
  }
  return false;
}

TEST(BrokenKeyHistories, AnOutcomeThatIsNotWrittenIsCaught) {
  const MakeWrap wrap = [] {
    return [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
      return std::make_unique<ForgetsOutcomes>(std::move(behind));
    };
  };
  EXPECT_TRUE(
      key_fault_caught(wrap, {.crashes = false, .messages = false}, KeyFault::second_outcome));
}

TEST(BrokenKeyHistories, AnOutcomeThatIsWrittenByALoserIsCaught) {
  const MakeWrap wrap = [] {
    return [table = std::make_shared<Table>()](
               std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
      return std::make_unique<WritesTheOutcomeFirst>(std::move(behind), table);
    };
  };
  EXPECT_TRUE(key_fault_caught(wrap, {.crashes = false, .messages = false, .robbed = true},
                               KeyFault::recorded_by_loser));
}

}  // namespace
}  // namespace mortise::model
