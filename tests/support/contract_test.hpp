// SPDX-License-Identifier: MIT
// The ground that each test of the contract suite stands on: a fresh store, its clients, and ways
// to make a hold be lost. Tests ask for capabilities and hooks, never for the name of a backend.
#pragma once

#include <mortise/mortise.hpp>

#include "support/contract_backend.hpp"
#include "support/contract_observer.hpp"
#include "support/contract_probe.hpp"
#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

namespace mortise::contract {

using namespace std::chrono_literals;
using test::best_of;
using test::duration_of;
using test::eventually;
using test::own_duration_of;
using test::patience;
using test::Signal;

/// What "within 50 ms" adds to a time in the promises.
inline constexpr std::chrono::milliseconds allowance{50};
/// The wait of a call that is to be told "no". With no answer at all, as of a machine that does
/// much else, it is told that the store cannot be reached.
inline constexpr std::chrono::milliseconds answer_time{100};
/// A waiter asks again this often though nobody called it.
inline constexpr std::chrono::milliseconds fallback_period{1'000};

/// A client, and the probe in front of its backend.
struct Party {
  std::shared_ptr<Probe> probe;
  Client client;
};

class ContractTest : public ::testing::TestWithParam<BackendUnderTest> {
 protected:
  /// The clock is in the test's hand from now on: call it before anything else, and ask for
  /// `Hook::hand_clock` first. Time limits of calls follow that clock as well.
  void take_the_clock();
  /// The clock, taken before.
  [[nodiscard]] ManualClock& clock() { return *clock_; }

  [[nodiscard]] Store& store();
  [[nodiscard]] Client client(ClientOptions options = {});
  [[nodiscard]] Party party(ClientOptions options = {});

  [[nodiscard]] const Capabilities& capabilities();
  [[nodiscard]] bool leases() { return capabilities().leases == Support::yes; }
  /// @return the lease that the backend really gives to a hold under these options.
  [[nodiscard]] std::chrono::milliseconds lease_of(const LockOptions& options);
  [[nodiscard]] bool has(Hook hook) { return store().has(hook); }
  [[nodiscard]] std::chrono::milliseconds short_lease() const { return GetParam().short_lease; }
  /// @return the part of a lease that a client does not use.
  [[nodiscard]] std::chrono::nanoseconds margin_of(std::chrono::nanoseconds lease);

  /// Whether holds of this store can be lost at the test's wish. Takes the clock if that is how.
  [[nodiscard]] bool can_lose();
  /// @return the options of a hold that `lose()` can have lost.
  [[nodiscard]] LockOptions losable();
  /// Has the owner's hold lost, and waits until the owner could know it.
  void lose(const Lock& lock, Owner owner = {});

  /// Whether the clocks of this test move by themselves.
  [[nodiscard]] bool real_time() const { return clock_ == nullptr; }

 private:
  std::shared_ptr<ManualClock> clock_;
  std::unique_ptr<Store> store_;
};

/// How many descriptors, and threads, this process has.
[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t running_threads();

/// Ends the test as skipped unless the store has the hook.
#define MORTISE_NEED(hook) \
  if (!has(hook)) GTEST_SKIP() << "this store " << words_for_lack_of(hook)
/// Ends the test as skipped unless the condition holds.
#define MORTISE_NEED_THAT(condition, otherwise) \
  if (!(condition)) GTEST_SKIP() << otherwise
#define MORTISE_NEED_LEASES() MORTISE_NEED_THAT(leases(), "this backend has no leases")
#define MORTISE_NEED_LOSS() \
  MORTISE_NEED_THAT(can_lose(), "no test can have a hold of this store lost")

}  // namespace mortise::contract
