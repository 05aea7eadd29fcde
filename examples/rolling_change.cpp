// SPDX-License-Identifier: MIT
// From another lock to Mortise without a moment with two holders, while instances are replaced one
// by one: a release in between takes both, the old one first. The other lock is a mutex here; the
// instances are threads, and two releases at a time are about, as in every rolling change.
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
std::atomic<int> meetings{0};

void work() {
  if (++inside > 1) ++meetings;
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
  side_by_side([&] { release_2(old, lock); }, [&] { release_3(lock); });  // no release 1 is left
  std::cout << "two changes, " << meetings << " meetings\n";
  return meetings == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << "rolling_change: " << e.what() << "\n";
  return 2;
}
