// SPDX-License-Identifier: MIT
// The system's calls, as the linker leads them here (--wrap): on a thread of the simulation they
// act in its world, everywhere else they are what they were. So the library's code is the shipped
// one, down to the call.
#include "simulation/world/network.hpp"
#include "simulation/world/real.hpp"
#include "simulation/world/room.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <condition_variable>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>

using namespace simulation;

namespace {

World& world() { return *World::current(); }
Thread* self() noexcept { return World::running(); }
Process& process() { return self()->process(); }
Descriptors& descriptors() { return Room::current()->network.descriptors; }
bool ours(int fd) noexcept { return self() != nullptr && fd >= Descriptors::first; }
Descriptor* find(int fd) { return descriptors().find(fd); }
Socket* socket_of(int fd) { return dynamic_cast<Socket*>(find(fd)); }

int fail(int error) noexcept {
  errno = error;
  return -1;
}

constexpr Nanos second{1'000'000'000};

Nanos of(const timespec& time) noexcept { return second * time.tv_sec + Nanos(time.tv_nsec); }
timespec to_timespec(Nanos time) noexcept {
  return {.tv_sec = time / second, .tv_nsec = (time % second).count()};
}
Nanos own_time(Nanos own) { return process().clock.in_world(own); }

Nanos read_clock(clockid_t id) {
  world().pass(Nanos(20));
  const Nanos boot = process().boot_time();
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ? boot + process().wall : boot;
}

sockaddr_in address_of(std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  address.sin_port = htons(port);
  return address;
}

int give(const sockaddr_in& address, sockaddr* into, socklen_t* size) {
  std::memcpy(into, &address, std::min<std::size_t>(*size, sizeof address));
  *size = sizeof address;
  return 0;
}

int wait_cond(const void* condition, void* mutex, Nanos at_most) {
  world().point();
  World& here = world();
  // Registered before the mutex is free, as the real one is.
  here.unlock(mutex);
  const bool woken = here.wait_on(condition, at_most);
  here.lock(mutex);
  return woken ? 0 : ETIMEDOUT;
}

}  // namespace

extern "C" {

// Threads and mutexes.

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
  return wait_cond(condition, mutex, own_time(std::max(of(*until) - read_clock(clock), Nanos(0))));
}
int __real_pthread_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int __wrap_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  const timespec* until) {
  if (self() == nullptr) return __real_pthread_cond_timedwait(condition, mutex, until);
  const Nanos left = std::max(of(*until) - read_clock(CLOCK_REALTIME), Nanos(0));
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
      left -= read_clock(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    }
    at_most = own_time(std::max(left, Nanos(0)));
  }
  return world().wait_on(word, at_most) ? 0 : fail(ETIMEDOUT);
}

// Time and luck.

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
  const Nanos left = (flags & TIMER_ABSTIME) != 0 ? of(*time) - read_clock(clock) : of(*time);
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

// Descriptors.

int __real_socket(int, int, int);
int __wrap_socket(int family, int type, int protocol) {
  if (self() == nullptr) return __real_socket(family, type, protocol);
  auto made = std::make_shared<Socket>(process(), Room::current()->network);
  made->blocking = (type & SOCK_NONBLOCK) == 0;
  return descriptors().add(std::move(made));
}
int __real_connect(int, const sockaddr*, socklen_t);
int __wrap_connect(int fd, const sockaddr* address, socklen_t size) {
  if (!ours(fd)) return __real_connect(fd, address, size);
  world().point();
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  sockaddr_in to{};
  std::memcpy(&to, address, std::min<std::size_t>(size, sizeof to));
  Host* const host = Room::current()->network.at(ntohl(to.sin_addr.s_addr), ntohs(to.sin_port));
  return fail(socket->connect(host));
}
ssize_t __real_send(int, const void*, size_t, int);
ssize_t __wrap_send(int fd, const void* bytes, size_t size, int flags) {
  if (!ours(fd)) return __real_send(fd, bytes, size, flags);
  world().point();
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  int error = 0;
  const long sent = socket->send(bytes, size, error);
  return sent < 0 ? fail(error) : sent;
}
ssize_t __real_recv(int, void*, size_t, int);
ssize_t __wrap_recv(int fd, void* into, size_t size, int flags) {
  if (!ours(fd)) return __real_recv(fd, into, size, flags);
  world().point();
  const std::shared_ptr<Descriptor> kept = descriptors().share(fd);
  auto* const socket = dynamic_cast<Socket*>(kept.get());
  if (socket == nullptr) return fail(EBADF);
  const bool peek = (flags & MSG_PEEK) != 0;
  int error = 0;
  long got = socket->receive(into, size, peek, error);
  if (got >= 0 || error != EAGAIN || (flags & MSG_DONTWAIT) != 0 || !socket->blocking) {
    return got < 0 ? fail(error) : got;
  }
  pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
  const Nanos limit =
      socket->receive_limit.count() == 0 ? simulation::never : own_time(socket->receive_limit);
  descriptors().poll(&polled, 1, limit);
  got = socket->receive(into, size, peek, error);
  return got < 0 ? fail(error) : got;
}
int __real_poll(pollfd*, nfds_t, int);
int __wrap_poll(pollfd* polled, nfds_t count, int milliseconds) {
  if (self() == nullptr) return __real_poll(polled, count, milliseconds);
  world().point();
  return descriptors().poll(
      polled, count,
      milliseconds < 0 ? simulation::never : own_time(Nanos(1'000'000) * milliseconds));
}
int __real_ppoll(pollfd*, nfds_t, const timespec*, const sigset_t*);
int __wrap_ppoll(pollfd* polled, nfds_t count, const timespec* limit, const sigset_t* mask) {
  if (self() == nullptr) return __real_ppoll(polled, count, limit, mask);
  world().point();
  return descriptors().poll(polled, count,
                            limit == nullptr ? simulation::never : own_time(of(*limit)));
}
int __real_close(int);
int __wrap_close(int fd) {
  if (World::current() == nullptr || fd < Descriptors::first) return __real_close(fd);
  return descriptors().close(fd) ? 0 : fail(EBADF);
}
int __real_eventfd(unsigned, int);
int __wrap_eventfd(unsigned count, int flags) {
  if (self() == nullptr) return __real_eventfd(count, flags);
  auto made = std::make_shared<EventCounter>(process());
  made->count = count;
  return descriptors().add(std::move(made));
}
int __real_timerfd_create(int, int);
int __wrap_timerfd_create(int clock, int flags) {
  if (self() == nullptr) return __real_timerfd_create(clock, flags);
  return descriptors().add(std::make_shared<Timer>(process()));
}
int __real_timerfd_settime(int, int, const itimerspec*, itimerspec*);
int __wrap_timerfd_settime(int fd, int flags, const itimerspec* set, itimerspec* before) {
  if (!ours(fd)) return __real_timerfd_settime(fd, flags, set, before);
  auto* const timer = dynamic_cast<Timer*>(find(fd));
  if (timer == nullptr) return fail(EBADF);
  Nanos in = of(set->it_value);
  if ((flags & TFD_TIMER_ABSTIME) != 0 && in.count() != 0) {
    in = std::max(in - read_clock(CLOCK_BOOTTIME), Nanos(1));
  }
  timer->set(in);
  return 0;
}
ssize_t __real_read(int, void*, size_t);
ssize_t __wrap_read(int fd, void* into, size_t size) {
  if (!ours(fd)) return __real_read(fd, into, size);
  Descriptor* const descriptor = find(fd);
  if (auto* const counter = dynamic_cast<EventCounter*>(descriptor)) {
    if (counter->count == 0) return fail(EAGAIN);
    std::memcpy(into, &counter->count, sizeof counter->count);
    counter->count = 0;
    return sizeof counter->count;
  }
  if (auto* const timer = dynamic_cast<Timer*>(descriptor)) {
    if (!timer->take()) return fail(EAGAIN);
    const std::uint64_t once = 1;
    std::memcpy(into, &once, sizeof once);
    return sizeof once;
  }
  return descriptor == nullptr ? fail(EBADF) : __wrap_recv(fd, into, size, 0);
}
ssize_t __real_write(int, const void*, size_t);
ssize_t __wrap_write(int fd, const void* from, size_t size) {
  if (World::current() == nullptr || fd < Descriptors::first) return __real_write(fd, from, size);
  Descriptor* const descriptor = find(fd);
  if (auto* const counter = dynamic_cast<EventCounter*>(descriptor)) {
    if (self() != nullptr) world().point();
    std::uint64_t more = 0;
    std::memcpy(&more, from, sizeof more);
    counter->count += more;
    counter->changed();
    return sizeof more;
  }
  return descriptor == nullptr ? fail(EBADF) : __wrap_send(fd, from, size, 0);
}
int __real_eventfd_write(int, eventfd_t);
int __wrap_eventfd_write(int fd, std::uint64_t value) {
  if (!ours(fd)) return __real_eventfd_write(fd, value);
  return __wrap_write(fd, &value, sizeof value) < 0 ? -1 : 0;
}
int __real_eventfd_read(int, eventfd_t*);
int __wrap_eventfd_read(int fd, std::uint64_t* value) {
  if (!ours(fd)) return __real_eventfd_read(fd, value);
  return __wrap_read(fd, value, sizeof *value) < 0 ? -1 : 0;
}
int __real_fcntl(int, int, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const long argument = va_arg(list, long);
  va_end(list);
  if (!ours(fd)) return __real_fcntl(fd, command, argument);
  Descriptor* const descriptor = find(fd);
  if (descriptor == nullptr) return fail(EBADF);
  if (command == F_GETFL) return descriptor->blocking ? O_RDWR : O_RDWR | O_NONBLOCK;
  if (command == F_SETFL) descriptor->blocking = (argument & O_NONBLOCK) == 0;
  return 0;
}
int __real_setsockopt(int, int, int, const void*, socklen_t);
int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t size) {
  if (!ours(fd)) return __real_setsockopt(fd, level, name, value, size);
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  if (level == SOL_SOCKET && name == SO_RCVTIMEO) {
    timeval limit{};
    std::memcpy(&limit, value, std::min<std::size_t>(size, sizeof limit));
    socket->receive_limit = second * limit.tv_sec + Nanos(1'000) * limit.tv_usec;
  }
  return 0;
}
int __real_getsockopt(int, int, int, void*, socklen_t*);
int __wrap_getsockopt(int fd, int level, int name, void* value, socklen_t* size) {
  if (!ours(fd)) return __real_getsockopt(fd, level, name, value, size);
  Socket* const socket = socket_of(fd);
  if (socket == nullptr) return fail(EBADF);
  std::memset(value, 0, *size);
  if (level != SOL_SOCKET) return 0;
  if (name == SO_ERROR && *size >= sizeof(int)) {
    const int error = socket->take_error();
    std::memcpy(value, &error, sizeof error);
  } else if (name == SO_RCVTIMEO && *size >= sizeof(timeval)) {
    const timespec limit = to_timespec(socket->receive_limit);
    const timeval set{.tv_sec = limit.tv_sec, .tv_usec = limit.tv_nsec / 1'000};
    std::memcpy(value, &set, sizeof set);
  }
  return 0;
}
int __real_getpeername(int, sockaddr*, socklen_t*);
int __wrap_getpeername(int fd, sockaddr* into, socklen_t* size) {
  if (!ours(fd)) return __real_getpeername(fd, into, size);
  const Socket* const socket = socket_of(fd);
  if (socket == nullptr || !socket->connection) return fail(ENOTCONN);
  return give(address_of(socket->connection->host().address(), 6379), into, size);
}
int __real_getsockname(int, sockaddr*, socklen_t*);
int __wrap_getsockname(int fd, sockaddr* into, socklen_t* size) {
  if (!ours(fd)) return __real_getsockname(fd, into, size);
  const Socket* const socket = socket_of(fd);
  const std::uint32_t own =
      (10U << 24U) + (1U << 16U) + static_cast<std::uint32_t>(process().number());
  const std::uint16_t port =
      socket != nullptr && socket->connection ? socket->connection->port() : 0;
  return give(address_of(own, port), into, size);
}
int __real_fstat(int, struct stat*);
int __wrap_fstat(int fd, struct stat* into) {
  if (!ours(fd)) return __real_fstat(fd, into);
  if (find(fd) == nullptr) return fail(EBADF);
  *into = {};
  into->st_mode = S_IFSOCK;
  into->st_ino = static_cast<ino_t>(fd);
  return 0;
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
