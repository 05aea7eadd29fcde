// SPDX-License-Identifier: MIT
// What each test of the contract suite has: a fresh store of its ground, its clients, and ways to
// make a hold be lost. A test names what it needs of a ground (support/grounds.hpp), or asks for
// it, and never for the name of a backend:
//
//   MORTISE_TEST(Waiting, AWaiterOfADeadHolderIsServed, Quality::leases, Hook::processes) {...}
#pragma once

#include <mortise/mortise.hpp>

#include "support/contract_backend.hpp"
#include "support/contract_observer.hpp"
#include "support/contract_probe.hpp"
#include "support/contract_worker.hpp"
#include "support/eventually.hpp"
#include "support/grounds.hpp"
#include "support/own_time.hpp"
#include "support/taken_within.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace mortise::contract {

using namespace std::chrono_literals;
using test::answer_time;
using test::best_of;
using test::comes;
using test::duration_of;
using test::eventually;
using test::own_duration_of;
using test::patience;
using test::Signal;
using test::taken_after;
using test::taken_within;

/// What "within 50 ms" adds to a time in the promises.
inline constexpr std::chrono::milliseconds allowance{50};
/// A waiter asks again this often though nobody called it.
inline constexpr std::chrono::milliseconds fallback_period{1'000};

/// A client, and the probe in front of its backend.
struct Party {
  std::shared_ptr<Probe> probe;
  Client client;
};

class ContractTest : public test::OnGround<BackendUnderTest> {
 protected:
  void SetUp() override;

  /// The clock is in the test's hand from now on: call it before there is a client, and with the
  /// need for `Hook::hand_clock`. Time limits of calls follow that clock as well.
  void take_the_clock();
  /// The same where the store follows such a clock; elsewhere the clocks move by themselves.
  void take_any_clock();
  /// From now on holds that name no lease do not end because the machine is slow: call it before
  /// there is a client.
  void have_long_leases();
  /// The clock, taken before.
  [[nodiscard]] ManualClock& clock() { return *clock_; }

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Client client(ClientOptions options = {});
  [[nodiscard]] Party party(ClientOptions options = {});

  [[nodiscard]] const Capabilities& capabilities();
  [[nodiscard]] bool leases() const { return has(Quality::leases); }
  /// @return the lease that the backend really gives to a hold under these options.
  [[nodiscard]] std::chrono::milliseconds lease_of(const LockOptions& options);
  [[nodiscard]] bool has(const Need& what) const { return ground().has(what); }
  /// @return a lease that tests may wait out. A client waits for a third of it for a reply, so it
  /// is longer on a machine with more to do than this suite, and the same for all of a test.
  [[nodiscard]] std::chrono::milliseconds short_lease() const { return short_lease_; }
  /// @return the lease of a hold that is to be renewed: a loaded machine may be late with one
  /// renewal and has not lost the hold yet.
  [[nodiscard]] std::chrono::milliseconds renewed_lease() const {
    return std::max<std::chrono::milliseconds>(short_lease() * 3, std::chrono::seconds(2));
  }
  /// @return the part of a lease that a client does not use.
  [[nodiscard]] std::chrono::nanoseconds margin_of(std::chrono::nanoseconds lease);

  /// @return the options of a hold that `lose()` can have lost, with the need `Quality::loss`. Take
  /// any clock before.
  [[nodiscard]] LockOptions losable();
  /// Has the owner's hold lost, and waits until the owner could know it.
  void lose(const Lock& lock, Owner owner = {});

  /// Whether the clocks of this test move by themselves.
  [[nodiscard]] bool real_time() const { return clock_ == nullptr; }

 private:
  std::shared_ptr<ManualClock> clock_;
  std::unique_ptr<Store> store_;
  std::chrono::milliseconds short_lease_{};
};

/// How many descriptors, and threads, this process has.
[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t running_threads();

}  // namespace mortise::contract
