// SPDX-License-Identifier: MIT
// Goal: the calls do what their headers say, in the corners as well: contention without an error,
// any duration, temporaries, strangers, two threads that close, no memory. Method: a backend that
// the test plays by hand, on a clock in its hand.
#include "support/contract_core.hpp"
#include "support/contract_worker.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <ratio>
#include <string>
#include <thread>
#include <vector>

namespace mortise::contract {
namespace {

using test::eventually;
using test::Signal;

class Interface : public CoreAnswers {
 protected:
  /// A name that a stranger holds for ever.
  void be_busy() {
    be_kind();
    script_->on_acquire = [](const auto& operation) {
      if (operation->request().wait) {
        operation->queued(std::nullopt);
      } else {
        operation->busy(std::nullopt);
      }
    };
  }
};

TEST_F(Interface, ContentionIsNoErrorOfATry) {
  be_busy();
  Client client(std::make_unique<ScriptedBackend>(script_));
  Lock lock = client.make_lock("name");
  std::error_code ec = Errc::protocol;
  EXPECT_FALSE(lock.try_lock(ec));
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  EXPECT_FALSE(lock.try_lock_for(2ms, ec));
  EXPECT_FALSE(ec);
  ec = Errc::protocol;
  EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::now() + 2ms, ec));
  EXPECT_FALSE(ec);
  // These tell why.
  EXPECT_FALSE(lock.acquire({.wait = 2ms}, ec));
  EXPECT_EQ(ec, Errc::timeout);
  const Guard guard(lock, {.wait = 2ms}, ec);
  EXPECT_EQ(ec, Errc::timeout);
  EXPECT_EQ(guard.error(), Errc::timeout);
}

/// A clock that stands still while the lock's own clock runs.
struct LateClock {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = std::chrono::milliseconds;
  using time_point = std::chrono::time_point<LateClock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static inline std::atomic<int> looks{0};
  static time_point now() { return time_point(std::chrono::milliseconds(looks.fetch_add(1) / 2)); }
};

TEST_F(Interface, AMomentIsLookedAtAgainWithoutExceptionsToo) {
  be_busy();
  Client client(std::make_unique<ScriptedBackend>(script_));
  Lock lock = client.make_lock("name");
  std::error_code ec;
  LateClock::looks = 0;
  const int before = script_->acquires.load();
  EXPECT_FALSE(lock.try_lock_until(LateClock::time_point(3ms), ec));
  EXPECT_FALSE(ec);
  EXPECT_GE(script_->acquires.load() - before, 2) << "its clock said that there was time left";
}

TEST_F(Interface, AnyDurationIsAWait) {
  be_busy();
  Client client(std::make_unique<ScriptedBackend>(script_));
  Lock lock = client.make_lock("name");
  using Years = std::chrono::duration<std::int64_t, std::ratio<31'556'952>>;
  std::error_code ec;
  const auto returns = [&](auto wait) {
    EXPECT_FALSE(lock.try_lock_for(wait, ec));
    EXPECT_FALSE(ec);
  };
  returns(std::chrono::hours(-3'000'000));
  returns(Years::min());
  returns(std::chrono::nanoseconds::min());
  returns(std::chrono::duration<double>(-1e300));
  returns(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(
      lock.try_lock_until(std::chrono::time_point<std::chrono::system_clock, Years>::min()));
  EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::time_point::min()));
  EXPECT_FALSE(lock.acquire({.wait = std::chrono::nanoseconds::min()}));
  // What is too long to count is a wait without end; here it ends with the grant.
  be_kind();
  script_->on_acquire = [this](const auto& operation) {
    operation->granted({.number = ++number_, .counted_from = BootClock::now(), .lease = 30s});
  };
  const auto takes = [&](auto call) {
    EXPECT_TRUE(call());
    lock.unlock();
  };
  takes([&] { return lock.try_lock_for(Years::max()); });
  takes([&] { return lock.try_lock_for(std::chrono::hours(3'000'000)); });
  takes([&] { return lock.try_lock_for(std::chrono::nanoseconds::max()); });
  takes([&] { return lock.try_lock_for(std::chrono::duration<double>(1e300)); });
  takes([&] { return lock.try_lock_until(std::chrono::steady_clock::time_point::max()); });
  takes([&] {
    return lock.try_lock_until(std::chrono::time_point<std::chrono::system_clock, Years>::max());
  });
}

TEST_F(Interface, AStrangerReleasesNothing) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  std::error_code ec;
  EXPECT_EQ(lock.release(ec, Owner::unique()), Released::was_lost);
  EXPECT_EQ(ec, Errc::not_owner);
  EXPECT_EQ(lock.hold_count(), 1U);
  lock.lock();
  EXPECT_EQ(lock.release(ec), Released::released) << "an inner unlock of a hold that stands";
  EXPECT_EQ(lock.release(ec), Released::released);
  EXPECT_EQ(lock.release(ec), Released::was_lost);
  EXPECT_EQ(ec, Errc::not_owner);
}

TEST_F(Interface, AGuardMayBeMadeOfATemporary) {
  be_kind();
  Client client = open();
  const Guard guard(client.make_lock("name"));
  EXPECT_TRUE(guard);
  EXPECT_EQ(guard.name(), "name");
  std::error_code ec;
  const Guard other(client.make_lock("other"), {.wait = 1s}, ec);
  EXPECT_TRUE(other);
  EXPECT_GT(other.valid_for(), 0ns);
}

// Promise: L4
TEST_F(Interface, ASecondCloseReturnsAfterTheFirst) {
  be_kind();
  Signal first_waits;
  Signal answered;
  // The first close waits for the answer to this release.
  script_->on_release = [&](const auto& operation) {
    first_waits.set();
    std::thread([&answered, operation] {
      EXPECT_TRUE(answered.wait());
      operation->answered(Released::released);
    }).detach();
  };
  Client client = open();
  Lock lock = client.make_lock("name");
  lock.lock();
  std::atomic<bool> first_ended{false};
  Worker first;
  auto closed = first.start([&] {
    client.close();
    first_ended = true;
  });
  ASSERT_TRUE(first_waits.wait());
  Worker second;
  auto seen = second.start([&] {
    client.close();
    return script_->stopped.load();
  });
  ASSERT_TRUE(second.falls_asleep());
  answered.set();
  EXPECT_TRUE(seen.get()) << "the second returned while the first was at work";
  closed.get();
}

TEST_F(Interface, ACheckEndsWithItsClient) {
  // Asked too late, or its message was lost: the backend never answers.
  Signal asked;
  script_->on_check = [&](const auto& /*operation*/) { asked.set(); };
  Client client = open();
  Worker worker;
  auto outcome = worker.start([&] {
    std::error_code ec;
    client.check(1h, ec);
    return ec;
  });
  ASSERT_TRUE(asked.wait());
  client.close();
  ASSERT_EQ(outcome.wait_for(test::patience), std::future_status::ready);
  EXPECT_EQ(outcome.get(), Errc::closed);
}

TEST_F(Interface, CloseInsideOfACallbackWaitsForNobody) {
  be_kind();
  Client client = open();
  Lock lock = client.make_lock("name", {.lease = 30s, .renew = false});
  lock.lock();
  Signal inside;
  Signal go_on;
  std::atomic<bool> returned{false};
  const std::stop_callback callback(lock.lost(), [&] {
    inside.set();
    EXPECT_TRUE(go_on.wait());
    client.close();
    returned = true;
  });
  clock_->advance(30s);
  ASSERT_TRUE(inside.wait());
  Worker closer;
  auto closed = closer.start([&] { client.close(); });
  ASSERT_TRUE(closer.falls_asleep());
  go_on.set();
  EXPECT_TRUE(eventually([&] { return returned.load(); }));
  closed.get();
}

// Promise: S6
TEST_F(Interface, BlockedCallbacksDelayNoOtherLoss) {
  be_kind();
  class Blocks final : public Observer {
   public:
    void lost(const Event&, const Failure&) noexcept override { EXPECT_TRUE(go_on.wait()); }
    Signal go_on;
  };
  const auto observer = std::make_shared<Blocks>();
  Client client = open({.observer = observer});
  constexpr std::size_t blocked = 12;
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> callbacks;
  std::vector<std::stop_token> lost;
  Signal go_on;
  std::atomic<std::size_t> inside{0};
  for (std::size_t i = 0; i <= blocked; ++i) {
    Lock lock = client.make_lock("name" + std::to_string(i), {.lease = 30s, .renew = false});
    lock.lock();
    lost.push_back(lock.lost());
    if (i == blocked) break;
    callbacks.push_back(
        std::make_unique<std::stop_callback<std::function<void()>>>(lost.back(), [&] {
          ++inside;
          EXPECT_TRUE(go_on.wait());
        }));
  }
  clock_->advance(30s);
  EXPECT_TRUE(eventually([&] { return inside.load() == blocked; }));
  EXPECT_TRUE(eventually([&] {
    return std::all_of(lost.begin(), lost.end(), [](const auto& t) { return t.stop_requested(); });
  }));
  go_on.set();
  observer->go_on.set();
  callbacks.clear();
}

}  // namespace
}  // namespace mortise::contract
