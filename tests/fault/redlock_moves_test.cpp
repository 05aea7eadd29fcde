// SPDX-License-Identifier: MIT
// Goal: what an attempt has left at a server is taken back by whichever address leads there, and
// nothing that was sent by one address earlier comes after what was sent by another one later.
// Method: addresses of the test's own, which are led from one server to another.
#include "fault/redlock_fixture.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace mortise::fault {
namespace {

class RedlockMoves : public RedlockTest {
 protected:
  void SetUp() override {
    RedlockTest::SetUp();
    if (IsSkipped()) return;
    static_cast<void>(servers(4));  // the last is nobody's until an address leads there
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      ports.push_back(addresses_[i].emplace(servers()[i].port()).port());
      ports_[i] = ports.back();
    }
    url_ = test::redlock_url(ports);
  }
  [[nodiscard]] Proxy& address(std::size_t i) { return *addresses_[i]; }
  void lead(std::size_t i, std::size_t server) {
    addresses_[i].reset();
    addresses_[i].emplace(servers()[server].port(), test::ProxyOptions{.port = ports_[i]});
  }
  void lead_nowhere(std::size_t i) { addresses_[i].reset(); }
  [[nodiscard]] Client client_of_them() { return Client(url_); }
  /// A client holds it on the first two servers, which lead nobody to the third one for that.
  void have_the_first_two_held(Lock& held) {
    ASSERT_TRUE(held.try_lock_for(patience));
    ASSERT_TRUE(eventually([&] { return holds(held.name()) == 3; }));
    servers()[2].talk().expect_ok({"DEL", key(held.name())});
  }
  /// @return how many that server has run for clients.
  [[nodiscard]] std::uint64_t scripts_of(std::size_t server) {
    return servers()[server].talk().command_stats()["evalsha"];
  }
  /// A waiter has a vote of the third server, which no address leads to any more before that is
  /// taken back. The fourth one votes for it, too, by that address, and takes its own vote back.
  void leave_a_vote_behind_and_meet_another_server(std::size_t address_of_it);
  /// Until the client is connected to that server, by whatever address.
  void reach(Client& mine, std::size_t server) {
    Lock lock = mine.make_lock("reached");
    EXPECT_TRUE(eventually(
        [&] {
          if (!lock.try_lock_for(1s)) return false;
          const bool there = eventually([&] { return is_held(server, "reached"); }, 50ms);
          lock.unlock();
          return there;
        },
        10s))
        << server;
  }

 private:
  std::array<std::optional<Proxy>, 3> addresses_;
  std::array<std::uint16_t, 3> ports_{};
  std::string url_;
};

void RedlockMoves::leave_a_vote_behind_and_meet_another_server(std::size_t address_of_it) {
  Client theirs(test::redlock_url({servers()[0].port(), servers()[1].port(), servers()[2].port()}));
  for (std::size_t i = 0; i < 3; ++i) reach(theirs, i);
  Lock held = theirs.make_lock("a", {.lease = 90s});
  ASSERT_NO_FATAL_FAILURE(have_the_first_two_held(held));
  Client mine = client_of_them();
  for (std::size_t i = 0; i < 3; ++i) reach(mine, i);
  address(1).blackhole(true);  // the round goes on: no undo follows on that connection
  std::stop_source source;
  Worker worker;
  auto gone = worker.start([&] {
    Lock lock = mine.make_lock("a", {.lease = 60s});
    std::error_code error;
    EXPECT_FALSE(lock.acquire({.wait = 30s, .stop = source.get_token()}, error));
  });
  ASSERT_TRUE(eventually([&] { return is_held(2, "a"); }));
  lead_nowhere(2);
  lead(address_of_it, 3);
  if (address_of_it != 1) address(1).blackhole(false);
  // Asked in some later round it votes, and that is taken back, more than once; which is over
  // sooner than one may look.
  ASSERT_TRUE(eventually([&] { return scripts_of(3) >= 2 * 3; }, 30s)) << scripts_of(3);
  ASSERT_TRUE(eventually([&] { return !is_held(3, "a"); }, 5s));
  source.request_stop();
  ASSERT_TRUE(comes(gone, 5s));
  ASSERT_TRUE(is_held(2, "a"));
  lead(2, 2);
  EXPECT_TRUE(eventually([&] { return !is_held(2, "a"); }, 5s)) << words("a");
  EXPECT_EQ(held.release(), Released::released);
}

TEST_F(RedlockMoves, WhatAServerFreesOfItsOwnIsNotThatOfTheOneWhosePlaceItHas) {
  leave_a_vote_behind_and_meet_another_server(2);
}

TEST_F(RedlockMoves, WhatAServerFreesOfItsOwnIsNotThatOfAnAddressThatLeadsNowhere) {
  leave_a_vote_behind_and_meet_another_server(1);
}

TEST_F(RedlockMoves, WhatAnAddressHasTakenElsewhereIsFreedByAnotherThatComesUp) {
  lead_nowhere(2);
  lead(0, 2);
  Client mine = client_of_them();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return is_held(1, "a") && is_held(2, "a"); }));
  lead_nowhere(0);
  lead(2, 2);
  reach(mine, 2);
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a", 5s);
}

// Each address counts its own connections: the young one's count is the smaller.
TEST_F(RedlockMoves, WhatComesByAYoungAddressIsNotLate) {
  lead(0, 2);
  lead(2, 0);
  Client mine = client_of_them();
  for (int i = 0; i < 5; ++i) {
    address(0).cut_all();
    reach(mine, 2);
  }
  reach(mine, 0);
  // Its vote is on its way until its connection is given up; the one that it gives later says so.
  address(0).hold_requests(true, Proxy::Connections::commands);
  Lock lock = mine.make_lock("a", {.lease = 6s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(holds("a"), 2U);
  ASSERT_TRUE(eventually([&] { return is_held(2, "a"); }, 20s)) << "no renewal reached it";
  lead_nowhere(0);
  lead(2, 2);
  reach(mine, 2);
  EXPECT_EQ(lock.release(), Released::released);
  EXPECT_TRUE(eventually([&] { return !is_held(2, "a"); }, 2s)) << words("a");
}

// The same the other way round: what comes late by an address that is older.
TEST_F(RedlockMoves, WhatWasSentByAnotherAddressBeforeComesTooLate) {
  Client theirs(test::redlock_url({servers()[0].port(), servers()[1].port(), servers()[2].port()}));
  reach(theirs, 0);
  reach(theirs, 1);
  Lock held = theirs.make_lock("a", {.lease = 90s});
  ASSERT_TRUE(held.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return is_held(0, "a") && is_held(1, "a"); }));
  lead(0, 2);
  lead(2, 0);
  Client mine = client_of_them();
  for (std::size_t i = 0; i < 3; ++i) reach(mine, i);
  servers()[2].talk().expect_ok({"DEL", key("a")});
  address(0).hold_requests(true, Proxy::Connections::commands);
  address(0).refuse(true);
  address(1).blackhole(true);  // the round goes on: no undo follows on that connection
  std::stop_source source;
  Worker worker;
  auto gone = worker.start([&] {
    Lock lock = mine.make_lock("a", {.lease = 60s});
    std::error_code error;
    EXPECT_FALSE(lock.acquire({.wait = 30s, .stop = source.get_token()}, error));
  });
  ASSERT_TRUE(eventually([&] { return address(0).held() > 0; }, patience));
  std::this_thread::sleep_for(1500ms);  // the connection is given up
  address(1).blackhole(false);
  lead(2, 2);
  // By the other address it votes, and that is taken back.
  auto stats = [&] {
    auto all = servers()[2].talk().command_stats();
    return all["evalsha"] + all["eval"];
  };
  const auto before = stats();
  ASSERT_TRUE(eventually([&] { return stats() >= before + 2; }, 10s));
  source.request_stop();
  ASSERT_TRUE(comes(gone, 5s));
  EXPECT_TRUE(eventually([&] { return !is_held(2, "a"); }, 5s));
  const auto then = stats();
  const std::size_t sent = address(0).release_held();
  EXPECT_GT(sent, 0U);
  ASSERT_TRUE(eventually([&] { return stats() >= then + sent; }));
  EXPECT_FALSE(is_held(2, "a")) << "by a copy, for nobody";
  EXPECT_EQ(held.release(), Released::released);
}

// A replica that takes over has the votes of the server that it replaces. The client has met it
// before, so that nothing says that it may be that one.
TEST_F(RedlockMoves, AVoteThatHasMovedToAServerThatWasMetBeforeIsFreed) {
  Client mine = client_of_them();
  lead(2, 3);
  reach(mine, 3);
  lead(2, 2);
  reach(mine, 2);
  servers()[3].talk().expect_ok({"REPLICAOF", "127.0.0.1", std::to_string(servers()[2].port())});
  Lock lock = mine.make_lock("a", {.lease = 6s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  ASSERT_TRUE(eventually([&] { return holds("a") == 4; }, 10s));
  servers()[3].talk().expect_ok({"REPLICAOF", "NO", "ONE"});
  lead(2, 3);
  kill(2);
  const std::string before = field(3, "a", "ends");
  ASSERT_TRUE(eventually([&] { return field(3, "a", "ends") != before; }, 6s)) << "not renewed";
  EXPECT_EQ(lock.release(), Released::released);
  expect_free("a", 1s);
}

}  // namespace
}  // namespace mortise::fault
