// SPDX-License-Identifier: MIT
// A lock that is tried is not seen: whoever has such a one only seems to have none, so places are
// counted where threads wait for mutexes only.
#include "support/mutex_stop.hpp"

#include <pthread.h>

namespace mortise {
namespace {

/// What one thread has locked since it is watched.
struct Watched {
  MutexStop* stop = nullptr;
  unsigned place = 0;  // where it is to stand; 0 = it is only counted
  unsigned locked = 0;
  unsigned depth = 0;
  unsigned outer = 0;  // of the first pair
};
thread_local Watched watched;

}  // namespace

void MutexStop::stop_this_thread(unsigned place) noexcept {
  watched = {.stop = this, .place = place};
}

void MutexStop::count_this_thread() noexcept { watched = {.stop = this}; }

unsigned MutexStop::outer_of_the_first_pair() noexcept {
  const unsigned outer = watched.outer;
  watched = {};
  return outer;
}

void MutexStop::before_lock() noexcept {
  if (watched.stop == nullptr) return;
  if (watched.depth++ != 0) {
    if (watched.outer == 0) watched.outer = watched.locked;
    return;
  }
  if (++watched.locked != watched.place) return;
  MutexStop& stop = *watched.stop;
  watched = {};
  stop.stand();
}

void MutexStop::after_unlock() noexcept {
  if (watched.stop != nullptr && watched.depth != 0) --watched.depth;
}

}  // namespace mortise

extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t*);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  mortise::MutexStop::before_lock();
  return __real_pthread_mutex_lock(mutex);
}
int __real_pthread_mutex_unlock(pthread_mutex_t*);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  mortise::MutexStop::after_unlock();
  return __real_pthread_mutex_unlock(mutex);
}

}  // extern "C"
