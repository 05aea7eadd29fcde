// SPDX-License-Identifier: MIT
// What the client processes of a contract test share with it: memory, and a line that ends with the
// process. Starting and killing them is the business of tests/model/process.hpp.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

namespace mortise::contract {

/// One object that this process and the children that it forks see alike. Atomics only.
template <class Object>
class Shared {
 public:
  Shared() {
    void* const page =
        ::mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    object_ = ::new (page) Object{};
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(object_, sizeof(Object)); }
  [[nodiscard]] Object* operator->() const noexcept { return object_; }

 private:
  Object* object_;
};

/// A pipe, for bytes that tell that something has happened. A reader sees the end of it when the
/// last process that could write is gone.
class Line {
 public:
  Line() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    reads_ = ends[0];
    writes_ = ends[1];
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    close_reading();
    close_writing();
  }
  void close_reading() noexcept {
    if (reads_ >= 0) ::close(std::exchange(reads_, -1));
  }
  void close_writing() noexcept {
    if (writes_ >= 0) ::close(std::exchange(writes_, -1));
  }
  void tell(char what) const noexcept {
    if (::write(writes_, &what, 1) != 1) ::_exit(124);  // nobody listens any more
  }
  /// @return what was told, or 0 where nothing came in time or nobody is left to tell.
  [[nodiscard]] char hear(std::chrono::milliseconds within) const noexcept {
    pollfd polled{.fd = reads_, .events = POLLIN, .revents = 0};
    char what = 0;
    if (::poll(&polled, 1, static_cast<int>(within.count())) != 1) return 0;
    return ::read(reads_, &what, 1) == 1 ? what : '\0';
  }

 private:
  int reads_ = -1;
  int writes_ = -1;
};

}  // namespace mortise::contract
