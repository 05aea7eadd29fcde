// SPDX-License-Identifier: MIT
// The system's calls, as the linker leads them here (--wrap): on a thread of the simulation they
// act in its world, everywhere else they are what they were. So the library's code is the shipped
// one, down to the call. This is what system_*.cpp share.
#pragma once

#include "simulation/world/room.hpp"

#include <sys/time.h>

#include <cerrno>
#include <ctime>

namespace simulation::system {

inline World& world() { return *World::current(); }
inline Thread* self() noexcept { return World::running(); }
inline Process& process() { return self()->process(); }

inline int fail(int error) noexcept {
  errno = error;
  return -1;
}

inline constexpr Nanos second{1'000'000'000};

inline Nanos of(const timespec& time) noexcept {
  return second * time.tv_sec + Nanos(time.tv_nsec);
}
inline timespec to_timespec(Nanos time) noexcept {
  return {.tv_sec = time / second, .tv_nsec = (time % second).count()};
}
/// @return how long the world takes for that much of the process' clock.
inline Nanos own_time(Nanos own) { return process().clock.in_world(own); }

/// What the system itself finds where it is given a moment to wait for.
inline Nanos system_clock_of(clockid_t id) {
  world().pass(Nanos(20));
  switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return process().boot_time() + process().wall;
    case CLOCK_BOOTTIME: return process().boot_time();
    default: return process().awake_time();
  }
}
/// What a program reads: it may be old by the time that it is used.
inline Nanos read_clock(clockid_t id) {
  const Nanos read = system_clock_of(id);
  world().point();
  return read;
}

}  // namespace simulation::system
