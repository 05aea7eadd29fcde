// SPDX-License-Identifier: MIT
// Goal: neither readers nor writers wait for ever, or longer than they said, and who asks is told
// who holds. Method: crowds of each against one of the other; stop tokens; a probe and an observer.
#include "support/contract_readers.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

// Promise: L5
MORTISE_TEST(Sharing, ReadersThatJoinForEverLetAWriterIn, Quality::shared, Quality::no_chance) {
  Client busy = client({.turn = 20ms});
  Client other = client();
  Lock lock = busy.make_lock("name", reading);
  std::atomic<bool> enough{false};
  std::atomic<int> grants{0};
  std::vector<std::unique_ptr<Worker>> workers;
  // Their holds overlap: without an end to joining there is never nobody inside.
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>());
    static_cast<void>(workers.back()->start([&] {
      while (!enough.load()) {
        const std::lock_guard hold(lock);
        grants.fetch_add(1);
        std::this_thread::sleep_for(2ms);
      }
    }));
  }
  EXPECT_TRUE(eventually([&] { return grants.load() > 20; }));
  Lock elsewhere = other.make_lock("name");
  for (int i = 0; i < 5; ++i) {
    const int before = grants.load();
    EXPECT_TRUE(elsewhere.try_lock_for(10s)) << "the readers of a client never end";
    if (elsewhere.hold_count() > 0) elsewhere.unlock();
    EXPECT_TRUE(eventually([&] { return grants.load() > before; })) << "the readers starve";
  }
  enough = true;
}

MORTISE_TEST(Sharing, WritersThatComeForEverLetReadersIn, Quality::shared) {
  Client busy = client();
  Client other = client();
  Lock written = busy.make_lock("name");
  std::atomic<bool> enough{false};
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<Worker>());
    static_cast<void>(workers.back()->start([&] {
      while (!enough.load()) const std::lock_guard hold(written);
    }));
  }
  for (Client* const each : {&other, &busy}) {
    Lock read = each->make_lock("name", reading);
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(read.try_lock_for(10s)) << "the writers never end";
      if (read.hold_count() > 0) read.unlock();
    }
  }
  enough = true;
}

// Promise: L2
MORTISE_TEST(Sharing, TimeLimitsAndStopTokensHold, Quality::shared) {
  Client one = client();
  Client other = client();
  Lock writer = one.make_lock("name");
  Lock reader = other.make_lock("name", reading);
  writer.lock();
  EXPECT_FALSE(reader.try_lock());
  EXPECT_FALSE(reader.try_lock_for(answer_time));
  std::error_code ec;
  EXPECT_FALSE(reader.acquire({.wait = answer_time}, ec));
  EXPECT_EQ(ec, Errc::timeout);
  std::stop_source stop;
  Worker worker;
  auto waits = worker.start([&] {
    std::error_code why;
    EXPECT_FALSE(reader.acquire({.stop = stop.get_token()}, why));
    return why;
  });
  ASSERT_TRUE(worker.falls_asleep());
  stop.request_stop();
  EXPECT_EQ(waits.get(), Errc::cancelled);
  writer.unlock();
  EXPECT_TRUE(writable(other)) << "an attempt that was given up holds the name";
}

MORTISE_TEST(Sharing, AWriterThatGivesUpLetsTheReadersBehindItIn, Quality::shared, Hook::counts) {
  Client one = client();
  Client other = client();
  Client third = client();
  Somebody first(one, reading);
  Somebody behind(third, reading);
  ASSERT_TRUE(first.takes());
  for (Client* const of : {&other, &third}) {
    Lock writer = of->make_lock("name");
    std::stop_source stop;
    Worker worker;
    auto waits = worker.start([&] { return writer.acquire({.stop = stop.get_token()}); });
    ASSERT_TRUE(eventually([&] { return store().waiters() == 1; }));
    if (of == &other) {
      behind.ask();
      ASSERT_TRUE(eventually([&] { return store().waiters() == 2; }));
      EXPECT_FALSE(behind.has());
    }
    stop.request_stop();
    EXPECT_FALSE(waits.get());
    EXPECT_TRUE(behind.served());
    if (of == &other) behind.end();
  }
}

MORTISE_TEST(Sharing, AnotherThreadOfAWaitingWritersClientWaitsForItsTurn, Quality::shared) {
  // The reader that it waits for is of its own process: nothing is asked of the server.
  Party one = party();
  Somebody first(one.client, reading);
  Somebody writer(one.client);
  ASSERT_TRUE(first.takes());
  const Probe::Counts before = one.probe->counts();
  writer.ask();
  EXPECT_FALSE(writer.has());
  EXPECT_EQ(one.probe->counts().acquires, before.acquires);
  first.end();
  EXPECT_TRUE(writer.served());
  EXPECT_EQ(one.probe->counts().acquires, before.acquires) << "it went along with the release";
  EXPECT_EQ(one.probe->counts().releases, before.releases + 1);
}

MORTISE_TEST(Sharing, IsToldToThoseWhoAsk, Quality::shared, Quality::holders) {
  Client one = client();
  Client other = client();
  Lock reader = one.make_lock("name", {.label = "reads", .mode = Mode::shared});
  Lock writer = one.make_lock("name", {.label = "writes"});
  Lock elsewhere = other.make_lock("name");
  EXPECT_FALSE(elsewhere.holder());
  reader.lock();
  const std::optional<Holder> read = elsewhere.holder();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->mode, Mode::shared);
  EXPECT_EQ(read->label, "reads");
  EXPECT_EQ(read->token, reader.token());
  const Guard refused(elsewhere, {.wait = 0ns});
  ASSERT_TRUE(refused.holder());
  EXPECT_EQ(refused.holder()->mode, Mode::shared);
  reader.unlock();
  writer.lock();
  const std::optional<Holder> written = elsewhere.holder();
  ASSERT_TRUE(written);
  EXPECT_EQ(written->mode, Mode::exclusive);
  EXPECT_EQ(written->label, "writes");
  writer.unlock();
}

MORTISE_TEST(Sharing, AnObserverIsToldOfEachReader, Quality::shared) {
  const auto record = std::make_shared<Record>();
  Client one = client({.observer = record});
  Lock lock = one.make_lock("name", reading);
  lock.lock();
  const Token token = lock.token();
  Worker worker;
  worker.run([&] { const std::lock_guard hold(lock); });
  EXPECT_EQ(record->count(Record::Kind::granted), 2U);
  EXPECT_EQ(record->count(Record::Kind::released), 1U);
  EXPECT_EQ(record->all(Record::Kind::granted)[1].token, token);
  lock.unlock();
  EXPECT_EQ(record->count(Record::Kind::released), 2U);
}

}  // namespace
}  // namespace mortise::contract
