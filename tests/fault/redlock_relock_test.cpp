// SPDX-License-Identifier: MIT
// Goal: a hold that has ended gets no vote any more, also where that was asked for before. Method:
// the backend alone, polled by the test; two addresses lead to one server, which hears the release
// by the one and only then, by the other, that it is to vote.
#include "fault/redlock_fixture.hpp"
#include "redis/store/answer.hpp"
#include "redlock/redlock_backend.hpp"
#include "support/one_shot_host.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::fault {
namespace {

/// Real time, that may be ahead.
class RelockClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override { return BootClock::now() + ahead; }
  std::chrono::nanoseconds ahead{0};
};

class RedlockRelock : public RedlockTest {
 protected:
  void SetUp() override {
    RedlockTest::SetUp();
    if (IsSkipped()) return;
    first_.emplace(servers()[0].port());
    last_.emplace(servers()[4].port());
    backend_ = std::make_unique<redlock::RedlockBackend>(redlock::Settings::parse(
        test::redlock_url({first_->port(), servers()[1].port(), servers()[2].port(),
                           servers()[3].port(), last_->port()})));
    backend_->start(host_);
  }
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  void poll(std::chrono::milliseconds time) {
    const Check never_done;
    host_.run(never_done, time);
  }
  [[nodiscard]] bool poll_until(const std::function<bool()>& comes_true,
                                std::chrono::nanoseconds at_most = patience) {
    const Instant end = BootClock::now() + at_most;
    while (!comes_true() && BootClock::now() < end) poll(5ms);
    return comes_true();
  }
  [[nodiscard]] bool completes(const Operation& operation) {
    return poll_until([&] { return operation.done(); });
  }
  HoldId take_everywhere() {
    const auto check = std::make_shared<Check>();
    backend_->check(check);
    EXPECT_TRUE(completes(*check));
    const auto held = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, 3}, .name = "a", .lease = 60s, .label = "label"});
    backend_->acquire(held);
    EXPECT_TRUE(completes(*held));
    EXPECT_TRUE(poll_until([&] { return holds("a") == 5; }));
    return {.name = "a", .attempt = {1, 2, 3}, .number = held->grant().number};
  }

  std::optional<Proxy> first_;
  std::optional<Proxy> last_;
  const std::shared_ptr<RelockClock> clock_ = std::make_shared<RelockClock>();
  test::OneShotHost host_{clock_};
  std::unique_ptr<redlock::RedlockBackend> backend_;
};

// Promise: L1
TEST_F(RedlockRelock, AVoteThatIsUnderWayByAnotherAddressAtTheReleaseIsTakenBack) {
  const HoldId hold = take_everywhere();
  // The last address leads to the first server, which has lost the hold.
  const std::uint16_t port = last_->port();
  last_.reset();
  servers()[0].talk().expect_ok({"DEL", key("a")});
  clock_->ahead += 1500ms;
  last_.emplace(servers()[0].port(), test::ProxyOptions{.port = port});
  last_->delay(60ms, 60ms);
  const std::size_t before = servers()[0].talk().clients().size();
  backend_->check(std::make_shared<Check>());
  ASSERT_TRUE(poll_until([&] { return servers()[0].talk().clients().size() > before; }));
  poll(300ms);
  // A majority renews it, and the first server is to vote for it once more.
  const auto renewal =
      std::make_shared<Renewal>(std::vector<Renewal::Item>{{.hold = hold, .lease = 60s}});
  backend_->renew(renewal);
  std::this_thread::sleep_for(20ms);
  first_->hold_requests(true, Proxy::Connections::commands);
  ASSERT_TRUE(completes(*renewal));
  ASSERT_EQ(renewal->items()[0].answer, Renewal::Answer::renewed);
  ASSERT_TRUE(eventually([&] { return first_->held() > 0; }, 300ms));
  // What its older address says is too old by now: it is connected anew.
  clock_->ahead += 700ms;
  backend_->check(std::make_shared<Check>());
  const auto release = std::make_shared<Release>(hold);
  backend_->release(release);
  ASSERT_TRUE(completes(*release));
  EXPECT_EQ(release->outcome(), Released::released);
  poll(200ms);
  EXPECT_GT(first_->release_held(), 0U);
  first_->hold_requests(false, Proxy::Connections::commands);
  poll(300ms);
  EXPECT_TRUE(poll_until([&] { return !is_held(0, "a"); }, 4s)) << words("a");
}

// Promise: S5
TEST_F(RedlockRelock, AVoteThatIsUnderWayAtTheReleaseIsFreedByThatRelease) {
  const HoldId hold = take_everywhere();
  for (const std::size_t lost : {0U, 4U}) servers()[lost].talk().expect_ok({"DEL", key("a")});
  // A majority renews it, and the others are to vote for it once more.
  const auto renewal =
      std::make_shared<Renewal>(std::vector<Renewal::Item>{{.hold = hold, .lease = 60s}});
  backend_->renew(renewal);
  std::this_thread::sleep_for(20ms);
  for (auto* const address : {&first_, &last_}) {
    (*address)->hold_requests(true, Proxy::Connections::commands);
  }
  ASSERT_TRUE(completes(*renewal));
  ASSERT_TRUE(poll_until([&] { return first_->held() > 0 && last_->held() > 0; }));
  // Of that majority one loses it: they are needed, and carry out both with no answer.
  servers()[3].talk().expect_ok({"DEL", key("a")});
  const auto release = std::make_shared<Release>(hold);
  backend_->release(release);
  poll(50ms);
  EXPECT_FALSE(release->done());
  for (auto* const address : {&first_, &last_}) {
    (*address)->delay(10s, 10s, Proxy::Direction::to_client);
    EXPECT_GT((*address)->release_held(), 0U);
  }
  const auto freed = [&](std::size_t i) {
    return !field(i, "a", "owner").empty() && !is_held(i, "a");
  };
  ASSERT_TRUE(eventually([&] { return freed(0) && freed(4); }));
  for (auto* const address : {&first_, &last_}) {
    (*address)->cut_all();
    (*address)->hold_requests(false, Proxy::Connections::commands);
    (*address)->delay(0ns, 0ns);
  }
  ASSERT_TRUE(completes(*release));
  EXPECT_EQ(release->outcome(), Released::released);
  EXPECT_TRUE(poll_until([&] { return holds("a") == 0; }, 4s)) << words("a");
}

// A server executes the undo of a lost round before the request of that round. Then it cannot be
// reached, so the later round that wins does not ask it, and nothing is repeated there.
// Promise: S5
TEST_F(RedlockRelock, AVoteOfALostRoundThatComesLateIsTakenBackWithTheHold) {
  const auto check = std::make_shared<Check>();
  backend_->check(check);
  ASSERT_TRUE(completes(*check));
  const auto run = [&](std::size_t server, const redis::Script& script,
                       std::vector<std::string> words) {
    words.insert(words.begin(), {"EVAL", std::string(script.text), "1", key("a")});
    return servers()[server].talk().expect_ok(words).items.at(0).text;
  };
  const auto vote = [&](std::size_t server, const std::string& attempt) {
    return run(server, redlock::scripts::acquire,
               {attempt, "1", "8000000000000000", "60000", "1700000000000000", "label", "00"});
  };
  // A server that has noted a waiter receives every release.
  servers()[0].talk().expect_ok({"ACL", "SETUSER", "default", "-subscribe"});
  const std::string other(17, 'o');
  for (const std::size_t i : {1U, 2U, 3U}) ASSERT_EQ(vote(i, other), "vote");
  first_->hold_requests(true, Proxy::Connections::commands);
  const AttemptId mine{1, 2, 3};
  const auto held = std::make_shared<Acquisition>(Acquisition::Request{
      .attempt = mine, .name = "a", .lease = 60s, .label = "label", .wait = true});
  backend_->acquire(held);
  ASSERT_TRUE(poll_until([&] { return first_->held() > 0; }, 500ms));
  first_->cut_all(Proxy::Connections::commands);
  poll(400ms);  // by the next connection it is undone, sooner than the request is void
  EXPECT_FALSE(is_held(0, "a"));
  first_->refuse(true);
  first_->cut_all();
  poll(50ms);
  ASSERT_EQ(vote(0, std::string(redis::AttemptText(mine).view())), "vote") << "it comes late";
  for (const std::size_t i : {1U, 2U, 3U}) {
    ASSERT_EQ(run(i, redlock::scripts::release, {other, "", "1", "1", ""}), "released");
  }
  backend_->acquire(held);
  ASSERT_TRUE(completes(*held));
  ASSERT_NE(held->grant().number, 0U);
  const auto release = std::make_shared<Release>(
      HoldId{.name = "a", .attempt = mine, .number = held->grant().number});
  backend_->release(release);
  ASSERT_TRUE(completes(*release));
  EXPECT_EQ(release->outcome(), Released::released);
  EXPECT_TRUE(is_held(0, "a"));
  first_->refuse(false);
  EXPECT_TRUE(poll_until([&] { return holds("a") == 0; }, 5s)) << words("a");
}

}  // namespace
}  // namespace mortise::fault
