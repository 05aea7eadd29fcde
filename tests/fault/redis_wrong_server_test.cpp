// SPDX-License-Identifier: MIT
// Goal: a URL that leads to a server of another kind fails at once, in words that name what is
// there and which URL leads to it. Method: private servers of each kind, each by the URLs of the
// others.
#include <mortise/redlock.hpp>

#include "fault/redis_fixture.hpp"
#include "support/certificates.hpp"
#include "support/redis_cluster.hpp"

namespace mortise::fault {
namespace {

class RedisWrongServer : public RedisTest {
 protected:
  static RedisServerOptions of_a_sentinel() {
    RedisServerOptions options;
    options.sentinel = true;
    return options;
  }
  static std::string at(const RedisServer& server) {
    return "127.0.0.1:" + std::to_string(server.port());
  }
  /// Whatever is asked for, and however long its caller would wait.
  static void expect_misconfigured(const std::string& url, const std::string& words) {
    Client mine(url);
    Lock lock = mine.make_lock("a");
    const auto expect = [&](auto call) {
      Failure failure;
      EXPECT_LT(own_duration_of([&] { failure = failure_of(call); }), 1s) << url;
      EXPECT_EQ(failure.code, Errc::misconfigured) << url << ": " << failure.text;
      EXPECT_THAT(failure.text, HasSubstr(words)) << url;
    };
    expect([&] { mine.check(10s); });
    expect([&] { lock.lock(); });
    expect([&] { static_cast<void>(lock.try_lock_for(10s)); });
    expect([&] { static_cast<void>(lock.holder()); });
  }
};

TEST_F(RedisWrongServer, ASentinelIsNoServer) {
  const RedisServer sentinel(of_a_sentinel());
  const std::string words = "this is a sentinel; use redis+sentinel:// for it";
  expect_misconfigured("redis://" + at(sentinel), words);
  expect_misconfigured("redis://" + at(sentinel) + "/2", words);
  expect_misconfigured("redis+cluster://" + at(sentinel), words);
  const RedisServer other(of_a_sentinel());
  expect_misconfigured("redlock://" + at(sentinel) + "," + at(other) + "," + at(server()), words);
}

TEST_F(RedisWrongServer, AServerIsNoSentinelAndNoNodeOfACluster) {
  const RedisServer other;
  expect_misconfigured("redis+sentinel://" + at(server()) + "," + at(other) + "/mymaster",
                       "this is not a sentinel; use redis:// for a Redis server");
  expect_misconfigured("redis+cluster://" + at(server()), "not a node of a cluster");
  expect_misconfigured("redis+cluster://" + at(server()) + "," + at(other),
                       "not a node of a cluster");
}

// One of several that is of another kind is passed over.
TEST_F(RedisWrongServer, AServerAmongSentinelsIsPassedOver) {
  const RedisServer sentinel(of_a_sentinel());
  sentinel.talk().expect_ok(
      {"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(server().port()), "1"});
  Client mine("redis+sentinel://" + at(server()) + "," + at(sentinel) + "/mymaster");
  EXPECT_NO_THROW(mine.check(10s));
}

TEST_F(RedisWrongServer, ANodeOfAClusterIsNoServer) {
  MORTISE_NEEDS_REDIS_CLUSTER();
  const test::RedisCluster cluster({.masters = 3, .replicas = 0});
  std::string url = cluster.url();
  const std::string hosts = url.substr(url.find("//") + 2);
  expect_misconfigured("redis://" + hosts.substr(0, hosts.find(',')),
                       "this is a node of a cluster");
  expect_misconfigured("redlock://" + hosts, "this is a node of a cluster");
  Client mine("redis+cluster://" + at(server()) + "," + hosts);
  EXPECT_TRUE(mine.make_lock("a").try_lock_for(10s)) << "the others lead to the cluster";
}

// That it is one for TLS cannot be told for sure: whoever hangs up without a word may be
// restarting.
TEST_F(RedisWrongServer, APortForTlsIsGuessed) {
  const test::Certificates certificates;
  RedisServerOptions options;
  options.tls = RedisServerOptions::Tls::server_certificate;
  options.certificates = &certificates;
  const RedisServer encrypted(options);
  Client mine("redis://127.0.0.1:" + std::to_string(encrypted.tls_port()));
  const Failure failure = failure_of([&] { mine.check(300ms); });
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("before it sent anything; is this a TLS port?"));
}

}  // namespace
}  // namespace mortise::fault
