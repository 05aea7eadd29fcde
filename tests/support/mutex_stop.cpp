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
  bool with = false;   // with the mutex, instead of before it
  bool comes = false;  // it stands as soon as it has the mutex
  unsigned locked = 0;
  unsigned depth = 0;
  unsigned outer = 0;  // of the first pair
};
thread_local Watched watched;

}  // namespace

void MutexStop::stop_this_thread(unsigned place) noexcept {
  watched = {.stop = this, .place = place};
}

void MutexStop::stop_this_thread_with(unsigned place) noexcept {
  watched = {.stop = this, .place = place, .with = true};
}

void MutexStop::leave_this_thread() noexcept {
  if (watched.stop == nullptr) return;
  watched = {};
  left_ = true;
  stands_.release();
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
  watched.comes = watched.with;
  if (watched.with) return;
  MutexStop& stop = *watched.stop;
  watched = {};
  stop.stand();
}

void MutexStop::after_lock() noexcept {
  if (!watched.comes) return;
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
  const int error = __real_pthread_mutex_lock(mutex);
  mortise::MutexStop::after_lock();
  return error;
}
int __real_pthread_mutex_unlock(pthread_mutex_t*);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  mortise::MutexStop::after_unlock();
  return __real_pthread_mutex_unlock(mutex);
}

}  // extern "C"
