// SPDX-License-Identifier: MIT
// Goal: a call for locks of several stores has the answers of one store although another store is
// silent, and it names the silent one. Method: one backend answers only a thread that waits for the
// answer, as over a socket that no other thread reads; the other one answers nothing.
#include "support/contract_core.hpp"

#include <system_error>

namespace mortise::contract {
namespace {

/// The last release that the client has reported.
class Releases final : public Observer {
 public:
  void released(const Event& /*event*/, Released outcome) noexcept override {
    last = outcome;
    ++count;
  }
  std::atomic<Released> last{Released::unknown};
  std::atomic<int> count{0};
};

class CoreStores : public ::testing::Test {
 protected:
  [[nodiscard]] static Grant grant() {
    return {.number = 1, .counted_from = BootClock::now(), .lease = 1'200ms};
  }
  [[nodiscard]] static Client open(const std::shared_ptr<Script>& script,
                                   std::shared_ptr<Observer> observer = nullptr) {
    return Client(std::make_unique<ScriptedBackend>(script), {.observer = std::move(observer)});
  }
  /// A store that answers while a thread waits for it.
  [[nodiscard]] std::shared_ptr<Script> answers() {
    auto script = std::make_shared<Script>();
    script->on_acquire = [this](const auto& asked) { asked_ = asked; };
    script->on_release = [this](const auto& release) { release_ = release; };
    script->on_wait = [this](const Operation& /*operation*/) {
      if (asked_) asked_->granted(grant());
      if (release_) release_->answered(Released::released);
      return true;
    };
    return script;
  }

  std::shared_ptr<Acquisition> asked_;
  std::shared_ptr<Release> release_;
};

TEST_F(CoreStores, TheSilentStoreIsNamed) {
  Client one = open(answers());
  Client other = open(std::make_shared<Script>());
  Lock a = one.make_lock("a", {.lease = 1'200ms});
  Lock b = other.make_lock("b", {.lease = 1'200ms});
  for (const auto wait : {0ms, 100ms}) {
    std::error_code ec;
    const Guards all = lock_all({a, b}, {.wait = wait}, ec);
    EXPECT_FALSE(all);
    EXPECT_EQ(all.failed_name(), "b") << all.error_text();
    EXPECT_FALSE(is_contention(ec)) << ec.message();
  }
}

TEST_F(CoreStores, AReleaseIsReportedAlthoughTheOtherStoreIsSilent) {
  const auto script = answers();
  const auto releases = std::make_shared<Releases>();
  const auto silent = std::make_shared<Script>();
  silent->on_acquire = [](const auto& asked) { asked->granted(grant()); };
  Client one = open(script, releases);
  Client other = open(silent);
  Lock a = one.make_lock("a", {.lease = 1'200ms});
  Lock b = other.make_lock("b", {.lease = 1'200ms});
  Guards all = lock_all({a, b}, {.wait = 1s});
  ASSERT_TRUE(all) << all.error_text();
  EXPECT_EQ(all.unlock(), Released::unknown) << "one store has not answered";
  EXPECT_EQ(releases->count.load(), 1);
  EXPECT_EQ(releases->last.load(), Released::released) << "the other one has";
  EXPECT_EQ(script->releases.load(), 1) << "nothing was sent twice";
}

}  // namespace
}  // namespace mortise::contract
