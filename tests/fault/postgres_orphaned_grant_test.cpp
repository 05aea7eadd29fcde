// SPDX-License-Identifier: MIT
// Goal: no hold is left at the server in which nobody believes (S5): what was granted to an attempt
// that is over is freed, however often the server refuses that. Method: an administrator has the
// server do what late copies, a broken answer and a cancelled statement do.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresOrphanedGrant : public PostgresTest {
 protected:
  void run(const std::string& sql) { server().talk().run(sql); }
  /// The first call of a function fails as if somebody had cancelled it.
  void refuse_once(const std::string& function, const std::string& types,
                   const std::string& arguments) {
    run("create sequence public.calls_of_" + function + "; alter function mortise." + function +
        " rename to " + function + "_; create function mortise." + function + "(" + types +
        ") returns text language plpgsql security definer as $$ begin if "
        "nextval('public.calls_of_" +
        function + "') = 1 then raise exception 'cancelled' using errcode = '57014'; end if; " +
        "return mortise." + function + "_(" + arguments + "); end $$");
  }
};

// What the backend gives back by itself may not take the attempt's own hold along.
TEST_F(PostgresOrphanedGrant, OneGrantIsGivenBackAlone) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  lock.lock();
  const std::string before = std::to_string(number("a") - 1);
  EXPECT_EQ(see("select mortise.release(name, attempt, $1::bigint, 0) from mortise.lock", {before}),
            "N");
  EXPECT_TRUE(is_held("a"));
  EXPECT_EQ(lock.release(), Released::released);
}

// The caller was told that the answer makes no sense: the library is not behind what follows.
// Promise: S5
TEST_F(PostgresOrphanedGrant, WhatIsTakenBackIsTakenBackAgainIfThatIsRefused) {
  refuse_once("cancel", "bytea, bytea, boolean", "$1, $2, $3");
  refuse_once("release", "bytea, bytea, bigint, bigint", "$1, $2, $3, $4");
  run("alter function mortise.take rename to take_;"
      "create function mortise.take(bytea, bytea, bigint, bytea, bigint, bytea, timestamptz) "
      "returns "
      "text language plpgsql security definer as $$ begin perform mortise.take_($1, $2, $3, $4, "
      "$5, "
      "$6, $7); return 'nonsense'; end $$");
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  std::error_code error;
  EXPECT_FALSE(lock.acquire({.wait = 2s}, error));
  EXPECT_EQ(error, Errc::protocol) << error.message();
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 3s)) << "an orphaned grant holds the name";
}

// The first copy was executed, and its answer lost; the second one is not for this client any more.
// Promise: S5
TEST_F(PostgresOrphanedGrant, ARefusedCopyLeavesNothingOfTheOneBefore) {
  Proxy proxy(server().port());
  Client mine(PostgresServer::url_by(proxy.port()));
  Lock first = mine.make_lock("first");
  first.lock();
  first.unlock();
  Party taker(std::move(mine), "a", {.lease = 20s});
  proxy.delay(10s, 10s, Proxy::Direction::to_client);
  auto taken = taker.start();
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  run("revoke execute on function mortise.take from shop, public");
  proxy.cut_all();
  proxy.delay(0ns, 0ns);
  ASSERT_TRUE(comes(taken));
  EXPECT_THROW(static_cast<void>(taken.get()), Error);
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 3s)) << "an orphaned grant holds the name";
}

}  // namespace
}  // namespace mortise::fault
