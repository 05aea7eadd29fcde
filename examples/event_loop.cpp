// SPDX-License-Identifier: MIT
// Locks in a program with an event loop. A call that takes or frees a lock blocks its thread, so
// other threads make these calls, and the loop runs the work. Each job is an owner of its own: with
// the thread as owner, two jobs on one thread would both hold the lock. usage: event_loop [url]
#include <mortise/mortise.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// A queue of functions, and the threads that run them. The loop has one thread.
class Queue {
 public:
  template <class Function>
  void post(Function function) {
    const std::scoped_lock lock(mutex_);
    functions_.emplace_back(std::move(function));
    changed_.notify_one();
  }
  void run(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !functions_.empty(); })) return;
      std::packaged_task<void()> next = std::move(functions_.front());
      functions_.pop_front();
      lock.unlock();
      next();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::packaged_task<void()>> functions_;
};

/// Counts the six jobs. Only the loop uses it.
struct Report {
  std::map<std::string, int> inside;
  int overlaps = 0;
  int shipped = 0;
  int busy = 0;
  std::stop_source all_done;

  void end(int& count) {
    ++count;
    if (shipped + busy == 6) all_done.request_stop();
  }
};

struct Service {
  mortise::Client client;
  Queue loop{};     // runs the work
  Queue waits{};    // its threads wait for locks
  Queue unlocks{};  // a thread of its own: all threads above may wait for a lock that it frees
  Report report{};
};

// The work takes several turns of the loop. Other jobs run in between.
void pack(Service& service, const std::string& order, int turns, mortise::Guard guard) {
  if (turns == 3 && ++service.report.inside[order] > 1) ++service.report.overlaps;
  if (turns > 0) {
    service.loop.post([&service, order, turns, guard = std::move(guard)]() mutable {
      pack(service, order, turns - 1, std::move(guard));
    });
    return;
  }
  --service.report.inside[order];
  service.report.end(service.report.shipped);
  service.unlocks.post([guard = std::move(guard)] {});
}

// [loop]
void ship(Service& service, const std::string& order) {
  service.waits.post([&service, order] {
    std::error_code ec;
    mortise::Guard guard(service.client, "orders/" + order,
                         {.wait = 5s, .owner = mortise::Owner::unique()}, ec);
    service.loop.post([&service, order, guard = std::move(guard)]() mutable {  // with the hold
      if (guard) return pack(service, order, 3, std::move(guard));
      service.report.end(service.report.busy);  // guard.error_text() has the reason
    });
  });
}
// [/loop]

}  // namespace

int main(int argc, char** argv) try {
  Service service{.client = mortise::Client(argc > 1 ? argv[1] : "memory:")};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&](const std::stop_token& stop) { service.waits.run(stop); });
  }
  threads.emplace_back([&](const std::stop_token& stop) { service.unlocks.run(stop); });
  for (int i = 0; i < 6; ++i) ship(service, i % 2 == 0 ? "42" : "43");
  const Report& report = service.report;
  service.loop.run(report.all_done.get_token());
  threads.clear();
  std::cout << report.shipped << " jobs for 2 orders, " << report.overlaps << " overlaps\n";
  return report.shipped == 6 && report.overlaps == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "event_loop: " << e.what() << "\n";
  return 2;
}
