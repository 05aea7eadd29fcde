// SPDX-License-Identifier: MIT
// Preloaded into a real redis-server: its wall clock is what a test wrote into a file, so that the
// model, whose clock stands still between two commands, can be compared with it to the millisecond.
// What does not step (CLOCK_MONOTONIC) goes on, or its timers would stand still.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t microseconds = 1'000'000;

/// @return the file's clock, in us since 1970; null = there is none
const std::atomic<std::int64_t>* open_clock() {
  const char* const path = std::getenv("MORTISE_FAKE_CLOCK");
  if (path == nullptr) return nullptr;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) std::abort();
  void* const place =
      ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (place == MAP_FAILED) std::abort();
  return static_cast<const std::atomic<std::int64_t>*>(place);
}

const std::atomic<std::int64_t>* fake() {
  static const std::atomic<std::int64_t>* const clock = open_clock();
  return clock;
}

using RealClock = int (*)(clockid_t, timespec*);

RealClock real_clock() {
  static const auto found = reinterpret_cast<RealClock>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return found;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* out) noexcept {
  const bool wall = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
  if (!wall || fake() == nullptr) return real_clock()(which, out);
  const std::int64_t now = fake()->load(std::memory_order_acquire);
  out->tv_sec = now / microseconds;
  out->tv_nsec = now % microseconds * 1000;
  return 0;
}

int gettimeofday(timeval* __restrict out, void* __restrict /*zone*/) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
