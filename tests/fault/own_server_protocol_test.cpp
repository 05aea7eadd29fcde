// SPDX-License-Identifier: MIT
// Goal: whatever the protocol of a store or its server does, a call gets its own answer or an
// error, and nothing is left behind at the server. Method: protocols that differ from that of
// examples/own_server_store in one member; and the backend alone, polled by the test.
#include "fault/own_server_store.hpp"
#include "fault/party.hpp"
#include "support/hand_host.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace mortise::fault {
namespace {

using test::HandHost;

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
  Client mine(store(std::make_unique<RefusesNames>()));
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
  Client mine(store(std::make_unique<PushesNothing>()));
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

/// Runs a function of the test before each greeting.
class GreetsAfter final : public LikeLines {
 public:
  explicit GreetsAfter(std::function<void()> first) : first_(std::move(first)) {}
  void greet(std::string& bytes) const override {
    first_();
    LikeLines::greet(bytes);
  }

 private:
  const std::function<void()> first_;
};

TEST_F(OwnServerStore, AGreetingThatTheProtocolRefusesFailsTheCallAndClosesTheConnection) {
  std::atomic<bool> refuses{true};
  Client mine(store(std::make_unique<GreetsAfter>([&] {
    if (refuses) throw Error({Errc::misconfigured, "no greeting for this server"});
  })));
  const Failure failure = failure_of([&] { mine.check(patience); });
  EXPECT_EQ(failure.code, Errc::misconfigured) << failure.text;
  EXPECT_NE(failure.text.find(std::to_string(proxy().port())), std::string::npos) << failure.text;
  EXPECT_TRUE(eventually([&] { return proxy().connections() == 0; }));
  refuses = false;
  Lock lock = mine.make_lock("a");
  ASSERT_TRUE(lock.try_lock_for(patience));
  lock.unlock();
}

TEST_F(OwnServerStore, AnExceptionInAGreetingCountsAsMissingMemory) {
  std::atomic<int> left{2};
  Client mine(store(std::make_unique<GreetsAfter>([&] {
    if (left-- > 0) throw std::invalid_argument("twice");
  })));
  Lock lock = mine.make_lock("a");
  bool is_held = false;
  EXPECT_NO_THROW(is_held = lock.try_lock_for(patience));
  EXPECT_TRUE(is_held);
  EXPECT_LE(left.load(), 0);
}

/// The backend alone. Its answers lie unread until the test polls it.
class OwnServerBackend : public OwnServerStore {
 protected:
  void start(std::unique_ptr<Backend> backend) {
    backend_ = std::move(backend);
    backend_->start(host_);
    const auto check = std::make_shared<Check>();
    backend_->check(check);
    ASSERT_TRUE(host_.run_until([&] { return check->done(); }));
    ASSERT_FALSE(check->failure()) << check->failure().text;
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  [[nodiscard]] static std::shared_ptr<Acquisition> attempt(bool wait = true) {
    return std::make_shared<Acquisition>(Acquisition::Request{
        .attempt = {1, 2, 3}, .name = "a", .lease = 60s, .label = "test", .wait = wait});
  }
  /// Waits until the server has answered that many lines since.
  [[nodiscard]] bool answers(std::uint64_t lines, std::uint64_t since) {
    return eventually([&] { return server().requests() >= since + lines; });
  }

  HandHost host_;
  std::unique_ptr<Backend> backend_;
};

// An earlier request has put the attempt into the queue. Its caller takes it back while a void
// request for it is under way.
// Promise: L3
TEST_F(OwnServerBackend, AVoidRequestDoesNotEndAnAttemptThatIsTakenBack) {
  Client other = ready_client();
  Lock theirs = other.make_lock("a");
  theirs.lock();
  start(store());
  const auto waits = attempt();
  backend_->acquire(waits);
  ASSERT_TRUE(host_.run_until([&] { return waits->progress() == Acquisition::Progress::queued; }));
  host_.step(-10s);  // by this clock, the next request is void when it arrives
  const std::uint64_t before = server().requests();
  const auto question = std::make_shared<Inspection>("a");
  backend_->acquire(waits);
  backend_->inspector()->inspect(question);
  ASSERT_TRUE(answers(2, before));
  proxy().hold_requests(true);
  backend_->cancel(waits);
  ASSERT_TRUE(host_.run_until([&] { return question->done(); }));
  EXPECT_FALSE(waits->done()) << "it stands in the queue";
  EXPECT_EQ(server().waiters(), 1U);
  proxy().hold_requests(false);
  ASSERT_TRUE(host_.run_until([&] { return waits->done(); }));
  EXPECT_EQ(server().waiters(), 0U);
  EXPECT_EQ(theirs.release(), Released::released);
}

/// The clock of the server is ahead by some time, of which the protocol knows.
class ByAnotherClock final : public LikeLines {
 public:
  struct Server {
    std::chrono::microseconds is_ahead{0};
    std::function<void()> during_next_take{};
    int expired = 0;
  };
  explicit ByAnotherClock(Server& server) : server_(server) {}
  void take(std::string& bytes, const Acquisition::Request& request,
            remote::ServerTime void_after) const override {
    if (const auto act = std::exchange(server_.during_next_take, nullptr)) act();
    LikeLines::take(bytes, request, void_after - server_.is_ahead);
  }
  [[nodiscard]] std::optional<remote::Message> read(std::string_view& bytes) const override {
    std::optional<remote::Message> message = LikeLines::read(bytes);
    if (!message) return message;
    message->now += server_.is_ahead;
    if (message->kind == remote::Message::Kind::expired) ++server_.expired;
    return message;
  }

 private:
  Server& server_;
};

// The thread that asks stands still while the client connects to another server.
// Promise: S5
TEST_F(OwnServerBackend, ARequestIsVoidByTheClockOfTheServerThatItGoesTo) {
  ByAnotherClock::Server clock;
  start(store(std::make_unique<ByAnotherClock>(clock)));
  clock.during_next_take = [&] {
    restart();
    clock.is_ahead = 1h;
    const auto question = std::make_shared<Inspection>("b");
    backend_->inspector()->inspect(question);
    ASSERT_TRUE(host_.run_until([&] { return question->done() && !question->failure(); }));
  };
  const auto tries = attempt(false);
  backend_->acquire(tries);
  ASSERT_TRUE(host_.run_until([&] { return tries->done(); }));
  EXPECT_NE(tries->grant().number, 0U);
  EXPECT_EQ(clock.expired, 0) << "it is void by the clock of the last server";
}

// Its first stop has waited for a server that does not answer.
// Promise: L4
TEST_F(OwnServerBackend, ASecondStopWaitsForNoServer) {
  start(store());
  const auto gone = attempt();
  proxy().hold_requests(true);
  backend_->acquire(gone);
  backend_->cancel(gone);
  gone->failed({Errc::timeout, "its caller has gone"});
  EXPECT_GT(duration_of([&] { backend_->stop(); }), 500ms);
  EXPECT_LT(own_duration_of([&] { backend_->stop(); }), 100ms);
  const auto late = attempt();
  backend_->acquire(late);
  EXPECT_EQ(late->failure().code, Errc::closed);
}

}  // namespace
}  // namespace mortise::fault
