// SPDX-License-Identifier: MIT
// Many jobs on one thread, each a coroutine: no thread waits for a lock, and the client starts
// none. The loop of this program polls two descriptors, one of them the client's. usage: coroutines
// [url]
#include <mortise/mortise.hpp>

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// The smallest coroutine: it begins at once, and nothing waits for it. Use the type of your
/// framework instead.
struct Task {
  struct promise_type {
    Task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// The loop of the program: the client, and a timer that ticks each millisecond.
class Loop {
 public:
  explicit Loop(mortise::Client& client) : client_(client) {
    const itimerspec each_millisecond{{0, 1'000'000}, {0, 1'000'000}};
    ::timerfd_settime(timer_, 0, &each_millisecond, nullptr);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { ::close(timer_); }

  /// A coroutine that awaits this continues at the next tick.
  auto tick() {
    struct Tick {
      Loop& loop;
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> task) { loop.sleepers_.push_back(task); }
      void await_resume() const noexcept {}
    };
    return Tick{*this};
  }

  // [loop]
  template <class Condition>
  void run_until(Condition is_over) {
    while (!is_over()) {
      pollfd readable[] = {{client_.descriptor(), POLLIN, 0}, {timer_, POLLIN, 0}};
      ::poll(readable, 2, -1);
      if (readable[0].revents != 0) client_.poll();  // continues coroutines that wait for locks
      if (readable[1].revents != 0) wake_sleepers();
    }
  }
  // [/loop]

 private:
  void wake_sleepers() {
    std::uint64_t ticks = 0;
    if (::read(timer_, &ticks, sizeof ticks) < 0) return;
    for (const std::coroutine_handle<> task : std::exchange(sleepers_, {})) task.resume();
  }

  mortise::Client& client_;
  const int timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  std::vector<std::coroutine_handle<>> sleepers_;
};

struct Shop {
  std::map<std::string, int> inside{};
  int overlaps = 0;
  int shipped = 0;
  int busy = 0;
};

// [ship]
Task ship(mortise::Client& client, Loop& loop, Shop& shop, std::string order) {
  mortise::Lock lock = client.make_lock("orders/" + order);
  mortise::Guard guard = co_await lock.acquire_async(5s);
  if (!guard) {  // another client has the order
    ++shop.busy;
    co_return;
  }
  if (++shop.inside[order] > 1) ++shop.overlaps;
  for (int step = 0; step < 3; ++step) co_await loop.tick();  // other jobs run in between
  --shop.inside[order];
  co_await guard.unlock_async();
  ++shop.shipped;
}
// [/ship]

}  // namespace

int main(int argc, char** argv) try {
  mortise::Client client(argc > 1 ? argv[1] : "memory:", {.drive = mortise::Drive::program});
  Loop loop(client);
  Shop shop;
  constexpr int jobs = 100;
  for (int i = 0; i < jobs; ++i) ship(client, loop, shop, i % 2 == 0 ? "42" : "43");
  loop.run_until([&] { return shop.shipped + shop.busy == jobs; });
  std::cout << shop.shipped << " jobs for 2 orders, " << shop.overlaps << " overlaps\n";
  return shop.shipped == jobs && shop.overlaps == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "coroutines: " << e.what() << "\n";
  return 2;
}
