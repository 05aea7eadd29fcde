// SPDX-License-Identifier: MIT
// Goal: with rediss+sentinel everything is encrypted, sentinels and servers, and each has to be who
// it says. Method: servers and sentinels with certificates of the test's own.
#include "fault/redis_sentinel_fixture.hpp"
#include "support/certificates.hpp"

namespace mortise::fault {
namespace {

class RedisSentinelTls : public RedisSentinelTest {
 protected:
  void SetUp() override {
    RedisSentinelTest::SetUp();
    if (IsSkipped()) return;
    RedisSentinelsOptions options;
    options.server.tls = RedisServerOptions::Tls::server_certificate;
    options.server.certificates = &certificates_;
    options.sentinel = options.server;
    static_cast<void>(servers(options));
  }
  const test::Certificates certificates_;
};

TEST_F(RedisSentinelTls, AFailOverIsFollowed) {
  Client mine = client({}, "ca=" + certificates_.ca());
  Lock lock = mine.make_lock("a", {.lease = 6s});
  lock.lock();
  servers().fail_over();
  EXPECT_TRUE(eventually([&] { return connections_at_master() >= 2; }));
  EXPECT_EQ(lock.release(), Released::released);
}

TEST_F(RedisSentinelTls, SentinelsThatNobodyVouchesForAreRefused) {
  Client mine = client({}, "ca=" + certificates_.other_ca());
  const Failure failure = failure_of([&] { mine.check(2s); });
  EXPECT_EQ(failure.code, Errc::denied) << failure.text;
}

TEST_F(RedisSentinelTls, WithoutItTheSentinelsSayNothing) {
  std::string url = servers().url();
  url.replace(0, 6, "redis");
  Client mine(url);
  const Failure failure = failure_of([&] { mine.check(2s); });
  EXPECT_EQ(failure.code, Errc::unavailable) << failure.text;
}

}  // namespace
}  // namespace mortise::fault
