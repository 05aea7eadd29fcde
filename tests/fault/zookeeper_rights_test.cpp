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
  Lock lock = mine.lock("a");
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
  Lock lock = mine.lock("a");
  lock.lock();
  const auto denied = [](const std::string& url) {
    Client stranger(url);
    Lock wanted = stranger.lock("a");
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
  Lock lock = first.lock("a");
  lock.lock();
  lock.unlock();
  for (const std::string& more : {"&password-file=" + directory.file("password"),
                                  std::string("&password-env=MORTISE_TEST_PASSWORD")}) {
    Client mine(url_of("shop", more));
    Lock same = mine.lock("a");
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
  EXPECT_THAT(failure.text, HasSubstr(": the file of password-file cannot be read: No such file or"
                                      " directory: misconfigured"));
  EXPECT_EQ(failure.text.find("misconfigured"), failure.text.rfind("misconfigured"))
      << failure.text;
}

TEST_F(ZooKeeperRights, OutliveAConnection) {
  const std::string address = "127.0.0.1:" + std::to_string(proxy().port());
  Client mine("zookeeper://shop:" + std::string(shop_secret) + "@" + address + "/" + rest());
  Lock lock = mine.lock("a");
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
  Lock lock = mine.lock("a");
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

}  // namespace
}  // namespace mortise::fault
