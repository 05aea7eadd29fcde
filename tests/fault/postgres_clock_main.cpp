// SPDX-License-Identifier: MIT
// A client whose wall clock is stepped while it holds, renews and waits: every reading of it, by
// the library and by libpq, goes through this program's own clock_gettime(). It returns 0 where no
// step changed anything, else the number of the step that did.
#include <mortise/mortise.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

namespace {

std::atomic<std::int64_t> ahead{0};  // of CLOCK_REALTIME, in seconds

}  // namespace

// Found before that of the C library, also by the shared libraries of this program. The names of
// its parameters there are reserved ones.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) time->tv_sec += ahead.load();
  return result;
}

int main(int count, char** arguments) {
  using namespace std::chrono_literals;
  if (count != 2) return 100;
  try {
    const auto wall = std::chrono::system_clock::now();
    ahead = 3600;
    if (std::chrono::system_clock::now() - wall < 50min) return 101;  // it is not in force
    ahead = 0;
    mortise::Client mine(arguments[1]);
    mortise::Client other(arguments[1]);
    mortise::Lock lock = mine.make_lock("a", {.lease = 900ms});
    mortise::Lock same = other.make_lock("a");
    mortise::Token last;
    int step = 0;
    for (const std::int64_t seconds : {3600, -3600, 86'400 * 400}) {
      ++step;
      lock.lock();
      ahead = seconds;
      if (!(lock.token() > last)) return step;
      last = lock.token();
      // Renewals go on, and nobody else gets it.
      if (same.try_lock_for(1s)) return step;
      if (lock.valid_for() == 0ns || lock.lost().stop_requested()) return step;
      if (lock.release() != mortise::Released::released) return step;
      if (!same.try_lock()) return step;
      if (same.release() != mortise::Released::released) return step;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 102;
  }
}
