// SPDX-License-Identifier: MIT
// Goal: an administrator sees each who reads a name, and each permit of a semaphore, and can end
// one of them, or all readers. Method: several of them at a time, told apart by label and token.
#include "support/contract_suites.hpp"

#include <deque>
#include <set>
#include <string>
#include <vector>

namespace mortise::contract {
namespace {

const QueueOptions in_time{.wait = patience};

/// A client that reads "name".
struct Reads {
  Reads(Client opened, const std::string& label)
      : client(std::move(opened)),
        lock(client.make_lock("name", {.lease = 60s, .label = label, .mode = Mode::shared})),
        label_(label) {
    lock.lock();
  }
  [[nodiscard]] const std::string& label() const { return label_; }
  Client client;
  Lock lock;

 private:
  std::string label_;
};

void expect_tells(const std::vector<HolderEntry>& holders, const std::string& label, Token token,
                  Mode mode) {
  for (const HolderEntry& each : holders) {
    if (each.token != token) continue;
    EXPECT_EQ(each.label, label);
    EXPECT_EQ(each.mode, mode) << label;
    if (each.age) {
      EXPECT_LT(*each.age, patience) << label;
    }
    if (each.expires_in) {
      EXPECT_GT(*each.expires_in, 0ms) << label;
      EXPECT_LE(*each.expires_in, 60s) << label;
    }
    return;
  }
  ADD_FAILURE() << label << " is not told";
}

MORTISE_TEST(Administering, AQueueTellsEachWhoReads, Quality::queues_of_many, Quality::shared) {
  Client asking = client();
  std::deque<Reads> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back(client(), "reader " + std::to_string(i));
    const std::vector<HolderEntry> holders = asking.queue("name", in_time).holders;
    ASSERT_EQ(holders.size(), readers.size());
    for (const Reads& each : readers) {
      expect_tells(holders, each.label(), each.lock.token(), Mode::shared);
    }
  }
  EXPECT_EQ(asking.queue("name", {.limit = 2, .wait = patience}).holders.size(), 2U);
  readers.front().lock.unlock();
  const std::vector<HolderEntry> left = asking.queue("name", in_time).holders;
  ASSERT_EQ(left.size(), 2U);
  expect_tells(left, readers[2].label(), readers[2].lock.token(), Mode::shared);
  for (std::size_t i = 1; i < 3; ++i) readers[i].lock.unlock();
  EXPECT_TRUE(asking.queue("name", in_time).holders.empty());
}

MORTISE_TEST(Administering, AQueueTellsHowEachWaitsAndHolds, Quality::waiters, Quality::shared) {
  Client asking = client();
  Client writing = client();
  Client late = client();
  Reads reader(client(), "reader");
  Lock writer = writing.make_lock("name", {.lease = 60s, .label = "writer"});
  Lock next = late.make_lock("name", {.lease = 60s, .label = "late", .mode = Mode::shared});
  Worker first;
  Worker second;
  const auto waits = [](Lock& lock) {
    lock.lock();
    lock.unlock();
  };
  const auto waiting = [&](std::size_t many) {
    return eventually([&] { return asking.queue("name", in_time).waiters.size() == many; });
  };
  auto written = first.start([&] { waits(writer); });
  ASSERT_TRUE(waiting(1));
  auto read = second.start([&] { waits(next); });
  ASSERT_TRUE(waiting(2));
  const NameQueue queue = asking.queue("name", in_time);
  ASSERT_EQ(queue.waiters.size(), 2U);
  EXPECT_EQ(queue.waiters[0].mode, Mode::exclusive);
  EXPECT_EQ(queue.waiters[1].mode, Mode::shared);
  reader.lock.unlock();
  written.get();
  read.get();
}

// An owner that reads on shows as both.
MORTISE_TEST(Administering, AQueueTellsAnOwnerAndItsReader, Quality::queues_of_both,
             Quality::shared) {
  Client one = client();
  Client asking = client();
  Lock owner = one.make_lock("name", {.lease = 60s, .label = "owner"});
  Lock reader = one.make_lock("name", {.lease = 60s, .label = "reader", .mode = Mode::shared});
  owner.lock();
  const Token own = owner.token();
  reader.lock();
  const std::vector<HolderEntry> both = asking.queue("name", in_time).holders;
  ASSERT_EQ(both.size(), 2U);
  expect_tells(both, "owner", own, Mode::exclusive);
  expect_tells(both, "reader", reader.token(), Mode::shared);
  owner.unlock();
  const std::vector<HolderEntry> one_reads = asking.queue("name", in_time).holders;
  ASSERT_EQ(one_reads.size(), 1U);
  expect_tells(one_reads, "reader", reader.token(), Mode::shared);
  reader.unlock();
}

MORTISE_TEST(Administering, AQueueTellsEachPermit, Quality::queues_of_many, Quality::permits) {
  Client one = client();
  Client asking = client();
  Semaphore gate = one.make_semaphore("name", 3, {.lease = 60s, .label = "permits"});
  Permit a = gate.acquire();
  Permit b = gate.acquire();
  Lock lock = one.make_lock("name", {.lease = 60s, .label = "owner"});
  lock.lock();
  const QueueOptions of_permits{.wait = patience, .mode = Mode::permit};
  std::vector<HolderEntry> holders = asking.queue("name", of_permits).holders;
  ASSERT_EQ(holders.size(), 2U);
  expect_tells(holders, "permits", a.token(), Mode::permit);
  expect_tells(holders, "permits", b.token(), Mode::permit);
  EXPECT_EQ(
      asking.queue("name", {.limit = 1, .wait = patience, .mode = Mode::permit}).holders.size(),
      1U);
  EXPECT_EQ(asking.queue("name", in_time).holders.size(), 1U) << "the lock has its own";
  a.unlock();
  holders = asking.queue("name", of_permits).holders;
  ASSERT_EQ(holders.size(), 1U);
  expect_tells(holders, "permits", b.token(), Mode::permit);
  b.unlock();
  lock.unlock();
}

MORTISE_TEST(Administering, ANameThatIsReadIsListed, Quality::lists, Quality::shared) {
  Client asking = client();
  Reads reader(client(), "reader");
  EXPECT_EQ(asking.list("", {.wait = patience}).names, std::vector<std::string>{"name"});
  reader.lock.unlock();
  EXPECT_TRUE(asking.list("", {.wait = patience}).names.empty());
}

MORTISE_TEST(Administering, ASemaphoreIsNotListed, Quality::lists, Quality::permits) {
  Client one = client();
  Semaphore gate = one.make_semaphore("name", 2, {.lease = 60s});
  const Permit permit = gate.acquire();
  EXPECT_TRUE(one.list("", {.wait = patience}).names.empty()) << "it is no lock";
  Lock lock = one.make_lock("name", {.lease = 60s});
  const std::lock_guard hold(lock);
  EXPECT_EQ(one.list("", {.wait = patience}).names, std::vector<std::string>{"name"});
}

MORTISE_TEST(Administering, OneReaderIsEndedAndTheOthersReadOn, Quality::forces, Quality::shared) {
  Client other = client();
  std::deque<Reads> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(client(), "reader " + std::to_string(i));
  Reads& meant = readers[1];
  const Token token = meant.lock.token();
  const std::vector<Holder> ended = other.force_release("name", {.of = token, .wait = patience});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, meant.label());
  EXPECT_EQ(ended.front().token, token);
  EXPECT_EQ(ended.front().mode, Mode::shared);
  if (has(Quality::queues_of_many)) {
    EXPECT_EQ(other.queue("name", in_time).holders.size(), 2U);
  }
  EXPECT_TRUE(other.force_release("name", {.of = token, .wait = patience}).empty());
  EXPECT_FALSE(other.make_lock("name", {.lease = 60s}).try_lock());
  EXPECT_EQ(meant.lock.release(), Released::was_lost);
  EXPECT_EQ(readers[0].lock.release(), Released::released);
  EXPECT_EQ(readers[2].lock.release(), Released::released);
  Lock next = other.make_lock("name", {.lease = 60s});
  ASSERT_TRUE(next.try_lock());
  EXPECT_GT(next.token(), token);
  next.unlock();
}

MORTISE_TEST(Administering, AllReadersAreEndedTogether, Quality::forces, Quality::shared) {
  Client other = client();
  std::deque<Reads> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(client(), "reader " + std::to_string(i));
  std::multiset<Token> told;
  for (const Holder& each : other.force_release("name", {.wait = patience})) {
    EXPECT_EQ(each.mode, Mode::shared);
    told.insert(each.token);
  }
  std::multiset<Token> tokens;
  for (Reads& each : readers) tokens.insert(each.lock.token());
  EXPECT_EQ(told, tokens) << "each, and each once";
  Lock next = other.make_lock("name", {.lease = 60s});
  ASSERT_TRUE(next.try_lock_for(patience));
  for (Reads& each : readers) {
    EXPECT_GT(next.token(), each.lock.token());
    EXPECT_EQ(each.lock.release(), Released::was_lost) << each.label();
  }
  EXPECT_EQ(next.release(), Released::released);
}

MORTISE_TEST(Administering, OnePermitIsEnded, Quality::forces, Quality::permits) {
  Client one = client();
  Client other = client();
  Semaphore gate = one.make_semaphore("name", 2, {.lease = 60s, .label = "permits"});
  Semaphore theirs = other.make_semaphore("name", 2, {.lease = 60s});
  Permit a = gate.acquire();
  Permit b = gate.acquire();
  ASSERT_FALSE(theirs.try_acquire());
  EXPECT_TRUE(other.force_release("name", {.of = a.token(), .wait = patience}).empty())
      << "nobody has the lock";
  const ForceOptions meant{.of = a.token(), .wait = patience, .mode = Mode::permit};
  const std::vector<Holder> ended = other.force_release("name", meant);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "permits");
  EXPECT_EQ(ended.front().token, a.token());
  EXPECT_EQ(ended.front().mode, Mode::permit);
  Permit c = theirs.try_acquire();
  EXPECT_TRUE(c);
  EXPECT_FALSE(theirs.acquire({.wait = 0ns, .owner = Owner::unique()}));
  EXPECT_TRUE(other.force_release("name", meant).empty());
  EXPECT_GT(b.valid_for(), 0ns);
}

}  // namespace
}  // namespace mortise::contract
