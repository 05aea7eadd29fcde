// SPDX-License-Identifier: MIT
// Goal: check() says that locks can be taken where they can, and else why not, at once and typed.
// Method: servers that refuse to write, by their own means; as many as leave a majority, and one
// more.
#include "fault/redlock_fixture.hpp"

namespace mortise::fault {
namespace {

class RedlockCheck : public RedlockTest {
 protected:
  void set(std::size_t server, const RedisTalk::Command& words) {
    servers()[server].talk().expect_ok(words);
  }
  /// Sooner than a command's time-out. @return the words
  static std::string expect_no(Client& mine, Errc code) {
    Failure failure;
    EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { mine.check(10s); }); }), 1s);
    EXPECT_EQ(failure.code, code) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr("3 of 5 servers cannot be used; redis 127.0.0.1:"));
    return failure.text;
  }
  /// Two of five are told, which costs nothing, and the third, which does.
  std::string expect_no_of_three(Client& mine, Errc code, const RedisTalk::Command& words) {
    for (const std::size_t server : {0U, 2U}) set(server, words);
    EXPECT_NO_THROW(mine.check(10s)) << "a minority";
    EXPECT_TRUE(mine.make_lock("a").try_lock_for(patience));
    set(3, words);
    return expect_no(mine, code);
  }
  void expect_yes(Client& mine) {
    EXPECT_NO_THROW(mine.check(patience));
    for (std::size_t i = 0; i < servers().size(); ++i) {
      EXPECT_EQ(servers()[i].talk().command({"EXISTS", key("mortise.check")}).integer, 0)
          << "it leaves nothing";
    }
  }
};

TEST_F(RedlockCheck, IsNoWhereTooFewReplicasKeepAMajorityFromWriting) {
  Client mine = ready_client();
  EXPECT_THAT(
      expect_no_of_three(mine, Errc::unavailable, {"CONFIG", "SET", "min-replicas-to-write", "1"}),
      HasSubstr("NOREPLICAS"));
  set(2, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  expect_yes(mine);
}

TEST_F(RedlockCheck, IsNoWhereAMajorityHasNoMemory) {
  Client mine = ready_client();
  EXPECT_THAT(expect_no_of_three(mine, Errc::exhausted, {"CONFIG", "SET", "maxmemory", "1"}),
              HasSubstr("OOM"));
  set(0, {"CONFIG", "SET", "maxmemory", "0"});
  expect_yes(mine);
}

TEST_F(RedlockCheck, IsNoWhereAMajorityDeniesIt) {
  Client mine = ready_client();
  EXPECT_THAT(expect_no_of_three(mine, Errc::denied, {"ACL", "SETUSER", "default", "-evalsha"}),
              HasSubstr("user 'default' needs +evalsha"));
  EXPECT_EQ(failure_of([&] { static_cast<void>(mine.make_lock("a").holder()); }).code,
            Errc::denied);
  set(3, {"ACL", "SETUSER", "default", "+evalsha"});
  expect_yes(mine);
}

TEST_F(RedlockCheck, IsNoWhereAllRefuseAndWhereAMajorityMayNotLimitALease) {
  Client mine = ready_client();
  const RedisTalk::Command full{"CONFIG", "SET", "min-replicas-to-write", "1"};
  for (std::size_t i = 0; i < servers().size(); ++i) set(i, full);
  const auto refused = [](Client& client) { return failure_of([&] { client.check(10s); }); };
  EXPECT_EQ(refused(mine).code, Errc::unavailable);
  EXPECT_THAT(refused(mine).text, HasSubstr("servers cannot be used"));
  Client fresh = client();
  EXPECT_EQ(refused(fresh).code, Errc::unavailable) << "before its first lock, too";
  for (std::size_t i = 0; i < servers().size(); ++i) {
    set(i, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
  expect_yes(mine);
  EXPECT_THAT(expect_no_of_three(mine, Errc::denied, {"ACL", "SETUSER", "default", "-pexpire"}),
              HasSubstr("+pexpire"));
}

// Who is down may come up, and is waited for; who has refused is named beside it.
TEST_F(RedlockCheck, OfServersThatAreDownWaitsForOneOfThem) {
  Client mine = ready_client();
  set(0, {"CONFIG", "SET", "min-replicas-to-write", "1"});
  kill(1);
  kill(2);
  const Failure failure = failure_of([&] { mine.check(300ms); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("3 of 5"));
  Worker worker;
  auto checked = worker.start([&] { return failure_of([&] { mine.check(patience); }).text; });
  EXPECT_FALSE(comes_within(checked, 100ms));
  start(1);
  ASSERT_TRUE(comes(checked));
  EXPECT_EQ(checked.get(), "");
}

}  // namespace
}  // namespace mortise::fault
