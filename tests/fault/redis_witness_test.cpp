// SPDX-License-Identifier: MIT
// Goal: with replicas=n no hold is told that is not at the replicas, or is on its way back,
// whichever thread or connection stands still in between; and none is left behind for nobody.
// Method: a master and its replica, a network that keeps what is said, and a clock that the test
// steps.
#include <mortise/redis.hpp>

#include "fault/party.hpp"
#include "redis/beside/witness.hpp"
#include "redis/store/lock_key.hpp"
#include "redis/store/redis_backend.hpp"
#include "redis/store/scripts.hpp"
#include "support/one_shot_host.hpp"
#include "support/proxy.hpp"
#include "support/redis_fields.hpp"
#include "support/redis_server.hpp"
#include "support/shortage_program.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

using test::Proxy;
using test::RedisServer;
using test::RedisServerOptions;

class RedisWitness : public ::testing::Test {
 protected:
  void SetUp() override {
    MORTISE_NEEDS_REDIS_SERVER();
    // Without a disk a replica is sent nothing for the first second after its copy.
    RedisServerOptions options;
    options.lines = {"repl-diskless-sync no", "repl-ping-replica-period 1"};
    master_.emplace(options);
    options.lines.push_back("replicaof 127.0.0.1 " + std::to_string(master_->port()));
    replica_.emplace(options);
    proxy_.emplace(master_->port());
    test::RedisTalk talk = master_->talk();
    ASSERT_TRUE(eventually([&] {
      talk.expect_ok({"PUBLISH", "nobody", "a word"});
      return talk.command({"WAIT", "1", "100"}).integer == 1;
    }));
  }
  [[nodiscard]] Client client(ClientOptions options = {}) {
    return Client(proxy_->url() + "?replicas=1", std::move(options));
  }
  [[nodiscard]] std::string field(const std::string& name, const std::string& which) {
    return master_->talk()
        .command({"HGET", redis::lock_key("mortise:", name), test::stored_field(which)})
        .text;
  }
  [[nodiscard]] bool waits(const std::string& name) {
    const std::string queue = redis::lock_key("mortise:", name) + ":queue";
    return master_->talk().command({"ZCARD", queue}).integer == 1;
  }
  [[nodiscard]] bool is_held(const std::string& name) {
    return master_->talk()
               .expect_ok({"EVAL", std::string(redis::scripts::inspect.text), "1",
                           redis::lock_key("mortise:", name), ""})
               .items.at(0)
               .text == "held";
  }
  /// Waits for the name behind somebody who asks for no replicas, and is in its queue by then.
  struct Queued {
    Queued(RedisWitness& ground, Client mine)
        : other(ground.master_->url()), lock(other.make_lock("a", {.lease = 1min})) {
      lock.lock();
      waiter.emplace(std::move(mine), "a");
      served = waiter->start();
      EXPECT_TRUE(eventually([&] { return ground.waits("a"); }));
      owner = ground.field("a", "owner");
    }
    Client other;
    Lock lock;
    std::optional<Party> waiter;
    std::future<Token> served;
    std::string owner;  // as long as it waits
  };
  /// What it asks from now on is kept; returns when it has asked once more.
  [[nodiscard]] bool keeps_what_it_asks() {
    proxy_->hold_requests(true, Proxy::Connections::scripts);
    return eventually([&] { return proxy_->held() > 0; });
  }

  std::optional<RedisServer> master_;
  std::optional<RedisServer> replica_;
  std::optional<Proxy> proxy_;
};

// A thread has read what a server granted, and stands still until that is replaced: the next one's
// replicas would say that they have all that there is.
// Promise: S1
TEST_F(RedisWitness, ReplicasOfAnotherServerAreNotAskedAboutAGrant) {
  const auto settings = redis::Settings::parse(master_->url() + "?replicas=1");
  test::OneShotHost host;
  redis::Witness witness(host, settings, nullptr);
  witness.attach();
  base::Resolver resolver;
  resolver.start(settings.address);
  const auto found = resolver.take();
  ASSERT_TRUE(found && !found->endpoints.empty());
  const std::string run_id = master_->talk().info("server")["run_id"];
  witness.follow(found->endpoints.front(), {}, run_id, 2);
  const auto verdict_on = [&](std::uint64_t clock) {
    const auto asked = std::make_shared<Check>();
    Failure verdict;
    witness.attest(clock, host.clock()->now() + 5s, [&, asked](const Failure& why) {
      verdict = why;
      asked->answered();
    });
    if (!asked->done()) host.run(*asked, patience);
    EXPECT_TRUE(asked->done());
    return verdict;
  };
  EXPECT_FALSE(verdict_on(2)) << "or it proves nothing";
  // That connection breaks, and this one stands: what is seen meanwhile is not left lying.
  witness.lose({Errc::unavailable, "it breaks"});
  const auto asked = std::make_shared<Check>();
  Failure verdict;
  witness.attest(2, host.clock()->now() + 5s, [&, asked](const Failure& why) {
    verdict = why;
    asked->answered();
  });
  witness.follow(found->endpoints.front(), {}, run_id, 2);
  host.run(*asked, 2s);
  EXPECT_TRUE(asked->done());
  EXPECT_FALSE(verdict) << verdict.text;
  const Failure failure = verdict_on(1);
  EXPECT_EQ(failure.code, Errc::unavailable);
  EXPECT_THAT(failure.text, HasSubstr("another server grants locks now"));
  witness.detach();
  witness.close();
}

// A reply and a push tell of one grant, and replicas are asked for each. The first word of theirs
// is no, so that it is given back, and the second is yes while that is on its way. Promise: S1
TEST_F(RedisWitness, WhatIsOnItsWayBackIsNotTold) {
  const auto clock = std::make_shared<ManualClock>();
  Queued its(*this, client({.clock = clock}));
  proxy_->hold_requests(true, Proxy::Connections::scripts);
  ASSERT_TRUE(eventually([&] {
    clock->advance(100ms);
    return proxy_->held() > 0;
  })) << "it has not asked once more";
  replica_->stop();
  its.lock.unlock();
  test::RedisTalk talk = master_->talk();
  const auto asked_of_replicas = [&] { return talk.info("clients")["blocked_clients"] == "1"; };
  ASSERT_TRUE(eventually(asked_of_replicas)) << "the push has not come";
  // It has a third of a second, which is over while the reply has time left.
  clock->advance(200ms);
  const std::uint64_t before = talk.command_stats()["evalsha"];
  proxy_->release_held();
  proxy_->hold_requests(true, Proxy::Connections::scripts);
  ASSERT_TRUE(eventually([&] { return talk.command_stats()["evalsha"] > before; }));
  clock->advance(150ms);
  ASSERT_TRUE(eventually([&] { return proxy_->held() > 0; })) << "it is to be given back";
  replica_->resume();
  EXPECT_FALSE(comes_within(its.served, 300ms)) << "told, and its release is under way";
  proxy_->release_held();
  EXPECT_TRUE(eventually([&] {
    clock->advance(20ms);
    return comes(its.served, 10ms);
  }));
  EXPECT_TRUE(is_held("a"));
  EXPECT_EQ(its.waiter->release(), Released::released);
}

// A request is repeated while the first one is on its way. The first one is granted, and the second
// one arrives after its `void` moment, while replicas are asked for the grant. Promise: L2
TEST_F(RedisWitness, ALateAnswerDoesNotEndTheWaitOfAGrantThatReplicasDoNotHave) {
  redis::RedisBackend backend(redis::Settings::parse(proxy_->url() + "?replicas=1"));
  test::OneShotHost host(Clock::real());
  backend.start(host);
  const auto check = std::make_shared<Check>();
  backend.check(check);
  host.run(*check, 10s);
  ASSERT_TRUE(check->done());
  replica_->stop();
  const auto operation = std::make_shared<Acquisition>(
      Acquisition::Request{.attempt = {1, 2, 3}, .name = "a", .lease = 1min, .wait = true});
  backend.acquire(operation);
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  proxy_->hold_requests(true, Proxy::Connections::scripts);
  backend.acquire(operation);
  ASSERT_TRUE(eventually([&] { return proxy_->held() > 0; }));
  test::RedisTalk talk = master_->talk();
  const auto seconds = [&] { return std::stoll(talk.command({"TIME"}).items.at(0).text); };
  const auto sent = seconds();
  ASSERT_TRUE(eventually([&] { return seconds() > sent + 2; })) << "the second one is not void yet";
  const std::uint64_t before = talk.command_stats()["evalsha"];
  proxy_->release_held();
  proxy_->hold_requests(false, Proxy::Connections::scripts);
  ASSERT_TRUE(eventually([&] { return talk.command_stats()["evalsha"] > before; }));
  host.run(*operation, 2s);
  EXPECT_FALSE(operation->done()) << "its caller waits without a time limit";
  replica_->resume();
  for (int i = 0; i < 20 && !operation->done(); ++i) {
    backend.acquire(operation);  // as the library does while it waits
    host.run(*operation, 500ms);
  }
  EXPECT_NE(operation->grant().number, 0U);
  backend.stop();
}

// What one thread reads may be what it waits for: it must not wait for it there.
// Promise: L1
TEST_F(RedisWitness, AWaiterIsServedThatIsToldWhileItsConnectionIsMadeAnew) {
  Queued its(*this, client());
  ASSERT_TRUE(keeps_what_it_asks());
  proxy_->refuse(true);
  proxy_->cut_all(Proxy::Connections::scripts);
  its.lock.unlock();
  ASSERT_TRUE(eventually([&] { return field("a", "owner") != its.owner; }));
  proxy_->refuse(false);
  EXPECT_TRUE(comes(its.served));
  EXPECT_EQ(its.waiter->release(), Released::released);
}

// Promise: L1
TEST_F(RedisWitness, AClientThatIsClosedLeavesNothingBehindThatNobodyWasTold) {
  Client mine = client();
  Lock lock = mine.make_lock("a", {.lease = 1min});
  lock.lock();
  lock.unlock();
  replica_->stop();
  Worker worker;
  auto failed = worker.start([&] { return failure_of([&] { lock.lock(); }).code; });
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  mine.close();
  EXPECT_TRUE(eventually([&] { return !is_held("a"); }, 2s));
  ASSERT_TRUE(comes(failed));
  EXPECT_EQ(failed.get(), Errc::closed);
}

// It is given back for a minute, or its lease, and then no more; who waits is to be served after
// that as well.
// Promise: L1
TEST_F(RedisWitness, WhoWaitsIsServedAfterALongOutage) {
  const auto clock = std::make_shared<ManualClock>();
  Client mine = client({.give_up = 1h, .clock = clock});
  replica_->stop();
  Worker worker;
  Lock lock = mine.make_lock("a", {.lease = 1min});
  auto served = worker.start([&] {
    lock.lock();
    return true;
  });
  ASSERT_TRUE(eventually([&] { return is_held("a"); }));
  proxy_->refuse(true);
  proxy_->cut_all();
  ASSERT_TRUE(eventually([&] { return proxy_->connections() == 0; }));
  clock->advance(90s);
  replica_->resume();
  proxy_->refuse(false);
  EXPECT_TRUE(eventually([&] {
    clock->advance(100ms);
    return comes(served, 10ms);
  }));
  worker.run([&] { static_cast<void>(lock.release()); });
}

class RedisWitnessLong : public RedisWitness {};

// Promise: L4
TEST_F(RedisWitnessLong, WhicheverAllocationFailsNothingIsForgotten) {
  test::expect_no_harm_by_shortage("redis_shortage",
                                   {std::to_string(master_->port()), "1", "?replicas=1"}, 200s);
}

}  // namespace
}  // namespace mortise::fault
