// SPDX-License-Identifier: MIT
// A program that takes and frees a lock that nobody else wants, on the Redis server of the URL that
// it is given, and counts what that costs the calling thread: mutexes taken, allocations, system
// calls, looks at the clock. It prints the median of each for a few such cycles, and what it may be
// at most. Exit status: a bit for each that is above that; 77 = allocations cannot be counted here.
//
// What the library calls leads here by the linker (--wrap); a shared library's own calls do not.
#include <mortise/mortise.hpp>
#include <mortise/redis.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <set>
#include <vector>

namespace {

/// What one thread does while it is watched. Constant memory: it counts allocations, too.
struct Tally {
  bool counts = false;
  std::size_t taken = 0;  // mutexes, each time
  std::array<const void*, 64> mutexes{};
  std::array<const void*, 64> places{};  // that took them
  std::size_t allocations = 0;
  std::array<const void*, 64> allocated_at{};
  std::size_t calls = 0;
  std::size_t looks = 0;
};
thread_local Tally tally;

void note_mutex(const void* mutex, const void* place) noexcept {
  if (!tally.counts) return;
  if (tally.taken < tally.mutexes.size()) {
    tally.mutexes[tally.taken] = mutex;
    tally.places[tally.taken] = place;
  }
  ++tally.taken;
}

void note_call() noexcept {
  if (tally.counts) ++tally.calls;
}

void* allocate(std::size_t size, const void* place) {
  if (tally.counts) {
    if (tally.allocations < tally.allocated_at.size()) {
      tally.allocated_at[tally.allocations] = place;
    }
    ++tally.allocations;
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return allocate(size, __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

extern "C" {

extern const char __executable_start;

int __real_pthread_mutex_lock(pthread_mutex_t*);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  note_mutex(mutex, __builtin_return_address(0));
  return __real_pthread_mutex_lock(mutex);
}
int __real_pthread_mutex_trylock(pthread_mutex_t*);
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  note_mutex(mutex, __builtin_return_address(0));
  return __real_pthread_mutex_trylock(mutex);
}

ssize_t __real_send(int, const void*, std::size_t, int);
ssize_t __wrap_send(int fd, const void* bytes, std::size_t size, int flags) {
  note_call();
  return __real_send(fd, bytes, size, flags);
}
ssize_t __real_recv(int, void*, std::size_t, int);
ssize_t __wrap_recv(int fd, void* bytes, std::size_t size, int flags) {
  note_call();
  return __real_recv(fd, bytes, size, flags);
}
ssize_t __real_read(int, void*, std::size_t);
ssize_t __wrap_read(int fd, void* bytes, std::size_t size) {
  note_call();
  return __real_read(fd, bytes, size);
}
ssize_t __real_write(int, const void*, std::size_t);
ssize_t __wrap_write(int fd, const void* bytes, std::size_t size) {
  note_call();
  return __real_write(fd, bytes, size);
}
int __real_poll(pollfd*, nfds_t, int);
int __wrap_poll(pollfd* fds, nfds_t count, int timeout) {
  note_call();
  return __real_poll(fds, count, timeout);
}
int __real_ppoll(pollfd*, nfds_t, const timespec*, const sigset_t*);
int __wrap_ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  note_call();
  return __real_ppoll(fds, count, timeout, mask);
}
int __real_timerfd_settime(int, int, const itimerspec*, itimerspec*);
int __wrap_timerfd_settime(int fd, int flags, const itimerspec* value, itimerspec* old) {
  note_call();
  return __real_timerfd_settime(fd, flags, value, old);
}
int __real_clock_gettime(clockid_t, timespec*);
int __wrap_clock_gettime(clockid_t clock, timespec* time) {
  if (tally.counts) ++tally.looks;
  return __real_clock_gettime(clock, time);
}
long __real_syscall(long, ...);
long __wrap_syscall(long number, ...) {
  note_call();
  va_list list;
  va_start(list, number);
  std::array<long, 6> arguments{};
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}

}  // extern "C"

namespace {

struct Bound {
  const char* what;
  std::size_t at_most;
};
constexpr std::size_t few = 4;
// Where a later change needs one of these to grow, it says what for.
constexpr std::array bounds{Bound{"times a mutex was taken", few * 5}, Bound{"mutexes", 2},
                            Bound{"allocations", few * 2}, Bound{"system calls", few * 4},
                            // As it comes, when each request is queued, as the grant is accepted,
                            // and as the hold ends; for the void moment of the request, and as its
                            // reply shows the server's clock: an older reading of that clock broke
                            // S5 in the simulation.
                            Bound{"looks at the clock", few * 7}};
using Cycle = std::array<std::size_t, bounds.size()>;

Tally count_cycles(mortise::Lock& lock) {
  tally = Tally{.counts = true};
  for (std::size_t i = 0; i < few; ++i) {
    lock.lock();
    lock.unlock();
  }
  tally.counts = false;
  return tally;
}

Cycle figures_of(const Tally& cycle) {
  const auto end = cycle.mutexes.begin() + std::min(cycle.taken, cycle.mutexes.size());
  const std::set<const void*> mutexes(cycle.mutexes.begin(), end);
  return {cycle.taken, mutexes.size(), cycle.allocations, cycle.calls, cycle.looks};
}

std::size_t median(std::vector<Cycle>& cycles, std::size_t figure) {
  const auto middle = cycles.begin() + static_cast<std::ptrdiff_t>(cycles.size() / 2);
  std::nth_element(cycles.begin(), middle, cycles.end(),
                   [&](const Cycle& a, const Cycle& b) { return a[figure] < b[figure]; });
  return (*middle)[figure];
}

/// For addr2line -e <this program>.
void print_places(const Tally& cycle) {
  const auto offset = [](const void* place) {
    return static_cast<unsigned long>(static_cast<const char*>(place) - &__executable_start) - 1;
  };
  for (std::size_t i = 0; i < std::min(cycle.taken, cycle.places.size()); ++i) {
    std::printf("  mutex %p at 0x%lx\n", cycle.mutexes[i], offset(cycle.places[i]));
  }
  for (std::size_t i = 0; i < std::min(cycle.allocations, cycle.allocated_at.size()); ++i) {
    std::printf("  allocated at 0x%lx\n", offset(cycle.allocated_at[i]));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  mortise::Client client(mortise::redis::backend(argv[1]));
  mortise::Lock lock = client.make_lock("cycle");
  constexpr int warm_up = 50;
  constexpr std::size_t counted = 201;
  for (int i = 0; i < warm_up; ++i) count_cycles(lock);
  std::vector<Cycle> cycles;
  cycles.reserve(counted);
  Tally last;
  while (cycles.size() < counted) {
    last = count_cycles(lock);
    cycles.push_back(figures_of(last));
  }
  int above = 0;
  std::printf("%zu cycles\n", few);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::size_t figure = median(cycles, i);
    std::printf("%s: %zu, at most %zu\n", bounds[i].what, figure, bounds[i].at_most);
    if (i == 2 && figure == 0) return 77;
    if (figure > bounds[i].at_most) above |= 1 << i;
  }
  if (above != 0 || argc > 2) print_places(last);
  return above;
}
