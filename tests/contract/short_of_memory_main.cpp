// SPDX-License-Identifier: MIT
// A program that takes and frees a lock again and again, and each time the next allocation of its
// thread fails. Whichever fails, the call says so, and nothing stays behind: no hold that nobody
// owns, no name that nobody can take. Exit status: the first round that left something behind, 255
// for a later one; 0 = none did.
#include <mortise/memory.hpp>
#include <mortise/mortise.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace {

// Allocations of this thread until one fails; 0 = none will.
thread_local long until_failure = 0;

void* allocate(std::size_t size) {
  if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace {

using namespace std::chrono_literals;

// Nobody listens there; whoever connects is refused at once, again and again.
constexpr const char* unreachable[] = {"redis://127.0.0.1:1",
                                       "redlock://127.0.0.1:1,127.0.0.2:1,127.0.0.3:1",
                                       "postgresql://127.0.0.1:1/none", "zookeeper://127.0.0.1:1"};

/// What a program does with a lock.
enum class Use { guard, lock, release };

struct Outcome {
  bool reached = false;  ///< so many allocations there were
  bool taken = true;     ///< the call that takes the lock did not throw
};

Outcome use(mortise::Lock& lock, Use how, long fails_at) {
  Outcome outcome;
  const auto arm = [fails_at] { until_failure = fails_at; };
  const auto disarm = [&] {
    outcome.reached = until_failure == 0;
    until_failure = 0;
  };
  try {
    if (how != Use::release) arm();
    if (how == Use::guard) {
      const mortise::Guard guard(lock);
    } else {
      lock.lock();
      if (how == Use::lock) disarm();
      if (how == Use::release) arm();
      static_cast<void>(lock.release());
    }
    if (how != Use::lock) disarm();
  } catch (const std::bad_alloc&) {
    disarm();
    outcome.taken = false;
  }
  return outcome;
}

// Closes a client that holds names and has a waiter. @return whether so many allocations there were
bool close(int round, long fails_at) {
  mortise::memory::Server server;
  mortise::Client client(server.backend());
  std::vector<mortise::Lock> held;
  for (const char* const name : {"one", "two", "three"}) {
    held.push_back(client.lock(name, {.lease = 30s}));
    held.back().lock();
  }
  const std::stop_token lost = held.front().lost();
  std::thread waiter([lock = client.lock("one")]() mutable {
    std::error_code ec;
    lock.lock(ec);
  });
  // It waits; where it does not yet, it is refused.
  std::this_thread::sleep_for(2ms);
  until_failure = fails_at;
  client.close();
  const bool reached = until_failure == 0;
  until_failure = 0;
  waiter.join();
  for (const mortise::Lock& lock : held) {
    if (lock.valid_for() == 0ns) continue;
    std::printf("close, allocation %ld: %s is believed in\n", fails_at, lock.name().c_str());
    std::exit(std::min(round, 255));
  }
  return reached;
}

/// Closes a client that has a waiter, and whose servers do not answer.
bool close_unreached(const char* url, long fails_at) {
  mortise::Client client(url);
  std::thread waiter([lock = client.lock("name")]() mutable {
    std::error_code ec;
    lock.lock(ec);
  });
  std::thread asker([&client] {
    std::error_code ec;
    client.check(1h, ec);
  });
  std::this_thread::sleep_for(2ms);
  until_failure = fails_at;
  client.close();
  const bool reached = until_failure == 0;
  until_failure = 0;
  waiter.join();
  asker.join();
  return reached;
}

}  // namespace

int main() {
  int round = 0;
  for (const char* const url : unreachable) {
    for (long fails_at = 1; close_unreached(url, fails_at); ++fails_at) ++round;
  }
  for (long fails_at = 1; close(++round, fails_at); ++fails_at) {
  }
  for (const Use how : {Use::guard, Use::lock, Use::release}) {
    for (long fails_at = 1;; ++fails_at) {
      ++round;
      mortise::memory::Server server;
      mortise::Client client(server.backend());
      mortise::Client other(server.backend());
      mortise::Lock lock = client.lock("name", {.lease = 30s});
      const Outcome outcome = use(lock, how, fails_at);
      // A release that could not be sent leaves the server with a lease that nobody renews; a call
      // that failed to take the lock leaves nothing.
      const bool unsent = outcome.taken && how != Use::lock;
      const bool free_here = lock.hold_count() == 0;
      const bool free_there = unsent || other.lock("name").try_lock_for(1s);
      if (!free_here || !free_there) {
        std::printf("use %d, allocation %ld: here %d, there %d\n", static_cast<int>(how), fails_at,
                    free_here, free_there);
        return std::min(round, 255);
      }
      if (!outcome.reached) break;
    }
  }
  return 0;
}
