// SPDX-License-Identifier: MIT
// Goal: an administrator sees each reader and each permit of a name, and ends one of them or all.
// Method: several clients that share a name, and one that looks; rows by hand where there are many.
#include "fault/postgres_fixture.hpp"

#include <deque>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

using Names = std::vector<std::string>;

constexpr std::uint32_t three = 3;
const QueueOptions patiently{.wait = patience};

class PostgresSharedListings : public PostgresTest {
 protected:
  Client owner() { return Client(server().owner_url()); }
  /// A hold by a client of its own.
  struct Reader {
    Reader(Client opened, const std::string& name, std::chrono::milliseconds lease = 60s)
        : client(std::move(opened)),
          lock(client.make_lock(name, {.lease = lease, .label = "reader", .mode = Mode::shared})) {}
    Client client;
    Lock lock;
  };
  std::deque<Reader> readers(int many, const std::string& name) {
    std::deque<Reader> all;
    for (int i = 0; i < many; ++i) {
      all.emplace_back(client(), name);
      EXPECT_TRUE(all.back().lock.try_lock_for(patience));
    }
    return all;
  }
  static Permit take(Semaphore& gate) { return gate.acquire({.wait = patience}); }
};

TEST_F(PostgresSharedListings, AQueueTellsEachReader) {
  std::deque<Reader> all = readers(3, "a");
  Client asking = client();
  const NameQueue queue = asking.queue("a", patiently);
  ASSERT_EQ(queue.holders.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(queue.holders[i].mode, Mode::shared);
    EXPECT_EQ(queue.holders[i].label, "reader");
    EXPECT_EQ(queue.holders[i].token, all[i].lock.token());
    EXPECT_LT(queue.holders[i].age, patience);
    EXPECT_GT(queue.holders[i].expires_in, 1s);
  }
  EXPECT_EQ(asking.queue("a", {.limit = 2, .wait = patience}).holders.size(), 2U);
  EXPECT_EQ(asking.list("", {.wait = patience}).names, Names{"a"});
  all[1].lock.unlock();
  EXPECT_EQ(asking.queue("a", patiently).holders.size(), 2U);
  all[0].lock.unlock();
  all[2].lock.unlock();
  EXPECT_TRUE(asking.queue("a", patiently).holders.empty());
  Lock writer = asking.make_lock("a", {.lease = 60s, .label = "writer"});
  writer.lock();
  const NameQueue alone = asking.queue("a", patiently);
  ASSERT_EQ(alone.holders.size(), 1U) << "of those who shared it nobody holds it";
  EXPECT_EQ(alone.holders.front().mode, Mode::exclusive);
  EXPECT_EQ(alone.holders.front().label, "writer");
}

TEST_F(PostgresSharedListings, AQueueTellsHowItsWaitersWantIt) {
  const std::string fair = server().url() + "?mortise.fair=yes";
  Client holding(fair);
  Lock held = holding.make_lock("a", {.lease = 60s});
  held.lock();
  Client reading(fair);
  Client writing(fair);
  Client passing(fair);
  Worker reader;
  Worker writer;
  Client asking(fair);
  const auto waiters = [&](std::size_t many) {
    return eventually([&] { return asking.queue("a", patiently).waiters.size() == many; });
  };
  auto read = reader.start([&] {
    Lock lock = reading.make_lock("a", {.lease = 60s, .mode = Mode::shared});
    lock.lock();
    lock.unlock();
  });
  ASSERT_TRUE(waiters(1));
  auto written = writer.start([&] {
    Lock lock = writing.make_lock("a", {.lease = 60s});
    lock.lock();
    lock.unlock();
  });
  ASSERT_TRUE(waiters(2));
  const NameQueue queue = asking.queue("a", patiently);
  EXPECT_EQ(queue.waiters_in_all, 2U);
  EXPECT_EQ(queue.waiters[0].mode, Mode::shared);
  EXPECT_EQ(queue.waiters[1].mode, Mode::exclusive);
  held.unlock();
  read.get();
  written.get();
}

TEST_F(PostgresSharedListings, AQueueTellsEachPermit) {
  Client one = client();
  Client other = client();
  Semaphore here = one.make_semaphore("gate", three);
  Semaphore there = other.make_semaphore("gate", three);
  Permit first = take(here);
  Permit second = take(there);
  ASSERT_TRUE(first && second);
  const QueueOptions of_permits{.wait = patience, .mode = Mode::permit};
  const NameQueue queue = one.queue("gate", of_permits);
  ASSERT_EQ(queue.holders.size(), 2U);
  EXPECT_EQ(queue.holders[0].mode, Mode::permit);
  EXPECT_EQ(queue.holders[0].token, first.token());
  EXPECT_EQ(queue.holders[1].token, second.token());
  first.unlock();
  second.unlock();
  EXPECT_TRUE(one.queue("gate", of_permits).holders.empty());
  EXPECT_EQ(one.list("", {.wait = patience, .mode = Mode::permit}).names, Names{});
}

TEST_F(PostgresSharedListings, SemaphoresAreNotListedAndDelayNoPage) {
  Client mine = client();
  std::deque<Lock> locks;
  for (const char* name : {"a", "c", "e"}) {
    locks.push_back(mine.make_lock(name, {.lease = 60s}));
    ASSERT_TRUE(locks.back().try_lock_for(patience));
  }
  std::deque<Permit> permits;
  for (const char* name : {"b", "c", "d"}) {
    Semaphore gate = mine.make_semaphore(name, three);
    permits.push_back(take(gate));
  }
  // Rows that are free, of either kind, more than one page looks at.
  for (const auto& [table, rows] : {std::pair<std::string, int>{"lock", 2'500}, {"gate", 6'100}}) {
    server().talk().run("insert into mortise." + table +
                        " (name, number, attempt, lease, expires_at, label)"
                        " select convert_to('b' || i, 'UTF8'), 1, '\\x00', 1, '-infinity', ''"
                        " from generate_series(1, " +
                        std::to_string(rows) + ") as i");
  }
  for (const std::size_t limit : {1U, 2U, 5U, 1'000U}) {
    Names names;
    ListOptions options{.limit = limit, .wait = patience};
    do {
      const NamePage page = mine.list("", options);
      names.insert(names.end(), page.names.begin(), page.names.end());
      options.cursor = page.cursor;
    } while (!options.cursor.empty());
    EXPECT_EQ(names, (Names{"a", "c", "e"})) << limit;
  }
}

TEST_F(PostgresSharedListings, AllReadersAreEndedAndEachIsTold) {
  std::deque<Reader> all = readers(3, "a");
  std::vector<Token> tokens;
  for (Reader& each : all) tokens.push_back(each.lock.token());
  Client administrator = owner();
  const std::vector<Holder> ended = administrator.force_release("a", {.wait = patience});
  ASSERT_EQ(ended.size(), 1U) << "of several the first is told";
  EXPECT_EQ(ended.front().token, tokens.front());
  EXPECT_EQ(ended.front().mode, Mode::shared);
  EXPECT_TRUE(administrator.force_release("a", {.wait = patience}).empty());
  Client other = client();
  Lock writer = other.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(writer.try_lock_for(patience));
  for (Reader& each : all) {
    EXPECT_LT(each.lock.token(), writer.token());
    EXPECT_EQ(each.lock.release(), Released::was_lost);
  }
  EXPECT_EQ(writer.release(), Released::released);
}

TEST_F(PostgresSharedListings, OneReaderIsEndedAndTheOthersReadOn) {
  std::deque<Reader> all = readers(2, "a");
  all.emplace_back(client(), "a", 3s);
  ASSERT_TRUE(all.back().lock.try_lock_for(patience));
  const Token meant = all[2].lock.token();
  const std::stop_token lost = all[2].lock.lost();
  Client administrator = owner();
  const std::vector<Holder> ended =
      administrator.force_release("a", {.of = meant, .wait = patience});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().token, meant);
  EXPECT_TRUE(administrator.force_release("a", {.of = meant, .wait = patience}).empty());
  EXPECT_EQ(administrator.queue("a", patiently).holders.size(), 2U);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); })) << "at its next renewal";
  Client other = client();
  EXPECT_FALSE(other.make_lock("a").try_lock());
  EXPECT_EQ(all[0].lock.release(), Released::released);
  EXPECT_EQ(all[1].lock.release(), Released::released) << "it came before whom it was done to";
  EXPECT_EQ(all[2].lock.release(), Released::was_lost);
  EXPECT_TRUE(other.make_lock("a").try_lock());
}

TEST_F(PostgresSharedListings, APermitThatIsEndedComesBackAndIsTold) {
  Client one = client();
  Client administrator = owner();
  Semaphore gate = one.make_semaphore("gate", 2);
  Permit first = take(gate);
  Permit second = take(gate);
  Client waiting = client();
  Worker worker;
  auto served = worker.start([&] {
    Semaphore same = waiting.make_semaphore("gate", 2);
    return take(same).token();
  });
  ASSERT_TRUE(worker.falls_asleep());
  const std::vector<Holder> ended = administrator.force_release(
      "gate", {.of = first.token(), .wait = patience, .mode = Mode::permit});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().mode, Mode::permit);
  EXPECT_GT(served.get(), second.token());
  EXPECT_EQ(first.unlock(), Released::was_lost);
  EXPECT_TRUE(administrator.force_release("gate", {.wait = patience}).empty()) << "no lock";
  EXPECT_EQ(second.unlock(), Released::released);
}

// By hand, as the page says: whoever holds it, by whatever right.
TEST_F(PostgresSharedListings, TheFunctionByHandEndsAllThatThereAre) {
  std::deque<Reader> all = readers(2, "a");
  Client one = client();
  Semaphore gate = one.make_semaphore("a", three);
  Permit permit = take(gate);
  PostgresTalk talk(server().owner_url());
  EXPECT_EQ(talk.value("select count(*) from mortise.force_release($1)", {"a"}), "2")
      << "a row of the lock, and one of the semaphore";
  EXPECT_EQ(all[0].lock.release(), Released::was_lost);
  EXPECT_EQ(permit.unlock(), Released::was_lost);
  EXPECT_EQ(talk.value("select count(*) from mortise.force_release($1)", {"a"}), "0");
}

}  // namespace
}  // namespace mortise::fault
