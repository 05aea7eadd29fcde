// SPDX-License-Identifier: MIT
// Goal: nobody has a name before its former holder knows that it is lost, where the client itself
// ends a hold. Method: a backend whose host takes its time with each loss, while another client
// waits for the same name.
#include "fault/zookeeper_fixture.hpp"
#include "support/hand_host.hpp"
#include "zookeeper/zookeeper_backend.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace mortise::fault {
namespace {

/// Polled by hand, and asked by the test what happens while a loss is being told.
class SlowHost final : public Host {
 public:
  explicit SlowHost(std::function<void()> at_loss) : at_loss_(std::move(at_loss)) {}

  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override {
    return hand_.clock();
  }
  void attach(Source& source) override { hand_.attach(source); }
  void detach(Source& source) noexcept override { hand_.detach(source); }
  void changed(Source& source) noexcept override { hand_.changed(source); }
  void hold_lost(const HoldId& hold, Failure why) override {
    hand_.hold_lost(hold, std::move(why));
    at_loss_();
  }
  [[nodiscard]] test::HandHost& hand() noexcept { return hand_; }

 private:
  test::HandHost hand_;
  std::function<void()> at_loss_;
};

class ZooKeeperLeftSessions : public ZooKeeperTest {
 protected:
  void TearDown() override {
    if (backend_) backend_->stop();
  }
  void begin() {
    backend_ = std::make_unique<zookeeper::ZooKeeperBackend>(zookeeper::Settings::parse(url()));
    backend_->start(host_);
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& comes_true) {
    return host_.hand().run_until(comes_true);
  }
  [[nodiscard]] HoldId take(const std::string& name) {
    const auto asked = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, ++attempts_}, .name = name, .lease = 60s});
    backend_->acquire(asked);
    EXPECT_TRUE(run_until([&] { return asked->done(); }));
    EXPECT_NE(asked->grant().number, 0U) << asked->failure().text;
    return {.name = name, .attempt = asked->request().attempt, .number = asked->grant().number};
  }
  void release(const HoldId& hold) {
    const auto operation = std::make_shared<Release>(hold);
    backend_->release(operation);
    EXPECT_TRUE(run_until([&] { return operation->done(); }));
  }
  /// Another client waits for that name, and has it by the end of the test, but not too early.
  void expect_told_before_granted(const std::string& name, const std::function<void()>& end) {
    Party waiter(client(), name);
    taken_ = waiter.start();
    ASSERT_TRUE(come_to_wait(name));
    end();
    EXPECT_TRUE(run_until([&] { return !host_.hand().losses().empty(); }));
    EXPECT_TRUE(run_until([&] { return comes(taken_, 0ns); })) << "the name is not kept";
    EXPECT_EQ(waiter.release(), Released::released);
    EXPECT_EQ(host_.hand().losses().size(), 1U) << "once";
  }
  [[nodiscard]] SlowHost& host() noexcept { return host_; }

 private:
  std::future<Token> taken_;
  SlowHost host_{[this] { EXPECT_FALSE(comes_within(taken_, 300ms)) << "two have it"; }};
  std::unique_ptr<Backend> backend_;
  std::uint64_t attempts_ = 0;
};

// Promise: S1
TEST_F(ZooKeeperLeftSessions, AreEndedBehindTheLossOfWhatTheyHeld) {
  ZooKeeperTalk talk = server().talk();
  talk.create("/" + root());
  talk.create(path("a"), ZooKeeperKind::persistent, {}, "world:anyone",
              ZooKeeperTalk::all_rights & ~ZooKeeperTalk::may_delete);
  begin();
  static_cast<void>(take("b"));
  const HoldId undeletable = take("a");
  expect_told_before_granted("b", [&] { release(undeletable); });
}

// The library does not count on a hold as long as the store does; what matters is the order.
// Promise: S1
TEST_F(ZooKeeperLeftSessions, LiveOnBehindTheLossOfWhatWasNotRenewed) {
  begin();
  static_cast<void>(take("b"));
  expect_told_before_granted("b", [&] { host().hand().step(session + 500ms); });
}

}  // namespace
}  // namespace mortise::fault
