// SPDX-License-Identifier: MIT
// Goal: all handles of one name and client are one lock, also where the name's last handle goes as
// the next one comes (S1). Method: a slot is held up in its destructor, which takes its timer from
// the background thread, by somebody who reads the clock under the same mutex.
#include <mortise/memory.hpp>

#include "runtime/call/acquire_call.hpp"
#include "runtime/call/release_call.hpp"
#include "runtime/hold/slot.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace mortise::runtime {
namespace {

/// Stands still for one thread.
class StoppingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (std::this_thread::get_id() == stopped_.load()) {
      reached_.store(true);
      go_on_.wait(false);
    }
    return BootClock::now();
  }
  void stop_me() { stopped_.store(std::this_thread::get_id()); }
  [[nodiscard]] bool reached() const { return reached_.load(); }
  void go_on() {
    go_on_.store(true);
    go_on_.notify_all();
  }

 private:
  std::atomic<std::thread::id> stopped_;
  mutable std::atomic<bool> reached_{false};
  std::atomic<bool> go_on_{false};
};

class SlotTableTest : public ::testing::Test {
 protected:
  ~SlotTableTest() override { client_->close(); }
  /// A slot whose timer is in the background's heap.
  [[nodiscard]] std::shared_ptr<Slot> used_slot() {
    std::shared_ptr<Slot> slot = client_->slot(name_);
    Failure failure = acquire(*slot, client_->terms().of({}), {}, nullptr);
    EXPECT_FALSE(failure) << failure.text;
    EXPECT_EQ(ReleaseCall(*slot, {}).run(failure), Released::released);
    return slot;
  }

  const std::string name_ = std::string(40, 'n');  // on the heap: a view of one that is gone shows
  memory::Server server_;
  const std::shared_ptr<StoppingClock> clock_ = std::make_shared<StoppingClock>();
  const std::shared_ptr<ClientState> client_ =
      std::make_shared<ClientState>(server_.backend(), ClientOptions{.clock = clock_});
};

TEST_F(SlotTableTest, ASlotThatGoesLeavesItsPlaceToItsSuccessor) {
  client_->start();
  std::shared_ptr<Slot> slot = used_slot();
  const std::weak_ptr<Slot> before = slot;
  std::jthread in_the_way([&] {
    clock_->stop_me();
    client_->store().background().serve_later();
  });
  EXPECT_TRUE(test::eventually([&] { return clock_->reached(); }));
  std::jthread going([slot = std::move(slot)]() mutable { slot.reset(); });
  EXPECT_TRUE(test::eventually([&] { return before.expired(); }));

  EXPECT_EQ(client_->names().table().find({.name = name_}), nullptr);
  const std::shared_ptr<Slot> successor = client_->slot(name_);
  EXPECT_EQ(client_->names().table().find({.name = name_}), successor);
  clock_->go_on();
  going.join();
  EXPECT_EQ(client_->names().table().find({.name = name_}), successor)
      << "it was forgotten with the one before";
  EXPECT_EQ(client_->slot(name_), successor);
}

}  // namespace
}  // namespace mortise::runtime
