// SPDX-License-Identifier: MIT
// pread and pwrite until all is done.
#include "file/bytes.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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
  const auto* bytes = static_cast<const char*>(from);
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

}  // namespace mortise::file
