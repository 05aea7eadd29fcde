// SPDX-License-Identifier: MIT
// Goal: a hold has the vote of every server that can be asked, also where the thread that asks is
// overtaken by the answers. Method: the backend alone; one thread asks, and stands still each time
// it looks at the clock, while another one reads what the servers say.
#include "fault/redlock_fixture.hpp"
#include "redlock/redlock_backend.hpp"
#include "support/one_shot_host.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace mortise::fault {
namespace {

/// Real time. The thread that says so stands still when it has looked so often.
class StoppingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    if (looks_left > 0 && --looks_left == 0) {
      stands.store(true);
      while (!goes_on.load()) std::this_thread::sleep_for(1ms);
    }
    return BootClock::now();
  }
  static thread_local int looks_left;
  mutable std::atomic<bool> stands{false};
  std::atomic<bool> goes_on{false};
};
thread_local int StoppingClock::looks_left = 0;

class RedlockOvertaken : public RedlockTest {
 protected:
  void poll(const Operation& until, std::chrono::milliseconds at_most) {
    host_->run(until, at_most);
  }
  const std::shared_ptr<StoppingClock> clock_ = std::make_shared<StoppingClock>();
  const std::unique_ptr<test::OneShotHost> host_ = std::make_unique<test::OneShotHost>(clock_);
};

TEST_F(RedlockOvertaken, ByTheAnswersItHasEveryVoteAllTheSame) {
  redlock::RedlockBackend backend(redlock::Settings::parse(servers().url()));
  backend.start(*host_);
  const auto check = std::make_shared<Check>();
  backend.check(check);
  poll(*check, patience);
  ASSERT_TRUE(check->done());
  const Check never_done;
  for (int look = 1; look <= 8; ++look) {
    const std::string name = "name " + std::to_string(look);
    const auto operation = std::make_shared<Acquisition>(
        Acquisition::Request{.attempt = {1, 2, static_cast<std::uint64_t>(look)},
                             .name = name,
                             .lease = 30s,
                             .label = "label"});
    clock_->stands.store(false);
    clock_->goes_on.store(false);
    std::thread asks([&] {
      StoppingClock::looks_left = look;
      backend.acquire(operation);
      StoppingClock::looks_left = 0;
      clock_->stands.store(true);
    });
    EXPECT_TRUE(eventually([&] { return clock_->stands.load(); }));
    poll(*operation, 100ms);  // it is granted, where enough were asked by now
    clock_->goes_on.store(true);
    asks.join();
    poll(*operation, patience);
    ASSERT_NE(operation->grant().number, 0U) << "after look " << look;
    for (int time = 0; time < 50 && holds(name) < servers().size(); ++time) {
      poll(never_done, 10ms);
    }
    EXPECT_EQ(holds(name), servers().size()) << "after look " << look;
  }
  backend.stop();
}

}  // namespace
}  // namespace mortise::fault
