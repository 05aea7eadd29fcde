// SPDX-License-Identifier: MIT
// The other side of a case as a process of its own, and memory that both share.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cerrno>
#include <functional>
#include <new>
#include <system_error>
#include <type_traits>

namespace mortise::bench {

/// A forked child that runs one function. Start it before this process has threads and clients.
class Process {
 public:
  explicit Process(const std::function<void()>& work);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Kills it if nobody waited for it.
  ~Process();
  /// Waits for its end; throws where the function threw.
  void wait();

 private:
  pid_t pid_;
};

/// An object in memory that children share with their parent.
template <class T>
class Shared {
 public:
  static_assert(std::is_trivially_destructible_v<T>);
  Shared() {
    void* const place =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    object_ = new (place) T();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(object_, sizeof(T)); }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

 private:
  T* object_;
};

}  // namespace mortise::bench
