// SPDX-License-Identifier: MIT
// Goal: with a store of mortise::remote, a broken connection costs no hold and leaves none, and a
// request that arrives late changes nothing. Method: a proxy in front of the server of
// examples/own_server_store cuts connections, replaces answers, or keeps requests and delivers them
// later.
#include <mortise/mortise.hpp>
#include <mortise/remote/backend.hpp>

#include "lines.hpp"
#include "server.hpp"
#include "support/eventually.hpp"
#include "support/own_time.hpp"
#include "support/proxy.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace mortise::fault {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::patience;
using test::Proxy;
using Moment = Proxy::Moment;

class OwnServerStore : public ::testing::Test {
 protected:
  [[nodiscard]] own::LockServer& server() { return server_; }
  [[nodiscard]] Proxy& proxy() { return proxy_; }
  /// A client whose connection stands.
  [[nodiscard]] Client ready_client() {
    Client client(remote::backend("127.0.0.1:" + std::to_string(proxy_.port()),
                                  std::make_unique<own::Lines>()));
    client.check(patience);
    return client;
  }
  void expect_free(const std::string& name) {
    Client other = ready_client();
    Lock lock = other.make_lock(name);
    EXPECT_TRUE(eventually([&] { return lock.try_lock(); }, 2s)) << "a hold is left behind";
    lock.unlock();
    EXPECT_EQ(server_.waiters(), 0U);
  }
  /// Delivers the requests that the proxy has kept. Returns when the server has executed them.
  void deliver() {
    ASSERT_GT(proxy_.held(), 0U);
    const std::uint64_t before = server_.requests();
    const std::size_t sent = proxy_.release_held();
    ASSERT_TRUE(eventually([&] { return server_.requests() >= before + sent; }));
  }

 private:
  static Proxy::Options of_lines() {
    Proxy::Options options;
    options.protocol = test::ProxyProtocol::lines;
    return options;
  }

  own::LockServer server_;
  Proxy proxy_{server_.port(), of_lines()};
};

// Promise: S5
TEST_F(OwnServerStore, ACutConnectionCostsNoHoldAndLeavesNone) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 20s});
  for (const std::string command : {"TAKE", "RELEASE"}) {
    for (const Moment moment : {Moment::request, Moment::reply}) {
      proxy().cut_at(1, moment, command);
      ASSERT_TRUE(lock.try_lock_for(patience)) << command;
      EXPECT_EQ(lock.release(), Released::released) << command;
      EXPECT_FALSE(proxy().cut_is_ahead()) << command;
      expect_free("a");
    }
  }
}

TEST_F(OwnServerStore, ACutConnectionCostsNoRenewal) {
  Client mine = ready_client();
  for (const Moment moment : {Moment::request, Moment::reply}) {
    Lock lock = mine.make_lock("a", {.lease = 2s});
    ASSERT_TRUE(lock.try_lock_for(patience));
    proxy().cut_at(1, moment, "RENEW");
    ASSERT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
    const std::uint64_t renewals = proxy().commands("RENEW");
    EXPECT_TRUE(eventually([&] { return proxy().commands("RENEW") > renewals; }));
    EXPECT_EQ(lock.release(), Released::released);
  }
}

TEST_F(OwnServerStore, ACancelledWaiterLeavesTheQueueAlthoughTheConnectionIsCut) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine = ready_client();
  Lock lock = mine.make_lock("a");
  for (const Moment moment : {Moment::request, Moment::reply}) {
    proxy().cut_at(1, moment, "CANCEL");
    EXPECT_FALSE(lock.try_lock_for(100ms));
    EXPECT_TRUE(eventually([&] { return server().waiters() == 0; }));
    EXPECT_TRUE(eventually([&] { return !proxy().cut_is_ahead(); }));
  }
  EXPECT_EQ(theirs.release(), Released::released);
  expect_free("a");
}

// Promise: S5
TEST_F(OwnServerStore, ATakeThatArrivesAfterItsReleaseTakesNothing) {
  Client mine = ready_client();
  proxy().hold_requests(true);
  // The client waits for a sixth of the lease, and then asks on another connection.
  Lock lock = mine.make_lock("a", {.lease = 3s});
  ASSERT_TRUE(lock.try_lock_for(patience));
  EXPECT_EQ(lock.release(), Released::released);
  deliver();
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }, 1s)) << "the copy has taken the lock";
  theirs.unlock();
}

// Promise: S5
TEST_F(OwnServerStore, ATakeInDoubtLeavesNothing) {
  Client mine = ready_client();
  proxy().hold_requests(true);
  // So long that only the client itself can end what a copy took.
  Lock lock = mine.make_lock("a", {.lease = 60s});
  std::error_code error;
  EXPECT_FALSE(lock.try_lock_for(50ms, error));
  EXPECT_EQ(error, Errc::in_doubt) << error.message();
  const std::uint64_t before = server().requests();
  ASSERT_TRUE(eventually([&] { return server().requests() > before; })) << "it is not taken back";
  deliver();
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  EXPECT_TRUE(eventually([&] { return theirs.try_lock(); }, 5s)) << "the copy has taken the lock";
  theirs.unlock();
}

TEST_F(OwnServerStore, AnAnswerThatMakesNoSenseFailsTheCallAndLeavesNoHold) {
  Client mine = ready_client();
  Lock lock = mine.make_lock("a", {.lease = 60s});
  // No line of the protocol, an answer to another request, and a grant without a number.
  for (const std::string answer : {"nonsense\n", "absent 1\n", "granted 1 0 1000000\n"}) {
    proxy().garbage(answer, Proxy::Replies::scripts);
    std::error_code error;
    EXPECT_FALSE(lock.try_lock_for(patience, error)) << answer;
    EXPECT_EQ(error, Errc::protocol) << answer << error.message();
    expect_free("a");
  }
}

/// The protocol of the example, for those that change one member.
class LikeLines : public remote::Protocol {
 public:
  [[nodiscard]] Capabilities capabilities() const override { return lines_.capabilities(); }
  [[nodiscard]] std::string kind() const override { return lines_.kind(); }
  void greet(std::string& bytes) const override { lines_.greet(bytes); }
  void take(std::string& bytes, const Acquisition::Request& request,
            remote::ServerTime void_after) const override {
    lines_.take(bytes, request, void_after);
  }
  void cancel(std::string& bytes, const Acquisition::Request& request) const override {
    lines_.cancel(bytes, request);
  }
  void renew(std::string& bytes, const std::vector<Renewal::Item>& holds) const override {
    lines_.renew(bytes, holds);
  }
  void release(std::string& bytes, const HoldId& hold) const override {
    lines_.release(bytes, hold);
  }
  void inspect(std::string& bytes, const std::string& name) const override {
    lines_.inspect(bytes, name);
  }
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    return lines_.read(bytes);
  }

 private:
  own::Lines lines_{};
};

/// Fails once, behind a message that it has read from the same bytes.
class FailsOnce final : public LikeLines {
 public:
  explicit FailsOnce(std::atomic<bool>& has_failed) : has_failed_(has_failed) {}
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    const bool is_next = bytes.data() == end_of_last_.load();
    std::optional<remote::Message> message = LikeLines::read(bytes);
    end_of_last_ = message ? bytes.data() : nullptr;
    if (message && is_next && !has_failed_.exchange(true)) throw std::invalid_argument("once");
    return message;
  }

 private:
  std::atomic<bool>& has_failed_;
  mutable std::atomic<const char*> end_of_last_{nullptr};
};

/// Takes no name that is longer than eight bytes.
class RefusesNames final : public LikeLines {
 public:
  void take(std::string& bytes, const Acquisition::Request& request,
            remote::ServerTime void_after) const override {
    if (request.name.size() > 8) throw Error({Errc::misconfigured, "the name is too long"});
    LikeLines::take(bytes, request, void_after);
  }
};

/// Numbers of grants that are pushed are zero.
class PushesNothing final : public LikeLines {
 public:
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    std::optional<remote::Message> message = LikeLines::read(bytes);
    if (message && message->kind == remote::Message::Kind::handed_over) message->number = 0;
    return message;
  }
};

TEST_F(OwnServerStore, ARequestThatTheProtocolRefusesConcernsNoOtherCall) {
  Client mine(remote::backend("127.0.0.1:" + std::to_string(proxy().port()),
                              std::make_unique<RefusesNames>()));
  mine.check(patience);
  const std::uint64_t accepted = proxy().counts().accepted;
  Lock held = mine.make_lock("held");
  held.lock();
  Lock refused = mine.make_lock("longer than eight");
  std::error_code error;
  EXPECT_FALSE(refused.try_lock_for(patience, error));
  EXPECT_EQ(error, Errc::misconfigured) << error.message();
  EXPECT_EQ(held.release(), Released::released);
  EXPECT_EQ(proxy().counts().accepted, accepted) << "the connection was dropped";
}

// Promise: S2
TEST_F(OwnServerStore, APushWithoutANumberGrantsNothing) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine(remote::backend("127.0.0.1:" + std::to_string(proxy().port()),
                              std::make_unique<PushesNothing>()));
  mine.check(patience);
  const std::uint64_t accepted = proxy().counts().accepted;
  Lock lock = mine.make_lock("a");
  auto served = std::async(std::launch::async, [&] { return lock.try_lock_for(patience); });
  ASSERT_TRUE(eventually([&] { return server().waiters() == 1; }));
  theirs.unlock();
  // The attempt asks again on the next connection, and gets the hold by the answer.
  EXPECT_TRUE(served.get());
  EXPECT_GT(proxy().counts().accepted, accepted);
}

// Promise: S1
TEST_F(OwnServerStore, AnExceptionOfTheProtocolGivesNoCallTheAnswerOfAnother) {
  constexpr int threads = 16;
  Client other = ready_client();
  std::deque<Lock> held;
  for (int i = 0; i < threads; ++i) {
    held.push_back(other.make_lock("held/" + std::to_string(i)));
    held.back().lock();
  }
  std::atomic<bool> has_failed{false};
  Client mine(remote::backend("127.0.0.1:" + std::to_string(server().port()),
                              std::make_unique<FailsOnce>(has_failed)));
  std::atomic<int> both{0};
  std::atomic<bool> ends{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&, i] {
      Lock free = mine.make_lock("free/" + std::to_string(i));
      Lock taken = mine.make_lock("held/" + std::to_string(i));
      for (int left = 20; left > 0; left -= has_failed ? 1 : 0) {
        if (ends) return;
        std::error_code ec;
        if (free.try_lock(ec)) free.unlock(ec);
        if (taken.try_lock(ec)) ++both;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return has_failed.load(); }));
  ends = !has_failed;
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(both, 0) << "two clients hold a lock";
}

// The server ignores a take after a moment of its clock. Here a request takes longer than a second
// to arrive, and the connection still counts as good. (A new one is given two seconds in all.)
// Promise: L7
TEST_F(OwnServerStore, ALockIsTakenByRequestsThatArriveLate) {
  proxy().delay(850ms, 850ms);
  Client mine = ready_client();
  proxy().delay(1'500ms, 1'500ms);
  Lock lock = mine.make_lock("a", {.lease = 30s});
  EXPECT_TRUE(lock.try_lock_for(patience));
  proxy().delay(0ms, 0ms);
}

TEST_F(OwnServerStore, AWaiterWhoseConnectionIsCutWaitsAgain) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  Client mine = ready_client();
  const std::uint64_t before = proxy().commands("TAKE");
  auto served = std::async(std::launch::async, [&] {
    Lock lock = mine.make_lock("a");
    const bool is_held = lock.try_lock_for(patience);
    if (is_held) lock.unlock();
    return is_held;
  });
  ASSERT_TRUE(eventually([&] { return server().waiters() == 1; }));
  proxy().cut_all();
  // Its next take comes on the next connection, and not only with its next question.
  EXPECT_TRUE(
      eventually([&] { return server().waiters() == 1 && proxy().commands("TAKE") > before + 1; }));
  EXPECT_EQ(theirs.release(), Released::released);
  EXPECT_TRUE(served.get());
  expect_free("a");
}

}  // namespace
}  // namespace mortise::fault
