// SPDX-License-Identifier: MIT
// Time and luck: see system.hpp.
#include "simulation/world/system.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

using namespace simulation;
using namespace simulation::system;

extern "C" {

int __real_clock_gettime(clockid_t, timespec*);
int __wrap_clock_gettime(clockid_t id, timespec* time) {
  if (World::current() == nullptr) return __real_clock_gettime(id, time);
  if (self() == nullptr) {
    // The world looks at a clock for a process: see Room::as.
    const Process* const looked = Room::current()->looked_at;
    *time = to_timespec(looked != nullptr ? looked->boot_time() : world().now());
    return 0;
  }
  *time = to_timespec(read_clock(id));
  return 0;
}
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
  return self() == nullptr ? __real__ZNSt6chrono3_V212steady_clock3nowEv()
                           : read_clock(CLOCK_MONOTONIC).count();
}
std::int64_t __real__ZNSt6chrono3_V212system_clock3nowEv();
std::int64_t __wrap__ZNSt6chrono3_V212system_clock3nowEv() {
  return self() == nullptr ? __real__ZNSt6chrono3_V212system_clock3nowEv()
                           : read_clock(CLOCK_REALTIME).count();
}
int __real_gettimeofday(timeval*, void*);
int __wrap_gettimeofday(timeval* time, void* zone) {
  if (self() == nullptr) return __real_gettimeofday(time, zone);
  const timespec now = to_timespec(read_clock(CLOCK_REALTIME));
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1'000};
  return 0;
}
time_t __real_time(time_t*);
time_t __wrap_time(time_t* into) {
  if (self() == nullptr) return __real_time(into);
  const time_t now = to_timespec(read_clock(CLOCK_REALTIME)).tv_sec;
  if (into != nullptr) *into = now;
  return now;
}
int __real_nanosleep(const timespec*, timespec*);
int __wrap_nanosleep(const timespec* time, timespec* rest) {
  if (self() == nullptr) return __real_nanosleep(time, rest);
  world().sleep(own_time(of(*time)));
  return 0;
}
int __real_clock_nanosleep(clockid_t, int, const timespec*, timespec*);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* rest) {
  if (self() == nullptr) return __real_clock_nanosleep(clock, flags, time, rest);
  const Nanos left = (flags & TIMER_ABSTIME) != 0 ? of(*time) - system_clock_of(clock) : of(*time);
  world().sleep(own_time(std::max(left, Nanos(0))));
  return 0;
}
ssize_t __real_getrandom(void*, size_t, unsigned);
ssize_t __wrap_getrandom(void* into, size_t size, unsigned flags) {
  if (self() == nullptr) return __real_getrandom(into, size, flags);
  auto* to = static_cast<char*>(into);
  for (size_t done = 0; done < size; done += sizeof(std::uint64_t)) {
    const std::uint64_t bits = process().random().next();
    std::memcpy(to + done, &bits, std::min(sizeof bits, size - done));
  }
  return static_cast<ssize_t>(size);
}
double __real_drand48();
double __wrap_drand48() { return self() == nullptr ? __real_drand48() : process().random().unit(); }
long __real_random();
long __wrap_random() {
  return self() == nullptr ? __real_random() : static_cast<long>(process().random().next() >> 33U);
}
int __real_rand();
int __wrap_rand() {
  return self() == nullptr ? __real_rand() : static_cast<int>(process().random().next() >> 33U);
}

}  // extern "C"
