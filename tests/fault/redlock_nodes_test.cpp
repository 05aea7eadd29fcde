// SPDX-License-Identifier: MIT
// Goal: nothing of an address outlives its end, and no failure of our own machine leaves it out for
// ever. Method: one address alone, with a host and a user that fail, or come at the wrong moment.
#include "fault/redlock_fixture.hpp"
#include "redlock/node.hpp"
#include "support/fake_host.hpp"

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::fault {
namespace {

class NodeUser final : public redlock::Node::User {
 public:
  redlock::Server* recognise(redlock::Node& /*node*/, const std::string& /*run_id*/) override {
    fail_once(recognise_fails);
    return nullptr;
  }
  void up(redlock::Node& /*node*/) override {}
  void down(redlock::Node& /*node*/, bool /*was_up*/,
            std::list<redis::Call> /*unanswered*/) override {
    ++downs;
    fail_once(down_fails);
  }
  void answered(redlock::Node& /*node*/, const redis::Call& /*call*/,
                const redis::Reply& /*reply*/) override {}
  [[nodiscard]] bool admits(redlock::Node& /*node*/, const redis::Call& /*call*/) override {
    return true;
  }
  void listens(redlock::Node& /*node*/) override {}
  void hinted(redlock::Node& /*node*/, const AttemptId& /*attempt*/) override {}
  [[nodiscard]] bool awaits() const noexcept override { return true; }

  bool recognise_fails = false;
  bool down_fails = false;
  int downs = 0;

 private:
  static void fail_once(bool& fails) {
    if (std::exchange(fails, false)) throw std::bad_alloc();
  }
};

/// Does something before it attaches a source.
class HostOfANode final : public Host {
 public:
  [[nodiscard]] const std::shared_ptr<Clock>& clock() const noexcept override {
    return host_.clock();
  }
  void attach(Source& source) override {
    if (before_attach) before_attach();
    host_.attach(source);
  }
  void detach(Source& source) noexcept override { host_.detach(source); }
  void changed(Source& /*source*/) noexcept override {}
  void hold_lost(const HoldId& /*hold*/, Failure /*why*/) override {}
  [[nodiscard]] std::size_t sources() const { return host_.sources(); }

  std::function<void()> before_attach;

 private:
  test::FakeHost host_;
};

class RedlockNode : public RedisTest {
 protected:
  void SetUp() override {
    RedisTest::SetUp();
    if (IsSkipped()) return;
    settings_.emplace(redis::Settings::parse(server().url()));
    node_.emplace(0, host_, *settings_, nullptr, user_);
    node_->attach();
  }
  void TearDown() override {
    if (!node_) return;
    node_->detach();
    static_cast<void>(node_->close());
  }
  [[nodiscard]] bool comes_up() {
    return eventually([&] {
      // As whoever asks servers does.
      if (!node_->usable()) node_->want(true);
      look();
      return node_->usable();
    });
  }
  /// Whoever polls takes what is thrown for a matter of its own machine, and polls again.
  void look() {
    std::vector<Source*> sources;
    node_->add_sources(sources);
    for (Source* const source : sources) {
      try {
        source->ready(0, Clock::real()->now());
      } catch (const std::bad_alloc&) {
        ++failures_;
      }
    }
  }

  HostOfANode host_;
  NodeUser user_;
  int failures_ = 0;
  std::optional<redis::Settings> settings_;
  std::optional<redlock::Node> node_;
};

// Promise: S9
TEST_F(RedlockNode, AnInboxOpenedWhileItEndsIsPolledNoMore) {
  ASSERT_TRUE(comes_up());
  std::thread ends;
  std::atomic<bool> ended{false};
  host_.before_attach = [&] {
    ends = std::thread([&] {
      node_->detach();
      ended.store(true);
    });
    // It waits for us, or does not know of us.
    static_cast<void>(eventually([&] { return ended.load(); }, 50ms));
  };
  node_->inbox().open("mortise:inbox:test");
  ends.join();
  EXPECT_EQ(host_.sources(), 0U);
}

TEST_F(RedlockNode, AnInboxForWhichThereWasNoMemoryIsOpenedByTheNextCall) {
  const std::size_t before = host_.sources();
  host_.before_attach = [] { throw std::bad_alloc(); };
  EXPECT_THROW(node_->inbox().open("mortise:inbox:test"), std::bad_alloc);
  host_.before_attach = nullptr;
  node_->inbox().open("mortise:inbox:test");
  EXPECT_EQ(host_.sources(), before + 1);
}

// Promise: L7
TEST_F(RedlockNode, AnAddressWhoseEndFindsNoMemoryIsConnectedAnew) {
  ASSERT_TRUE(comes_up());
  user_.down_fails = true;
  server().talk().expect_ok({"CLIENT", "KILL", "TYPE", "normal"});
  ASSERT_TRUE(eventually([&] {
    look();
    return failures_ == 1;
  }));
  EXPECT_FALSE(node_->usable());
  EXPECT_EQ(user_.downs, 1);
  EXPECT_TRUE(comes_up());
}

TEST_F(RedlockNode, AnAddressThatComesUpWithoutMemoryIsConnectedAnew) {
  user_.recognise_fails = true;
  EXPECT_TRUE(comes_up());
  EXPECT_FALSE(user_.recognise_fails);
  EXPECT_EQ(failures_, 0);  // the connection has seen to it: it broke
  EXPECT_EQ(user_.downs, 1);
}

}  // namespace
}  // namespace mortise::fault
