// SPDX-License-Identifier: MIT
// Goal: who has no right gets a typed error at once and changes nothing, and no message tells a
// password. Method: users with and without the password, and strangers at the nodes.
#include "fault/zookeeper_fixture.hpp"
#include "model/temporary.hpp"

#include <cstdlib>
#include <fstream>

namespace mortise::fault {
namespace {

constexpr const char* shop_secret = "Xu8-secret";

class ZooKeeperRights : public ZooKeeperTest {
 protected:
  [[nodiscard]] std::string url_of(const std::string& user, const std::string& more = {}) {
    return "zookeeper://" + user + "@" + server().address() + "/" + rest() + more;
  }
  /// Whether a stranger can do that.
  template <class Callable>
  static bool allowed(Callable call) {
    try {
      call();
      return true;
    } catch (const ZooKeeperTalkError& error) {
      EXPECT_EQ(error.code, ZooKeeperTalk::no_auth) << error.what();
      return false;
    }
  }
};

TEST_F(ZooKeeperRights, OfACreatorKeepStrangersFromHisNodesAndTheirParent) {
  Client mine(url_of(std::string("shop:") + shop_secret));
  Lock lock = mine.make_lock("a");
  lock.lock();
  ZooKeeperTalk owner = server().talk();
  owner.authenticate("digest", std::string("shop:") + shop_secret);
  const std::vector<std::string> nodes = locks().queue(owner, "a");
  ASSERT_EQ(nodes.size(), 1U);
  ZooKeeperTalk stranger = server().talk();
  EXPECT_FALSE(allowed([&] { stranger.remove(nodes.front()); }));
  EXPECT_FALSE(
      allowed([&] { stranger.create(path("a") + "/x-lock-", ZooKeeperKind::sequential); }));
  EXPECT_FALSE(allowed([&] { static_cast<void>(stranger.data(nodes.front())); }));
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperRights, ThatAreMissingAreDeniedAtOnceAndAgainWhenTheyAreThere) {
  Client mine(url_of(std::string("shop:") + shop_secret));
  Lock lock = mine.make_lock("a");
  lock.lock();
  const auto denied = [](const std::string& url) {
    Client stranger(url);
    Lock wanted = stranger.make_lock("a");
    Failure failure;
    EXPECT_LT(own_duration_of([&] { failure = failure_of([&] { wanted.lock(); }); }), 2s);
    EXPECT_EQ(failure.code, Errc::denied) << failure.text;
    EXPECT_THAT(failure.text, Not(HasSubstr(shop_secret)));
    EXPECT_THAT(failure.text, Not(HasSubstr("wrong-one")));
  };
  denied(url());
  denied(url_of("shop:wrong-one"));
  denied(url_of(std::string("other:") + shop_secret));
  EXPECT_FALSE(lock.lost().stop_requested());
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(ZooKeeperRights, ComeFromAFileOrTheEnvironmentAsWell) {
  const model::TemporaryDirectory directory;
  std::ofstream(directory.file("password")) << shop_secret << '\n';
  ::setenv("MORTISE_TEST_PASSWORD", shop_secret, 1);
  Client first(url_of(std::string("shop:") + shop_secret));
  Lock lock = first.make_lock("a");
  lock.lock();
  lock.unlock();
  for (const std::string& more : {"&password-file=" + directory.file("password"),
                                  std::string("&password-env=MORTISE_TEST_PASSWORD")}) {
    Client mine(url_of("shop", more));
    Lock same = mine.make_lock("a");
    EXPECT_TRUE(same.try_lock_for(patience)) << more;
    same.unlock();
  }
  ::unsetenv("MORTISE_TEST_PASSWORD");
}

// The parameter, the file and the reason; the words of the code once, at the end.
TEST_F(ZooKeeperRights, OfAFileThatCannotBeReadAreMissedInWords) {
  Client mine(url_of("shop", "&password-file=/no/such/file"));
  const Failure failure = failure_of([&] { mine.check(3s); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text,
              HasSubstr(": the file given by password-file cannot be read: No such file or"
                        " directory: misconfigured"));
  EXPECT_EQ(failure.text.find("misconfigured"), failure.text.rfind("misconfigured"))
      << failure.text;
}

TEST_F(ZooKeeperRights, OutliveAConnection) {
  const std::string address = "127.0.0.1:" + std::to_string(proxy().port());
  Client mine("zookeeper://shop:" + std::string(shop_secret) + "@" + address + "/" + rest());
  Lock lock = mine.make_lock("a");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(lock.try_lock_for(patience)) << i;
    proxy().cut_all();
    EXPECT_EQ(lock.release(), Released::released) << i;
  }
}

TEST_F(ZooKeeperRights, AndPasswordsAreInNoMessage) {
  const auto record = std::make_shared<Record>();
  Client mine("zookeeper://shop:" + std::string(shop_secret) +
                  "@127.0.0.1:" + std::to_string(proxy().port()) + "/" + rest(),
              {.give_up = 100ms, .observer = record});
  proxy().refuse(true);
  Lock lock = mine.make_lock("a");
  const Failure failure = failure_of([&] { lock.lock(); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, Not(HasSubstr(shop_secret)));
  for (const Record::Entry& entry : record->all(Record::Kind::failed)) {
    EXPECT_THAT(entry.why.text, Not(HasSubstr(shop_secret)));
  }
  for (const char* const bad : {"?nonsense=1", "?session=never", "?acl=nobody"}) {
    const std::string url = "zookeeper://shop:" + std::string(shop_secret) + "@127.0.0.1:1/a" + bad;
    const Failure refused = failure_of([&] { const Client none(url); });
    EXPECT_EQ(refused.code, Errc::misconfigured) << bad;
    EXPECT_THAT(refused.text, Not(HasSubstr(shop_secret)));
  }
}

/// Below a node at which everybody may do some things.
class ZooKeeperSomeRights : public ZooKeeperTest {
 protected:
  static constexpr std::int32_t all_but(std::int32_t right) {
    return ZooKeeperTalk::all_rights & ~right;
  }
  void make(const std::string& node, std::int32_t rights) {
    server().talk().create(node, ZooKeeperKind::persistent, {}, "world:anyone", rights);
  }
};

TEST_F(ZooKeeperSomeRights, ThatLockNeedsAreProvenByCheck) {
  make("/" + root(), ZooKeeperTalk::all_rights);
  const auto expect_denied = [&](const std::string& below, const std::string& what) {
    Client mine(server().url(root() + below + "?" + in_short));
    const Failure failure = failure_of([&] { mine.check(patience); });
    EXPECT_EQ(failure.code, Errc::denied) << what << ": " << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(below)) << what;
  };
  make("/" + root() + "/create", all_but(ZooKeeperTalk::may_create));
  expect_denied("/create", "no queue can be made");
  for (const auto& [name, right] :
       {std::pair{"read", ZooKeeperTalk::may_read}, std::pair{"delete", ZooKeeperTalk::may_delete},
        std::pair{"own", ZooKeeperTalk::may_create}}) {
    make("/" + root() + "/" + name, ZooKeeperTalk::all_rights);
    make("/" + root() + "/" + name + "/mortise.check", all_but(right));
    expect_denied(std::string("/") + name, name);
  }
}

// What the first one has made there stands until the servers look for empty containers.
TEST_F(ZooKeeperSomeRights, OfOneUserAreCheckedBesideAnotherUsers) {
  make("/" + root(), ZooKeeperTalk::all_rights);
  for (const char* const user : {"shop:secret", "billing:secret"}) {
    Client mine("zookeeper://" + std::string(user) + "@" + server().address() + "/" + rest());
    const Failure failure = failure_of([&] { mine.check(patience); });
    EXPECT_FALSE(failure) << user << ": " << failure.text;
    Lock lock = mine.make_lock(user);
    EXPECT_TRUE(lock.try_lock_for(patience)) << user;
    lock.unlock();
  }
}

TEST_F(ZooKeeperSomeRights, ThatSufficeLeaveNothingBehindACheck) {
  Client mine = client();
  mine.check(patience);
  expect_free("mortise.check");
  EXPECT_EQ(mine.list("").names.size(), 0U);
}

TEST_F(ZooKeeperSomeRights, AreNotEnoughForALeaseBelowTheSession) {
  Client mine(url("session=4s"));
  mine.check(patience);
  [[maybe_unused]] const Lock wanted = mine.make_lock("a", {.lease = 3s});
  const Failure failure = failure_of([&] { mine.check(patience); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("4000 ms"));
  Client longer(url("session=40s&margin=1s"));
  EXPECT_EQ(failure_of([&] { longer.check(patience); }).code, Errc::misconfigured)
      << "nor is the default lease enough";
}

// What its client may not delete would keep the name as long as the session lives.
TEST_F(ZooKeeperSomeRights, ToDeleteANodeAreMissingAndItsSessionEnds) {
  make("/" + root(), ZooKeeperTalk::all_rights);
  make(path("a"), all_but(ZooKeeperTalk::may_delete));
  const auto record = std::make_shared<Record>();
  Client mine = client({.observer = record});
  Lock other = mine.make_lock("b");
  other.lock();
  Lock lock = mine.make_lock("a");
  lock.lock();
  EXPECT_EQ(lock.release(), Released::unknown);
  ASSERT_TRUE(record->told(Record::Kind::failed, 1));
  const Failure failure = record->all(Record::Kind::failed).front().why;
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
  EXPECT_THAT(failure.text, HasSubstr("the client ended its session"));
  expect_free("a");
  // What the session held besides is lost, and told with the reason.
  EXPECT_TRUE(eventually([&] { return other.lost().stop_requested(); }));
  ASSERT_TRUE(record->told(Record::Kind::lost, 1));
  EXPECT_THAT(record->all(Record::Kind::lost).front().why.text, HasSubstr("cannot be deleted"));
  EXPECT_EQ(other.release(), Released::was_lost);
  EXPECT_TRUE(other.try_lock_for(patience)) << "the next session";
  EXPECT_EQ(other.release(), Released::released);
}

// Whoever waits looks at the queue each second. That look may be answered behind the event that has
// granted the lock: it ends no hold, least of all without a word.
TEST_F(ZooKeeperSomeRights, ToListAreMissedJustBehindAGrant) {
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Party waiter(Client(proxied_url("session=8s&margin=300ms")), "a", {.lease = 10s});
  auto taken = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  proxy().delay(1500ms, 1500ms, Proxy::Direction::to_server);
  proxy().answer_with_error("GETCHILDREN", ZooKeeperTalk::no_auth);
  const std::uint64_t before = proxy().commands("GETCHILDREN");
  ASSERT_TRUE(eventually([&] { return proxy().commands("GETCHILDREN") > before; }));
  lock.unlock();
  ASSERT_TRUE(comes(taken));
  EXPECT_NO_THROW(static_cast<void>(taken.get()));
  ASSERT_TRUE(eventually([&] { return proxy().counts().refusals > 0; }));
  proxy().heal();
  waiter.client().check(patience);  // behind all that was delayed
  EXPECT_EQ(waiter.release(), Released::released);
}

TEST_F(ZooKeeperSomeRights, ToDeleteAPlaceInAQueueAreMissingAndItsSessionEnds) {
  make("/" + root(), ZooKeeperTalk::all_rights);
  make(path("a"), all_but(ZooKeeperTalk::may_delete));
  Client theirs = client();
  Lock lock = theirs.make_lock("a");
  lock.lock();
  Client mine = client();
  Lock wanted = mine.make_lock("a");
  EXPECT_FALSE(wanted.try_lock_for(answer_time));
  EXPECT_TRUE(comes_to_be("a", 1, session / 2)) << "it waits still";
  EXPECT_FALSE(lock.lost().stop_requested());
}

}  // namespace
}  // namespace mortise::fault
