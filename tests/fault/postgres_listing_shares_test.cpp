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

// One look shows 500 holds, in the order of their numbers.
TEST_F(PostgresSharedListings, AForcedReleaseThatLeavesReadersSaysSo) {
  std::deque<Reader> some = readers(2, "a");
  server().talk().run(
      "insert into mortise.share (name, attempt, number, lease, expires_at, label)"
      " select l.name, decode(lpad(i::text, 48, '0'), 'hex'), l.number + i, 60000000,"
      " now() + interval '60 seconds', '' from mortise.lock as l, generate_series(1, 1200) as i"
      " where l.name = 'a'");
  Client administrator = owner();
  std::size_t ended = 0;
  std::error_code ec = Errc::in_doubt;
  for (int call = 0; call < 5 && ec == Errc::in_doubt; ++call) {
    ended += administrator.force_release("a", {.wait = patience}, ec).size();
  }
  EXPECT_FALSE(ec) << ec.message();
  EXPECT_EQ(ended, 1202U);
  EXPECT_TRUE(administrator.queue("a", patiently).holders.empty());
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
