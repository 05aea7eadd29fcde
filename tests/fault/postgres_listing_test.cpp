// SPDX-License-Identifier: MIT
// Goal: a list reads what is held and no more, by the rights of an application, past any number of
// rows that are free, and waits for nobody. Method: rows by hand, a transaction that has them
// locked, a table that an administrator has filled, and the server's own account of a statement.
#include "fault/postgres_fixture.hpp"
#include "postgres/sql.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

using Names = std::vector<std::string>;

class PostgresListings : public PostgresTest {
 protected:
  /// @param pages how many there were
  static Names all_of(Client& asking, const std::string& prefix, int& pages,
                      std::size_t limit = 100) {
    Names names;
    ListOptions options{.limit = limit, .wait = patience};
    pages = 0;
    do {
      const NamePage page = asking.list(prefix, options);
      names.insert(names.end(), page.names.begin(), page.names.end());
      options.cursor = page.cursor;
      ++pages;
    } while (!options.cursor.empty());
    return names;
  }
  /// Rows of names that are free, "free/1" and so on.
  void fill(int rows) {
    server().talk().run(
        "insert into mortise.lock (name, number, attempt, lease, expires_at, label)"
        " select convert_to('free/' || i, 'UTF8'), 1, '\\x00', 1, '-infinity', ''"
        " from generate_series(1, " +
        std::to_string(rows) + ") as i");
    server().talk().run("analyze mortise.lock");
  }
};

TEST_F(PostgresListings, GoPastAnyNumberOfFreeRowsInBoundedSteps) {
  Client mine = client();
  Lock first = mine.make_lock("a");
  Lock last = mine.make_lock("z");
  ASSERT_TRUE(first.try_lock_for(patience));
  ASSERT_TRUE(last.try_lock_for(patience));
  fill(9'000);
  int pages = 0;
  EXPECT_EQ(all_of(mine, "", pages), (Names{"a", "z"}));
  EXPECT_EQ(pages, 5) << "2,000 rows each";
  EXPECT_EQ(all_of(mine, "free/", pages), Names{});
  EXPECT_EQ(all_of(mine, "z", pages), Names{"z"});
  EXPECT_EQ(pages, 1);
  first.unlock();
  last.unlock();
}

TEST_F(PostgresListings, AreReadByTheIndex) {
  fill(20'000);
  std::string statement = postgres::sql::list;
  for (const auto& [mark, value] : {std::pair<std::string, std::string>{"@schema@", "mortise"},
                                    {"$1", "'free/5'::bytea"},
                                    {"$2", "'free/6'::bytea"},
                                    {"$3", "100"},
                                    {"$4", "2000"}}) {
    for (std::size_t at = 0; (at = statement.find(mark, at)) != std::string::npos;) {
      statement.replace(at, mark.size(), value);
    }
  }
  std::string plan;
  for (const auto& row : server().talk().rows("explain " + statement)) {
    plan += row.front() + "\n";
  }
  EXPECT_THAT(plan, HasSubstr("Index")) << plan;
  EXPECT_THAT(plan, Not(HasSubstr("Seq Scan on lock"))) << plan;
}

// Who writes may be in the middle of it: what was there before is told.
TEST_F(PostgresListings, WaitForNoTransaction) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  PostgresTalk talk = server().talk();
  talk.run("begin");
  talk.run("select from mortise.lock for update");
  int pages = 0;
  EXPECT_LT(own_duration_of([&] { EXPECT_EQ(all_of(mine, "", pages), Names{"a"}); }), 500ms);
  EXPECT_LT(own_duration_of([&] { EXPECT_EQ(mine.queue("a").holders.size(), 1U); }), 500ms);
  talk.run("rollback");
  lock.unlock();
}

TEST_F(PostgresListings, LeaveOutNamesThatAreNone) {
  Client mine = client();
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  server().talk().run(
      "insert into mortise.lock (name, number, attempt, lease, expires_at, label) values"
      " ('', 1, '\\x00', 1, 'infinity', ''),"
      " (convert_to(repeat('x', 2000), 'UTF8'), 2, '\\x00', 1, 'infinity', '')");
  int pages = 0;
  EXPECT_EQ(all_of(mine, "", pages), Names{"a"});
  lock.unlock();
}

TEST_F(PostgresListings, TellTheHoldersAge) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] {
    const NameQueue queue = mine.queue("a", {.wait = patience});
    return queue.holders.size() == 1 && queue.holders.front().age > 50ms;
  }));
  EXPECT_LT(*mine.queue("a", {.wait = patience}).holders.front().age, patience);
  EXPECT_FALSE(mine.queue("a", {.wait = patience}).waiters_in_all) << "no tickets: nobody knows";
  lock.unlock();
}

TEST_F(PostgresListings, TellOfNoWaiterThatIsDead) {
  Client mine(server().url() + "?mortise.fair=yes");
  Lock lock = mine.make_lock("a", {.lease = 60s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  server().talk().run(
      "insert into mortise.ticket (name, attempt, contact) values"
      " ('a', '\\x01', clock_timestamp() - interval '4 seconds'),"
      " ('a', '\\x02', clock_timestamp() - interval '1 second'),"
      " ('a', '\\x03', clock_timestamp())");
  const NameQueue queue = mine.queue("a", {.wait = patience});
  EXPECT_EQ(queue.waiters_in_all, 2U);
  ASSERT_EQ(queue.waiters.size(), 2U);
  EXPECT_GE(queue.waiters[0].silent_for, 1s);
  EXPECT_LT(queue.waiters[1].silent_for, 1s);
  lock.unlock();
}

TEST_F(PostgresListings, NeedTheRightsOfAnApplicationAndForcesMore) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.label = "robbed"});
  ASSERT_TRUE(lock.try_lock_for(patience));
  int pages = 0;
  EXPECT_EQ(all_of(mine, "", pages), Names{"a"});
  const Failure failure = failure_of([&] { mine.force_release("a", {.wait = patience}); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("force_release"));
  Client owner(server().owner_url());
  const Token token = lock.token();
  const std::vector<Holder> ended = owner.force_release("a", {.of = token, .wait = patience});
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().label, "robbed");
  EXPECT_TRUE(owner.force_release("a", {.wait = patience}).empty());
  EXPECT_EQ(all_of(mine, "", pages), Names{});
  server().talk().run("revoke select on mortise.lock from shop");
  const Failure blind = failure_of([&] { static_cast<void>(mine.list("", {.wait = patience})); });
  EXPECT_EQ(blind.code, Errc::denied) << blind.text;
  server().talk().run("grant select on mortise.lock to shop");
  EXPECT_EQ(lock.release(), Released::was_lost);
}

}  // namespace
}  // namespace mortise::fault
