// SPDX-License-Identifier: MIT
// Goal: a snapshot has what the client holds and waits for, and who is in the way. Method: threads
// that hold and wait for each kind of name, and a store that goes away.
#include "support/contract_suites.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

/// @return the entry of that name, if there is exactly one.
std::optional<Snapshot::Name> entry(const Client& client, const std::string& name) {
  std::optional<Snapshot::Name> found;
  for (Snapshot::Name& each : client.snapshot().names) {
    if (each.name != name) continue;
    EXPECT_FALSE(found) << "two entries of one name";
    found = std::move(each);
  }
  return found;
}

/// Waits until that many threads wait for the name.
bool waiters_come(const Client& client, const std::string& name, std::size_t count) {
  return eventually([&] {
    const auto found = entry(client, name);
    return found && found->waiters.size() == count;
  });
}

MORTISE_TEST(Observing, SixteenThreadsOfOneLockAreAHolderAndFifteenWaiters) {
  constexpr std::size_t threads = 16;
  Client one = client();
  EXPECT_TRUE(one.snapshot().names.empty());
  Lock lock = one.make_lock("name", {.label = "me"});
  EXPECT_TRUE(one.snapshot().names.empty()) << "a handle alone is nothing";
  Signal go_on;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::future<void>> done;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    workers.push_back(std::make_unique<Worker>());
    done.push_back(workers.back()->start([&] {
      lock.lock();
      EXPECT_TRUE(go_on.wait());
      lock.unlock();
    }));
  }
  const bool all_wait = eventually([&] {
    const auto found = entry(one, "name");
    return found && found->holds.size() == 1 && found->waiters.size() == threads - 1;
  });
  const auto stuck = entry(one, "name");
  go_on.set();
  for (std::future<void>& each : done) each.get();
  ASSERT_TRUE(all_wait);
  EXPECT_EQ(stuck->space, Mode::exclusive);
  EXPECT_FALSE(stuck->holder) << "no other client is in the way";
  const Snapshot::Hold& hold = stuck->holds[0];
  EXPECT_EQ(hold.label, "me");
  EXPECT_EQ(hold.mode, Mode::exclusive);
  EXPECT_TRUE(hold.token);
  EXPECT_GT(hold.age, 0ns);
  EXPECT_GT(hold.valid_for, 0ns);
  EXPECT_FALSE(hold.renewal);
  for (const Snapshot::Waiter& waiter : stuck->waiters) {
    EXPECT_EQ(waiter.label, "me");
    EXPECT_EQ(waiter.mode, Mode::exclusive);
    EXPECT_GT(waiter.age, 0ns);
  }
  EXPECT_TRUE(one.snapshot().names.empty());
}

MORTISE_TEST(Observing, ASnapshotNamesTheHolderInAnotherClient) {
  Client holder = client();
  Client one = client();
  Lock held = holder.make_lock("name", {.label = "the holder"});
  held.lock();
  Lock wanted = one.make_lock("name");
  Worker worker;
  auto served = worker.start([&] {
    wanted.lock();
    wanted.unlock();
  });
  EXPECT_TRUE(eventually([&] {
    const auto found = entry(one, "name");
    return found && found->holder && found->holder->label == "the holder";
  }));
  const auto stuck = entry(one, "name");
  held.unlock();
  served.get();
  ASSERT_TRUE(stuck);
  EXPECT_TRUE(stuck->holds.empty());
  EXPECT_EQ(stuck->waiters.size(), 1U);
  ASSERT_TRUE(stuck->holder);
  EXPECT_FALSE(stuck->holder->expires_in) << "it is of an earlier moment";
}

MORTISE_TEST(Observing, ASnapshotSaysWhyRenewalsFail, Quality::leases, Hook::unreachable) {
  Client one = client();
  Lock lock = one.make_lock("name", {.lease = std::max(3000ms, short_lease())});
  lock.lock();
  store().set_reachable(false);
  const auto failing = [&] {
    const auto found = entry(one, "name");
    return found && !found->holds.empty() && found->holds[0].renewal;
  };
  EXPECT_TRUE(eventually(failing));
  const auto found = entry(one, "name");
  store().set_reachable(true);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->holds.size(), 1U);
  EXPECT_EQ(found->holds[0].renewal.code, Errc::unavailable) << found->holds[0].renewal.words();
  EXPECT_FALSE(found->holds[0].renewal.text.empty());
  EXPECT_GT(found->holds[0].valid_for, 0ns);
  EXPECT_TRUE(eventually([&] { return !failing(); })) << "renewed, or lost";
  static_cast<void>(lock.release());
}

MORTISE_TEST(Observing, ASnapshotHasEachReader, Quality::shared) {
  Client one = client();
  ReadWriteLock lock = one.make_read_write_lock("name");
  Worker first;
  Worker second;
  first.run([&] { lock.lock_shared(); });
  second.run([&] { lock.lock_shared(); });
  Worker writer;
  auto wrote = writer.start([&] {
    lock.lock();
    lock.unlock();
  });
  EXPECT_TRUE(waiters_come(one, "name", 1));
  const auto found = entry(one, "name");
  first.run([&] { lock.unlock_shared(); });
  second.run([&] { lock.unlock_shared(); });
  wrote.get();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->space, Mode::exclusive);
  ASSERT_EQ(found->holds.size(), 2U);
  for (const Snapshot::Hold& hold : found->holds) EXPECT_EQ(hold.mode, Mode::shared);
  ASSERT_EQ(found->waiters.size(), 1U);
  EXPECT_EQ(found->waiters[0].mode, Mode::exclusive);
}

MORTISE_TEST(Observing, ASnapshotHasOneEntryPerSemaphore, Quality::permits) {
  Client one = client();
  Semaphore gate = one.make_semaphore("gate", 2);
  const Permit first = gate.acquire({.owner = Owner::unique()});
  const Permit second = gate.acquire({.owner = Owner::unique()});
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  Worker worker;
  std::stop_source stop;
  auto waits =
      worker.start([&] { return static_cast<bool>(gate.acquire({.stop = stop.get_token()})); });
  EXPECT_TRUE(waiters_come(one, "gate", 1));
  const auto found = entry(one, "gate");
  stop.request_stop();
  EXPECT_FALSE(waits.get());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->space, Mode::permit);
  ASSERT_EQ(found->holds.size(), 2U);
  EXPECT_EQ(found->holds[0].mode, Mode::permit);
  EXPECT_NE(found->holds[0].token, found->holds[1].token);
}

MORTISE_TEST(Observing, ASnapshotHasTheRunOfAKey, Quality::once) {
  Client one = client();
  Once once = one.make_once("key", {.label = "the runner"});
  mortise::Run run = once.begin();
  ASSERT_TRUE(run);
  const auto found = entry(one, "key");
  static_cast<void>(run.succeed("done"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->space, Mode::once);
  ASSERT_EQ(found->holds.size(), 1U);
  EXPECT_EQ(found->holds[0].mode, Mode::once);
  EXPECT_EQ(found->holds[0].label, "the runner");
  EXPECT_EQ(found->holds[0].token, run.token());
  EXPECT_TRUE(one.snapshot().names.empty());
}

MORTISE_TEST(Observing, AFunctionForSnapshotsOutlivesItsClient) {
  std::optional<Client> one(client());
  const std::function<Snapshot()> source = one->snapshot_source();
  Lock lock = one->make_lock("name");
  lock.lock();
  EXPECT_EQ(source().names.size(), 1U);
  Client moved = std::move(*one);
  EXPECT_EQ(source().names.size(), 1U);
  moved.close();
  EXPECT_TRUE(source().names.empty());
  EXPECT_TRUE(moved.snapshot().names.empty());
}

}  // namespace
}  // namespace mortise::contract
