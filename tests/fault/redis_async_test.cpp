// SPDX-License-Identifier: MIT
// Goal: a program that drives its client needs no second thread and is never held up, whatever the
// server does (L3). Method: coroutines on a client without threads, next to a Redis that stands
// still; counts of threads; the time of each `poll()`.
#include "fault/redis_fixture.hpp"
#include "support/detached.hpp"
#include "support/own_time.hpp"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stop_token>
#include <vector>

namespace mortise::fault {
namespace {

using namespace std::chrono_literals;
using test::Detached;
using test::driven_until;

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class RedisAsync : public RedisTest {
 protected:
  [[nodiscard]] Client driven() { return client({.drive = Drive::program}); }
};

struct Takers {
  int inside = 0;
  int most = 0;
  int over = 0;
  int failed = 0;
};

Detached take_turn(Client& client, Takers& takers) {
  Guard guard = co_await client.make_lock("name").acquire_async();
  if (!guard) ++takers.failed;
  takers.most = std::max(takers.most, ++takers.inside);
  co_await client.make_lock("other name").acquire_async(0ms);  // others run meanwhile
  --takers.inside;
  co_await guard.unlock_async();
  ++takers.over;
}

// Promise: S1, L2
TEST_F(RedisAsync, AThousandCoroutinesOfOneThreadTakeTurns) {
  Client one = driven();
  Client other = driven();
  Takers takers;
  constexpr int many = 500;
  for (int i = 0; i < many; ++i) {
    take_turn(one, takers);
    take_turn(other, takers);
  }
  const std::ptrdiff_t before = thread_count();
  std::ptrdiff_t most = before;
  const bool all = eventually([&] {
    for (Client* const client : {&one, &other}) {
      pollfd readable{.fd = client->descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&readable, 1, 1);
      client->poll();
    }
    most = std::max(most, thread_count());
    return takers.over == 2 * many;
  });
  EXPECT_TRUE(all) << takers.over;
  EXPECT_EQ(takers.most, 1);
  EXPECT_EQ(takers.failed, 0);
  EXPECT_EQ(most, before) << "a client without threads has started one";
  expect_free("name");
}

TEST_F(RedisAsync, TheDescriptorRestsWhenThereIsNothingToDo) {
  Client one = driven();
  std::optional<Guard> held;
  one.make_lock("name").acquire_async().start([&](Guard guard) { held = std::move(guard); });
  ASSERT_TRUE(driven_until(one, [&] { return held.has_value(); }));
  int awake = 0;
  for (int i = 0; i < 20; ++i) {
    pollfd readable{.fd = one.descriptor(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 20) > 0) ++awake;
    one.poll();
  }
  EXPECT_LE(awake, 5) << "the loop turns without a reason";
}

// Promise: L3
TEST_F(RedisAsync, AServerThatStandsStillDoesNotHoldUpTheProgram) {
  Client one = driven();
  std::vector<Guard> held;
  Takers takers;
  for (const char* const name : {"a", "b"}) {
    one.make_lock(name).acquire_async().start([&](Guard guard) {
      ASSERT_TRUE(guard) << guard.error_text();
      held.push_back(std::move(guard));
    });
  }
  ASSERT_TRUE(driven_until(one, [&] { return held.size() == 2; }));
  server().stop();
  std::chrono::nanoseconds longest{0};
  const auto timed = [&](auto work) {
    longest = std::max<std::chrono::nanoseconds>(longest, test::own_duration_of(work));
  };
  std::optional<Released> outcome;
  std::optional<std::error_code> timed_out;
  timed([&] { held.pop_back(); });
  timed([&] { held.front().unlock_async().start([&](Released found) { outcome = found; }); });
  timed([&] {
    one.make_lock("c").acquire_async({.wait = 300ms}).start([&](const Guard& guard) {
      timed_out = guard.error();
    });
  });
  for (int i = 0; i < 8; ++i) take_turn(one, takers);
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < until) {
    pollfd readable{.fd = one.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&readable, 1, 20);
    timed([&] { one.poll(); });
  }
  EXPECT_LT(longest, 50ms);
  EXPECT_TRUE(timed_out.has_value()) << "the wait has no limit";
  EXPECT_EQ(outcome, Released::unknown);
  server().resume();
  EXPECT_TRUE(driven_until(one, [&] { return takers.over == 8; })) << takers.over;
  EXPECT_EQ(takers.most, 1);
  EXPECT_EQ(takers.failed, 0);
  for (const char* const name : {"a", "b", "c", "name"}) {
    EXPECT_TRUE(driven_until(one, [&] { return !is_held(name); })) << name;
  }
}

// Promise: S1, L2
TEST_F(RedisAsync, AWaitThatIsStoppedAsItIsGrantedLeavesNothing) {
  Client holder = client();
  for (const Drive drive : {Drive::threads, Drive::program}) {
    Client one = client({.drive = drive});
    int granted = 0;
    int cancelled = 0;
    for (int i = 0; i < 200; ++i) {
      Lock held = holder.make_lock("name");
      held.lock();
      std::stop_source stop;
      std::atomic<int> ended{0};
      bool got = false;
      one.make_lock("name")
          .acquire_async({.stop = stop.get_token()})
          .start([&](const Guard& guard) {
            got = static_cast<bool>(guard);
            ++ended;
          });
      one.poll();
      if (i % 4 != 0) {
        ASSERT_TRUE(driven_until(one, [&] { return waiting("name") == 1; }));
      }
      if (i % 2 == 0) stop.request_stop();
      held.unlock();
      stop.request_stop();
      ASSERT_TRUE(driven_until(one, [&] { return ended == 1; }));
      ++(got ? granted : cancelled);
    }
    EXPECT_EQ(granted + cancelled, 200);
    EXPECT_TRUE(driven_until(one, [&] { return !is_held("name") && waiting("name") == 0; }));
  }
}

}  // namespace
}  // namespace mortise::fault
