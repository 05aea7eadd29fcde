// SPDX-License-Identifier: MIT
// Threads, mutexes, and what threads sleep on: see system.hpp.
#include "simulation/world/real.hpp"
#include "simulation/world/system.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <condition_variable>
#include <cstdarg>
#include <cstring>
#include <mutex>
#include <thread>

using namespace simulation;
using namespace simulation::system;

namespace {

int wait_cond(const void* condition, void* mutex, Nanos at_most) {
  world().point();
  World& here = world();
  // Registered before the mutex is free, as the real one is.
  here.let_go(mutex);
  const bool woken = here.wait_on(condition, at_most);
  here.lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

}  // namespace

extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t*);
int __real_pthread_mutex_trylock(pthread_mutex_t*);
int __real_pthread_mutex_unlock(pthread_mutex_t*);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  // The world itself looks into the library only while no thread runs, and changes nothing there.
  if (World::current() == nullptr) return __real_pthread_mutex_lock(mutex);
  if (self() != nullptr) world().lock(mutex);
  return 0;
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  if (self() == nullptr) return World::current() ? 0 : __real_pthread_mutex_trylock(mutex);
  return world().try_lock(mutex) ? 0 : EBUSY;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  if (World::current() == nullptr) return __real_pthread_mutex_unlock(mutex);
  if (self() != nullptr) world().unlock(mutex);
  return 0;
}

int __real_pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const timespec* until) {
  if (self() == nullptr) return __real_pthread_cond_clockwait(condition, mutex, clock, until);
  return wait_cond(condition, mutex,
                   own_time(std::max(of(*until) - system_clock_of(clock), Nanos(0))));
}
int __real_pthread_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int __wrap_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  const timespec* until) {
  if (self() == nullptr) return __real_pthread_cond_timedwait(condition, mutex, until);
  const Nanos left = std::max(of(*until) - system_clock_of(CLOCK_REALTIME), Nanos(0));
  return wait_cond(condition, mutex, own_time(left));
}
int __real_pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*);
int __wrap_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (self() == nullptr) return __real_pthread_cond_wait(condition, mutex);
  return wait_cond(condition, mutex, simulation::never);
}

void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable*, std::unique_lock<std::mutex>*);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  if (self() == nullptr) {
    __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(condition, lock);
    return;
  }
  wait_cond(condition, lock->mutex()->native_handle(), simulation::never);
}
void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable*);
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
  if (World::current() == nullptr) {
    __real__ZNSt18condition_variable10notify_oneEv(condition);
  } else {
    world().wake_at(condition, 1);
  }
}
void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable*);
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
  if (World::current() == nullptr) {
    __real__ZNSt18condition_variable10notify_allEv(condition);
  } else {
    world().wake_at(condition, INT_MAX);
  }
}

void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread*, std::unique_ptr<std::thread::_State>*, void (*)());
void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    std::thread* thread, std::unique_ptr<std::thread::_State>* state, void (*depend)()) {
  if (self() == nullptr) {
    __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
        thread, state, depend);
    return;
  }
  world().point();
  const std::shared_ptr<std::thread::_State> body(state->release());
  const std::uint64_t id = world().spawn(process(), [body] { body->_M_run(); }).id();
  static_assert(sizeof(std::thread) == sizeof id);
  std::memcpy(static_cast<void*>(thread), &id, sizeof id);  // what get_id() shows
}
void __real__ZNSt6thread4joinEv(std::thread*);
void __wrap__ZNSt6thread4joinEv(std::thread* thread) {
  if (self() == nullptr) {
    __real__ZNSt6thread4joinEv(thread);
    return;
  }
  std::uint64_t id = 0;
  std::memcpy(&id, static_cast<void*>(thread), sizeof id);
  if (Thread* const found = world().find(id)) world().join(*found);
  std::memset(static_cast<void*>(thread), 0, sizeof *thread);
}
void __real__ZNSt6thread6detachEv(std::thread*);
void __wrap__ZNSt6thread6detachEv(std::thread* thread) {
  if (self() == nullptr) {
    __real__ZNSt6thread6detachEv(thread);
  } else {
    std::memset(static_cast<void*>(thread), 0, sizeof *thread);
  }
}
pthread_t __real_pthread_self();
pthread_t __wrap_pthread_self() { return self() == nullptr ? __real_pthread_self() : self()->id(); }
int __real_sched_yield();
int __wrap_sched_yield() {
  if (self() == nullptr) return __real_sched_yield();
  world().sleep(Nanos(1'000));
  return 0;
}
// The destructors of thread_local variables belong to a thread; those of ours end with the run.
int __real___cxa_thread_atexit(void (*)(void*), void*, void*);
int __wrap___cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) {
  return self() == nullptr ? __real___cxa_thread_atexit(destroy, object, library) : 0;
}

long __real_syscall(long, ...);
long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (World::current() == nullptr || number != SYS_futex) {
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
  }
  const auto* const word = reinterpret_cast<const std::uint32_t*>(arguments[0]);
  const int operation = static_cast<int>(arguments[1]) & FUTEX_CMD_MASK;
  if (operation == FUTEX_WAKE) {
    if (self() != nullptr) world().point();
    return world().wake_at(word, static_cast<int>(arguments[2]));
  }
  world().point();
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(arguments[2])) {
    return fail(EAGAIN);
  }
  Nanos at_most = simulation::never;
  if (const auto* const limit = reinterpret_cast<const timespec*>(arguments[3])) {
    Nanos left = of(*limit);
    if (operation == FUTEX_WAIT_BITSET) {  // a moment, not a time
      const bool wall = (arguments[1] & FUTEX_CLOCK_REALTIME) != 0;
      left -= system_clock_of(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    }
    at_most = own_time(std::max(left, Nanos(0)));
  }
  return world().wait_on(word, at_most) ? 0 : fail(ETIMEDOUT);
}

}  // extern "C"

namespace simulation::real {

bool try_lock(void* mutex) noexcept {
  return __real_pthread_mutex_trylock(static_cast<pthread_mutex_t*>(mutex)) == 0;
}
void unlock(void* mutex) noexcept {
  __real_pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex));
}

}  // namespace simulation::real
