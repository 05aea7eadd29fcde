// SPDX-License-Identifier: MIT
// Goal: clients with and without interop=redisson exclude each other on one name, and whoever asked
// for Redisson's key has it, so that the option can be switched on client by client. Method:
// scripts of both kinds in turn on one lock, and two clients of the library.
#include "fault/redis_script.hpp"

namespace mortise::fault {
namespace {

class RedisSwitchOn : public RedisScriptTest {
 protected:
  /// @return whose field stands in Redisson's key.
  [[nodiscard]] std::string key_of() { return server().talk().command({"HKEYS", "a"}).words(); }
};

// Promise: S1
TEST_F(RedisSwitchOn, AHoldWithoutRedissonsKeyKeepsOutWhoWritesIt) {
  ASSERT_EQ(acquire('a'), "granted");
  EXPECT_EQ(acquire_keyed('b'), "queued");
  EXPECT_EQ(acquire('c', {.waits = false, .keyed = true}), "busy");
  EXPECT_TRUE(owns('a'));
  EXPECT_EQ(renew(hold()), 1);
}

TEST_F(RedisSwitchOn, AHoldWithRedissonsKeyKeepsOutWhoDoesNotKnowIt) {
  ASSERT_EQ(acquire_keyed('a'), "granted");
  EXPECT_EQ(acquire('b'), "queued");
  EXPECT_EQ(acquire('c', {.order = 'u', .waits = false}), "busy");
  EXPECT_EQ(renew(hold(), 30'000, true), 1);
}

// The mark of a hold says nothing of those that come after it.
TEST_F(RedisSwitchOn, AHoldWithoutTheKeyIsNotTakenForTheOneBeforeIt) {
  for (const bool lapses : {false, true}) {
    ASSERT_EQ(acquire_keyed('a'), "granted");
    if (lapses) {
      lapse();
    } else {
      ASSERT_EQ(release('r'), "released");
    }
    ASSERT_EQ(acquire('b'), "granted");
    server().talk().command({"DEL", "a"});
    EXPECT_EQ(acquire('c', {.waits = false, .keyed = true}), "busy") << lapses;
    EXPECT_TRUE(owns('b'));
    ASSERT_EQ(release(), "released");
  }
}

TEST_F(RedisSwitchOn, WhoNeedsTheKeyIsNotHandedALockWithoutIt) {
  RedisTalk inbox = listen("bc");
  ASSERT_EQ(acquire('a'), "granted");
  ASSERT_EQ(acquire_keyed('b'), "queued");
  ASSERT_EQ(acquire('c'), "queued");
  ASSERT_EQ(release(), "released");
  EXPECT_FALSE(is_held("a"));
  const auto told = inbox.receive(patience);
  ASSERT_TRUE(told);
  EXPECT_THAT(told->words(), HasSubstr("L " + attempt('b')));
  EXPECT_EQ(acquire('c'), "queued") << "nobody overtakes it";
  EXPECT_EQ(acquire_keyed('b'), "granted");
  EXPECT_THAT(key_of(), HasSubstr(attempt('b')));
}

TEST_F(RedisSwitchOn, WhoDoesNotRenewTheKeyIsHandedALockWithoutIt) {
  const RedisTalk inbox = listen("bc");
  ASSERT_EQ(acquire_keyed('a'), "granted");
  ASSERT_EQ(acquire('b'), "queued");
  ASSERT_EQ(release('r'), "released");
  ASSERT_TRUE(holds('b'));
  EXPECT_THAT(key_of(), Not(HasSubstr(attempt('b')))) << "it would end before the hold does";
  EXPECT_EQ(acquire('c', {.waits = false, .keyed = true}), "busy");
}

// As clients of before hand over.
TEST_F(RedisSwitchOn, AMissingKeyIsWrittenAtTheRenewal) {
  ASSERT_EQ(acquire('a'), "granted");
  const Held hold = this->hold();
  EXPECT_EQ(renew(hold, 30'000, true), 1);
  EXPECT_THAT(key_of(), HasSubstr(attempt('a')));
  server().talk().expect_ok({"DEL", "a"});
  EXPECT_EQ(renew(hold, 30'000, true), 0) << "ended by Redisson's side";
}

TEST_F(RedisSwitchOn, ClientsOfBothKindsTakeTurns) {
  Client plain = client();
  Client keyed(server().url() + "?interop=redisson");
  Lock one = plain.make_lock("a");
  Lock two = keyed.make_lock("a");
  ASSERT_TRUE(one.try_lock());
  EXPECT_FALSE(two.try_lock());
  Party waiter(Client(server().url() + "?interop=redisson"), "a");
  auto served = waiter.start();
  ASSERT_TRUE(come_to_wait("a"));
  EXPECT_EQ(one.release(), Released::released);
  ASSERT_TRUE(comes(served, 500ms)) << "not by its next asking";
  EXPECT_FALSE(key_of().empty());
  EXPECT_FALSE(one.try_lock());
  EXPECT_FALSE(two.try_lock());
  EXPECT_EQ(waiter.release(), Released::released);
  EXPECT_TRUE(one.try_lock());
}

}  // namespace
}  // namespace mortise::fault
