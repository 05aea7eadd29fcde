// SPDX-License-Identifier: MIT
// A service changes from another lock to Mortise while its instances are replaced one by one. There
// are never two holders, because a release in between takes both locks, the old one first. Here the
// old lock is a mutex, the instances are threads, and two releases run side by side at a time.
#include <mortise/mortise.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

using OldLock = std::mutex;

std::atomic<int> inside{0};
std::atomic<int> overlaps{0};

void work() {
  if (++inside > 1) ++overlaps;
  std::this_thread::sleep_for(100us);
  --inside;
}

void release_1(OldLock& old) {
  const std::scoped_lock hold(old);
  work();
}

// [both]
void release_2(OldLock& old, mortise::Lock& lock) {
  const std::scoped_lock first(old);                 // keeps instances of release 1 out
  const mortise::Guard second(lock, {.wait = 10s});  // keeps instances of release 3 out
  if (second) work();
}
// [/both]

void release_3(mortise::Lock& lock) {
  const mortise::Guard hold(lock, {.wait = 10s});
  if (hold) work();
}

template <class Before, class After>
void side_by_side(Before before, After after) {
  std::vector<std::jthread> instances;
  for (int i = 0; i < 4; ++i) {
    instances.emplace_back([&, i] {
      for (int n = 0; n < 100; ++n) i % 2 == 0 ? before() : after();
    });
  }
}

}  // namespace

int main() try {
  mortise::Client client("memory:");
  mortise::Lock lock = client.make_lock("stock");
  OldLock old;
  side_by_side([&] { release_1(old); }, [&] { release_2(old, lock); });
  side_by_side([&] { release_2(old, lock); }, [&] { release_3(lock); });  // release 1 has ended
  std::cout << "two changes, " << overlaps << " overlaps\n";
  return overlaps == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "rolling_change: " << e.what() << "\n";
  return 2;
}
