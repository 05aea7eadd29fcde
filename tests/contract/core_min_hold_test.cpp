// SPDX-License-Identifier: MIT
// Goal: what the store is told of a hold that is kept is right, is said until it is heard, and is
// not undone by what was said before. Method: a backend that the test plays by hand, and a clock in
// its hand.
#include "support/contract_core.hpp"

#include <mutex>
#include <vector>

namespace mortise::contract {
namespace {

class CoreMinHold : public CoreAnswers {
 protected:
  void SetUp() override {
    be_kind();
    script_->can.min_hold = Support::yes;
    script_->on_renew = [this](const std::shared_ptr<Renewal>& operation) {
      Renewal::Item& item = operation->items().front();
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(item);
      }
      if (silent_.load()) return;
      item.answer = answer_.load();
      item.counted_from = clock_->now();
      item.granted = item.lease;
      operation->answered();
    };
  }
  std::vector<Renewal::Item> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  std::atomic<bool> silent_{false};
  std::atomic<Renewal::Answer> answer_{Renewal::Answer::renewed};

 private:
  std::mutex mutex_;
  std::vector<Renewal::Item> asked_;
};

const LockOptions nightly{.lease = 30s, .min_hold = 10min};

// Promise: M1
TEST_F(CoreMinHold, TellsTheStoreWhenTheHoldEnds) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  const Token token = lock.token();
  clock_->advance(5s);
  EXPECT_EQ(lock.release(), Released::released);
  ASSERT_EQ(asked().size(), 1U);
  EXPECT_EQ(asked()[0].lease, 10min - 5s + 600ms);
  EXPECT_EQ(asked()[0].hold.name, "nightly");
  EXPECT_EQ(asked()[0].hold.number, token.value() / 1024);
  clock_->advance(10min - 5s);
  // By then the background has looked, if it ever does.
  EXPECT_FALSE(test::happens_within([&] { return !script_->released().empty(); }, 100ms))
      << "the store's clock may be slower";
  clock_->advance(600ms);
  ASSERT_TRUE(test::eventually([&] { return !script_->released().empty(); }));
  EXPECT_EQ(script_->released()[0]->hold().number, token.value() / 1024);
  clock_->advance(20min);
  EXPECT_FALSE(test::happens_within([&] { return script_->released().size() > 1; }, 100ms));
  EXPECT_EQ(asked().size(), 1U) << "no client renews it";
}

// Promise: M1
TEST_F(CoreMinHold, IsReleasedInTimeIfTheStoreWasNotHeard) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  silent_.store(true);
  EXPECT_EQ(lock.release(), Released::unknown);
  clock_->advance(10min - 1s);
  EXPECT_FALSE(test::happens_within([&] { return !script_->released().empty(); }, 100ms));
  clock_->advance(2s);
  EXPECT_TRUE(test::eventually([&] { return script_->released().size() == 1; }));
}

TEST_F(CoreMinHold, ThatTheStoreDoesNotKnowIsNotReleased) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  answer_.store(Renewal::Answer::lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
  clock_->advance(11min);
  EXPECT_FALSE(test::happens_within([&] { return !script_->released().empty(); }, 100ms));
}

TEST_F(CoreMinHold, IsWasLostWhereTheStoreSaysSo) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  answer_.store(Renewal::Answer::lost);
  EXPECT_EQ(lock.release(), Released::was_lost);
}

// Promise: M1
TEST_F(CoreMinHold, IsSaidAgainWithWhatIsLeft) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  silent_.store(true);
  EXPECT_EQ(lock.release(), Released::unknown);
  EXPECT_EQ(lock.hold_count(), 0U);
  const std::size_t said = asked().size();
  ASSERT_EQ(said, 2U) << "once, and once more before the caller is let go";
  silent_.store(false);
  clock_->advance(2s);
  ASSERT_TRUE(test::eventually([&] { return asked().size() > said; }));
  EXPECT_EQ(asked().back().lease, 10min - 2s + 600ms);
  const std::size_t heard = asked().size();
  clock_->advance(1min);
  EXPECT_FALSE(test::happens_within([&] { return asked().size() > heard; }, 100ms))
      << "it was heard";
}

// An ordinary renewal of which no answer came may be carried out later than the word that the hold
// is kept, and have it end with its own, shorter lease.
// Promise: M1
TEST_F(CoreMinHold, IsSaidAgainWhereARenewalMayComeLate) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  lock.lock();
  silent_.store(true);
  clock_->advance(10s);
  ASSERT_TRUE(test::eventually([&] { return !asked().empty(); }));
  EXPECT_EQ(asked().back().lease, 30s);
  silent_.store(false);
  EXPECT_EQ(lock.release(), Released::released);
  const std::size_t said = asked().size();
  EXPECT_GT(asked().back().lease, 9min);
  clock_->advance(2s);
  ASSERT_TRUE(test::eventually([&] { return asked().size() > said; }));
  EXPECT_EQ(asked().back().lease, 10min - 12s + 600ms);
  clock_->advance(4min);
  ASSERT_TRUE(test::eventually([&] { return asked().size() > said + 1; }));
  const std::size_t last = asked().size();
  clock_->advance(1min);
  // By then the background has looked again, if it ever does.
  EXPECT_FALSE(test::happens_within([&] { return asked().size() > last; }, 100ms))
      << "no request is as late as that";
}

// Promise: M1
TEST_F(CoreMinHold, IsSaidOfWhatIsHeldWhenTheClientCloses) {
  Client client = open();
  Lock lock = client.make_lock("nightly", nightly);
  Lock old = client.make_lock("old", {.lease = 30s, .min_hold = 1s});
  old.lock();
  clock_->advance(2s);
  lock.lock();
  client.close();
  ASSERT_EQ(asked().size(), 1U);
  EXPECT_EQ(asked()[0].hold.name, "nightly");
  EXPECT_EQ(asked()[0].lease, 10min + 600ms);
  ASSERT_EQ(script_->released().size(), 1U);
  EXPECT_EQ(script_->released()[0]->hold().name, "old");
}

TEST_F(CoreMinHold, IsUnsupportedUnlessTheBackendSaysThatItCan) {
  script_->can.min_hold = Support::unknown;
  Client client = open();
  EXPECT_THROW(static_cast<void>(client.make_lock("nightly", nightly)), Error);
  client.make_lock("nightly").lock();
}

}  // namespace
}  // namespace mortise::contract
