// SPDX-License-Identifier: MIT
// Goal: the run of histories is not blind itself. Method: the same clients, workload and faults as
// in the good runs, on deliberately broken variants of the library; each must be caught. A fault of
// chance may keep away from one short run, never from all that are tried.
#include "model/broken_backends.hpp"
#include "model/lock_history.hpp"
#include "model/memory_store.hpp"
#include "model/seed.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace mortise::model {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds slice{300};
constexpr int most_slices = 40;

// A memory server that a wrapped backend can reach behind the library's back.
struct ServerInReach {
  contract::MemoryServerStore* store = nullptr;
  contract::Misbehaviour always = {};

  HistoryBackend backend() {
    contract::BackendUnderTest under_test = contract::memory_server();
    under_test.open = [this](std::shared_ptr<Clock> clock) {
      auto made = std::make_unique<contract::MemoryServerStore>(std::move(clock));
      store = made.get();
      store->misbehave(always);
      return made;
    };
    return {.under_test = std::move(under_test)};
  }
};

Workload short_leases() {
  Workload workload;
  workload.names = 1;
  workload.lock.lease = contract::memory_server().short_lease;
  workload.hold = 200ms;  // of a time that flies: a renewal or an expiry is nothing rare
  workload.passes_on = false;
  workload.tells_of_losses = false;
  return workload;
}

// Plays slices until a report shows the fault. Crashes are left out: they only take time here.
bool caught(Fault fault, const Workload& workload, ServerInReach& server, Adversity adversity) {
  Dice dice(test_seed());
  adversity.crashes = false;
  const HistoryBackend backend = server.backend();
  std::uint64_t holds = 0;
  for (int number = 1; number <= most_slices; ++number) {
    StoryTime time(std::make_shared<ManualClock>());
    Stage stage(backend.under_test, workload, time, dice.number(), slice);
    const Chronicle chronicle = play(stage, backend, adversity, slice);
    holds += chronicle.report.counts.granted;
    if (chronicle.report.has(fault)) {
      std::cout << to_string(fault) << " caught in slice " << number << " after " << holds
                << " holds\n";
      return true;
    }
  }
  return false;
}

TEST(BrokenHistories, AReleaseThatFreesWhoeverHoldsIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.processes = 4;
  workload.hold = 50ms;
  const auto messages = std::make_shared<HeldMessages>();
  workload.wrap = [&](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<FreesWhoeverHolds>(
        std::move(behind), messages,
        [&](const std::string& name) { server.store->take_away(name); });
  };
  // Releases arrive so rarely that many a lease has ended by then. They are held back for a time of
  // the clock. The others need more of that on a busy machine, so the time grows, and begins again.
  const std::jthread van([&](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds shortest = 80ms;
    for (auto held_back = shortest; !stop.stop_requested(); held_back *= 2) {
      if (held_back > 1s) held_back = shortest;
      messages->hold_back();
      std::this_thread::sleep_for(held_back);
      messages->let_go();
    }
  });
  EXPECT_TRUE(caught(Fault::overlap, workload, server, {.messages = false}));
}

TEST(BrokenHistories, ALeaseCountedFromTheAnswerIsCaught) {
  ServerInReach server;
  server.always = {.delay_min = 20ms, .delay_max = 200ms};
  Workload workload = short_leases();
  workload.oversleeps = 0.5;
  workload.wrap = [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<CountsFromTheAnswer>(std::move(behind),
                                                 std::make_shared<HeldMessages>());
  };
  EXPECT_TRUE(caught(Fault::overlap, workload, server, {.messages = false}));
}

TEST(BrokenHistories, AWaiterThatDoesNotLookAtItsTurnIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.longest_wait = 3s;
  workload.hold = 2s;
  workload.wrap = [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<BelievesTheWakeUp>(std::move(behind));
  };
  EXPECT_TRUE(caught(Fault::overlap, workload, server, {.messages = false}));
}

TEST(BrokenHistories, ATokenThatEachProcessCountsByItselfIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.wrap = [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    const auto number = std::make_shared<std::atomic<std::uint64_t>>(0);
    return std::make_unique<CountsApart>(std::move(behind), [number] { return ++*number; });
  };
  EXPECT_TRUE(caught(Fault::token_repeated, workload, server, {.messages = false}));
}

TEST(BrokenHistories, AResourceThatTakesOldTokensIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.oversleeps = 0.3;
  workload.fenced = false;
  EXPECT_TRUE(caught(Fault::stale_write, workload, server, {.messages = false}));
}

TEST(BrokenHistories, AWriterThatIsWrittenDownAsAReaderIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.readers = 0.5;
  workload.wrap = [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<ReadsWhereItShouldWrite>(std::move(behind),
                                                     std::make_shared<HeldMessages>());
  };
  EXPECT_TRUE(caught(Fault::overlap, workload, server, {.messages = false}));
}

TEST(BrokenHistories, ASemaphoreWithOnePermitTooManyIsCaught) {
  ServerInReach server;
  Workload workload = short_leases();
  workload.permits = 3;
  workload.wrap = [](std::unique_ptr<Backend> behind) -> std::unique_ptr<Backend> {
    return std::make_unique<HasOneTooMany>(std::move(behind), std::make_shared<HeldMessages>());
  };
  EXPECT_TRUE(caught(Fault::too_many, workload, server, {.messages = false}));
}

}  // namespace
}  // namespace mortise::model
