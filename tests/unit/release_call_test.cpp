// SPDX-License-Identifier: MIT
// Goal: a call of unlock() never waits by itself, so one thread can carry out several, in any
// order, those of keys as well. Method: the test takes the steps of the calls, and answers their
// requests.
#include "runtime/call/release_call.hpp"

#include "runtime/call/acquire_call.hpp"
#include "runtime/hold/hold_query.hpp"
#include "runtime/hold/slot.hpp"
#include "support/contract_script.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace mortise::runtime {
namespace {

using namespace std::chrono_literals;

class ReleaseCallTest : public ::testing::Test {
 protected:
  ReleaseCallTest() {
    script_->on_acquire = [this](const std::shared_ptr<Acquisition>& asked) {
      asked->granted({.number = ++grants_,
                      .counted_from = clock_->now(),
                      .lease = asked->request().lease,
                      .run = 1});
    };
    client_->start();
  }
  ~ReleaseCallTest() override {
    for (const std::shared_ptr<Release>& each : script_->released())
      each->answered(Released::released);
    client_->close();
  }
  /// @return the slot of a name or a key that the owner holds.
  std::shared_ptr<Slot> held(const std::string& name, bool is_key) {
    std::shared_ptr<Slot> slot = is_key ? client_->slot(name, Mode::once) : client_->slot(name);
    KeyCall key{.memory = std::make_shared<const Memory>()};
    const Failure failure = acquire(*slot, client_->terms().of({}), {.owner = owner_}, nullptr,
                                    is_key ? &key : nullptr);
    EXPECT_FALSE(failure) << failure.text;
    return slot;
  }
  void answer(std::size_t release) {
    script_->released().at(release)->answered(Released::released);
  }

  const Owner owner_ = Owner::unique();
  std::uint64_t grants_ = 0;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<contract::Script> script_ = std::make_shared<contract::Script>();
  const std::shared_ptr<ClientState> client_ = std::make_shared<ClientState>(
      std::make_unique<contract::ScriptedBackend>(script_), ClientOptions{.clock = clock_});
  Failure failure_;
};

TEST_F(ReleaseCallTest, OneThreadCarriesOutSeveralInAnyOrder) {
  for (const bool is_key : {false, true}) {
    const std::size_t before = script_->released().size();
    const auto first_slot = held("first", is_key);
    const auto second_slot = held("second", is_key);
    ReleaseCall first(*first_slot, {.owner = owner_});
    ReleaseCall second(*second_slot, {.owner = owner_});
    EXPECT_TRUE(first.advance());
    EXPECT_TRUE(second.advance());
    ASSERT_EQ(script_->released().size(), before + 2) << "both are under way";
    EXPECT_GT(first.sleeps_for(), 0s);
    answer(before + 1);
    EXPECT_FALSE(second.advance());
    EXPECT_EQ(second.end(failure_), Released::released);
    EXPECT_TRUE(first.advance());
    answer(before);
    EXPECT_FALSE(first.advance());
    EXPECT_EQ(first.end(failure_), Released::released);
    EXPECT_FALSE(failure_);
    EXPECT_EQ(script_->released().size(), before + 2) << "nothing was repeated";
  }
}

// Promise: S6
TEST_F(ReleaseCallTest, ALossThatItFindsIsReportedBeforeTheCallIsGone) {
  const auto slot = held("name", false);
  const std::stop_token reported = lost(*slot, owner_);
  ReleaseCall call(*slot, {.owner = owner_});
  clock_->advance(31s);  // the lease is 30 s
  EXPECT_FALSE(call.advance());
  EXPECT_TRUE(test::eventually([&] { return reported.stop_requested(); }));
  EXPECT_EQ(call.end(failure_), Released::was_lost);
}

TEST_F(ReleaseCallTest, ACallerWithoutTimeLeavesItToTheClient) {
  for (const bool is_key : {false, true}) {
    const auto slot = held("name", is_key);
    ReleaseCall call(*slot, {.owner = owner_});
    EXPECT_TRUE(call.advance());
    call.hurry();
    EXPECT_FALSE(call.advance());
    EXPECT_EQ(call.end(failure_), Released::unknown);
    EXPECT_EQ(failure_.code == Errc::in_doubt, is_key) << failure_.text;
    EXPECT_FALSE(client_->store().background().idle()) << "the client repeats it";
    answer(script_->released().size() - 1);
    EXPECT_TRUE(client_->store().background().idle());
  }
}

}  // namespace
}  // namespace mortise::runtime
