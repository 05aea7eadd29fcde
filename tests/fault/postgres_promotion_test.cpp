// SPDX-License-Identifier: MIT
// Goal: a client that has met the server that was promoted does not go back to the one before,
// which may still take writes (S1 as far as one client can see). Method: a primary that goes on
// when its standby has been promoted, behind a name of a URL each.
#include "fault/postgres_fixture.hpp"

#include <string>

namespace mortise::fault {
namespace {

class PostgresPromotion : public PostgresTest {
 protected:
  /// Both servers by proxies of their own, the old one first.
  [[nodiscard]] static std::string url_of(std::uint16_t old_one, std::uint16_t new_one) {
    return std::string("postgresql://") + test::postgres_application + ":" +
           test::postgres_password + "@127.0.0.1:" + std::to_string(old_one) +
           ",127.0.0.1:" + std::to_string(new_one) + "/" + test::postgres_database;
  }
};

TEST_F(PostgresPromotion, IsNotUndoneByTheOldPrimaryThatIsBack) {
  Proxy way(server().port(), {.protocol = test::ProxyProtocol::postgres});
  PostgresServer standby({.standby_of = &server()});
  Client mine(url_of(way.port(), standby.port()));
  Lock lock = mine.make_lock("a", {.lease = 5s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
  // The old one is cut off, not down: it goes on for whoever reaches it.
  way.refuse(true);
  way.cut_all();
  standby.promote();
  ASSERT_TRUE(lock.try_lock_for(patience));
  const Token token = lock.token();
  lock.unlock();
  way.refuse(false);
  // Whatever ends the session: the first server of the URL is the old one.
  standby.talk().run(std::string("select pg_terminate_backend(pid) from (") + sessions +
                     ") as all_of_them");
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_GT(lock.token(), token);
  EXPECT_EQ(standby.talk().value("select expires_at > clock_timestamp() from mortise.lock"), "t")
      << "it was taken at the old primary";
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(lock.release(), Released::released);
  // Where only the old one is left, nothing is.
  standby.shutdown();
  const Failure failure = failure_of([&] { EXPECT_FALSE(lock.try_lock_for(500ms)); });
  EXPECT_THAT(failure.code, AnyOf(Errc::unavailable, Errc::in_doubt)) << failure.text;
}

TEST_F(PostgresPromotion, EndsTheSessionsOfTheOldPrimary) {
  PostgresServer standby({.standby_of = &server()});
  Proxy new_way(standby.port(), {.protocol = test::ProxyProtocol::postgres});
  new_way.refuse(true);
  Client mine(url_of(new_way.port(), server().port()));
  Lock lock = mine.make_lock("a", {.lease = 5s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
  standby.promote();
  new_way.refuse(false);
  // It has a session with the old one, where the name is held. A client that has to wait opens one
  // that listens, which meets the new one; from then on the old one is not asked any more.
  Client theirs = client();
  Lock held = theirs.make_lock("b");
  ASSERT_TRUE(held.try_lock_for(patience));
  Lock waited = mine.make_lock("b");
  EXPECT_TRUE(waited.try_lock_for(patience)) << "it waits for the old primary";
  waited.unlock();
  held.unlock();
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(standby.talk().value("select expires_at > clock_timestamp() from mortise.lock"
                                 " where name = 'a'"),
            "t")
      << "it was taken at the old primary";
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(lock.release(), Released::released);
}

// As tools do that pass the service on by plan, and as a server behind a pooler of its own is when
// it comes back as a standby: no session ends.
TEST_F(PostgresPromotion, IsFollowedWhereTheOldPrimaryTakesNoWritesAnyMore) {
  PostgresServer standby({.standby_of = &server()});
  Client mine(url_of(server().port(), standby.port()));
  Lock lock = mine.make_lock("a");
  Lock held = mine.make_lock("b", {.lease = 3s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
  ASSERT_TRUE(held.try_lock_for(patience));
  server().talk().run("alter system set default_transaction_read_only = on");
  server().talk().run("select pg_reload_conf()");
  ASSERT_TRUE(
      eventually([&] { return server().user().value("show transaction_read_only") == "on"; }));
  ASSERT_TRUE(eventually([&] {
    return standby.talk().value(
               "select expires_at > clock_timestamp() from mortise.lock"
               " where name = 'b'") == "t";
  }));
  standby.promote();
  EXPECT_TRUE(lock.try_lock_for(patience)) << "it stays with the server that takes no writes";
  EXPECT_FALSE(is_held("a"));
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_FALSE(held.lost().stop_requested());
  EXPECT_EQ(held.release(), Released::released);
}

}  // namespace
}  // namespace mortise::fault
