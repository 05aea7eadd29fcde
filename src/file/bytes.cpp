// SPDX-License-Identifier: MIT
// pread and pwrite until all is done.
#include "file/bytes.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace mortise::file {
namespace {

// Not pread() and pwrite() of the C library: they are cancellation points, where a thread that is
// cancelled would be unwound out of the library; and that costs two atomic operations a call.
ssize_t read_at(int fd, void* to, std::size_t size, off_t offset) noexcept {
#ifdef __LP64__
  return ::syscall(SYS_pread64, fd, to, size, offset);
#else
  return ::pread(fd, to, size, offset);
#endif
}

ssize_t write_at(int fd, const void* from, std::size_t size, off_t offset) noexcept {
#ifdef __LP64__
  return ::syscall(SYS_pwrite64, fd, from, size, offset);
#else
  return ::pwrite(fd, from, size, offset);
#endif
}

// Not sigtimedwait(), for the same reason.
void take_pending(const sigset_t& signals) noexcept {
  const timespec at_once{};
#ifdef __LP64__
  constexpr std::size_t kernels_size = 8;
  static_cast<void>(::syscall(SYS_rt_sigtimedwait, &signals, nullptr, &at_once, kernels_size));
#else
  static_cast<void>(::sigtimedwait(&signals, nullptr, &at_once));
#endif
}

/// The kernel sends SIGXFSZ to the thread whose write meets a file size limit. By default that ends
/// the program. So this thread blocks the signal for the time of the call, and takes it afterwards;
/// other threads and the program's handlers do not notice.
/// @param call returns an errno
template <class Call>
int without_size_signal(Call call) noexcept {
  sigset_t signal{};
  sigset_t before{};
  sigset_t pending{};
  ::sigemptyset(&signal);
  ::sigaddset(&signal, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signal, &before);
  // The program may block the signal itself, and have one that waits: that one is not ours.
  const bool is_theirs = ::sigismember(&before, SIGXFSZ) == 1 && ::sigpending(&pending) == 0 &&
                         ::sigismember(&pending, SIGXFSZ) == 1;
  const int error = call();
  if (error == EFBIG && !is_theirs) take_pending(signal);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

int write_rest(int fd, const char* bytes, std::size_t size, off_t offset) noexcept {
  while (size > 0) {
    const ssize_t put = write_at(fd, bytes, size, offset);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    if (put == 0) return EIO;
    bytes += put;
    offset += put;
    size -= static_cast<std::size_t>(put);
  }
  return 0;
}

}  // namespace

int read_what_is_there(int fd, void* to, std::size_t size, off_t offset,
                       std::size_t& got) noexcept {
  auto* bytes = static_cast<char*>(to);
  got = 0;
  while (got < size) {
    const ssize_t more = read_at(fd, bytes + got, size - got, offset + static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return errno;
    if (more == 0) return 0;
    got += static_cast<std::size_t>(more);
  }
  return 0;
}

int read_all(int fd, void* to, std::size_t size, off_t offset) noexcept {
  std::size_t got = 0;
  const int error = read_what_is_there(fd, to, size, offset, got);
  std::memset(static_cast<char*>(to) + got, 0, size - got);
  return error;
}

int write_all(int fd, const void* from, std::size_t size, off_t offset) noexcept {
  return without_size_signal(
      [&] { return write_rest(fd, static_cast<const char*>(from), size, offset); });
}

int allocate_all(int fd, off_t size) noexcept {
  return without_size_signal([&] {
    int error = EINTR;
    while (error == EINTR) error = ::posix_fallocate(fd, 0, size);
    return error;
  });
}

}  // namespace mortise::file
