// SPDX-License-Identifier: MIT
#include "support/contract_test.hpp"

#include "support/needs.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

namespace mortise::contract {
namespace {

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

/// @return how many times more threads want to run than a short run of the suite has on its own,
/// from 1 to 5.
double excess_load() {
  constexpr double usual = 5;  // per core
  double load = 0;
  if (getloadavg(&load, 1) != 1) return 1;
  return std::clamp(load / (usual * std::max(std::thread::hardware_concurrency(), 1U)), 1.0, 5.0);
}

}  // namespace

void ContractTest::SetUp() {
  if (ground().missing) MORTISE_NEEDS(ground().missing());
  short_lease_ = ground().short_lease;
  // Other backends decide the lease by themselves.
  if (!ground().open_with_long_leases) {
    short_lease_ =
        std::chrono::duration_cast<std::chrono::milliseconds>(short_lease_ * excess_load());
  }
  // Before a test counts descriptors, or forks a child, which must find the same store.
  store_ = ground().open(nullptr);
}

void ContractTest::take_the_clock() {
  clock_ = std::make_shared<ManualClock>();
  store_ = ground().open(clock_);
}

void ContractTest::take_any_clock() {
  if (has(Hook::hand_clock)) take_the_clock();
}

void ContractTest::have_long_leases() {
  if (ground().open_with_long_leases) store_ = ground().open_with_long_leases();
}

Client ContractTest::client(ClientOptions options) {
  options.clock = clock_;
  return Client(store().backend(), std::move(options));
}

Party ContractTest::party(ClientOptions options) {
  options.clock = clock_;
  auto probe = std::make_shared<Probe>();
  return {probe, Client(probed(store().backend(), probe), std::move(options))};
}

const Capabilities& ContractTest::capabilities() {
  static std::map<std::string, Capabilities> known;
  const auto found = known.find(ground().name);
  if (found != known.end()) return found->second;
  Client asking = client();
  asking.check(patience);
  return known[ground().name] = asking.capabilities();
}

std::chrono::milliseconds ContractTest::lease_of(const LockOptions& options) {
  return capabilities().effective_lease.value_or(options.lease);
}

std::chrono::nanoseconds ContractTest::margin_of(std::chrono::nanoseconds lease) {
  const SafetyMargin margin = capabilities().safety_margin;
  const std::chrono::nanoseconds drift = lease / 1000;
  return drift + std::max<std::chrono::nanoseconds>(lease / 1000 * margin.permille, margin.least);
}

LockOptions ContractTest::losable() {
  LockOptions options;
  if (leases()) {
    options.renew = false;
    if (real_time()) options.lease = short_lease();
  }
  return options;
}

void ContractTest::lose(const Lock& lock, Owner owner) {
  owner = owner.or_this_thread();
  const std::stop_token lost = lock.lost(owner);
  if (!leases()) {
    store().take_away(lock.name());
  } else if (!real_time()) {
    clock().advance(lease_of(losable()));
  }
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); })) << "the loss was not noticed";
  ASSERT_EQ(lock.valid_for(owner), 0ns);
}

std::size_t open_descriptors() {
  // One of them is the directory's own.
  return entries_of("/proc/self/fd") - 1;
}

std::size_t running_threads() {
  // The thread sanitizer starts one of its own beside the first that a program starts.
  static const bool one_was_started = (std::thread([] {}).join(), true);
  static_cast<void>(one_was_started);
  return entries_of("/proc/self/task");
}

}  // namespace mortise::contract
