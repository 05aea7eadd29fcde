// SPDX-License-Identifier: MIT
// Open file description locks: they belong to the descriptor, not to the process.
#include "file/lock_bytes.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <limits>

namespace mortise::file {
namespace {

struct flock as_flock(ByteRange bytes, short type) noexcept {
  struct flock out {};
  out.l_type = type;
  out.l_whence = SEEK_SET;
  out.l_start = bytes.start;
  out.l_len = bytes.size;
  return out;
}

short type_of(ByteLock kind) noexcept { return kind == ByteLock::shared ? F_RDLCK : F_WRLCK; }

int command(int fd, int command, struct flock& range) noexcept {
  int result = 0;
  do {
    result = ::fcntl(fd, command, &range);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace

int try_lock_bytes(int fd, ByteRange bytes, ByteLock kind, bool& locked) noexcept {
  struct flock range = as_flock(bytes, type_of(kind));
  const int error = command(fd, F_OFD_SETLK, range);
  locked = error == 0;
  // fcntl(2) may answer either where somebody else has the lock.
  return error == EAGAIN || error == EACCES ? 0 : error;
}

int unlock_bytes(int fd, ByteRange bytes) noexcept {
  struct flock range = as_flock(bytes, F_UNLCK);
  return command(fd, F_OFD_SETLK, range);
}

void unlock_everything(int fd) noexcept {
  // As far as the file may ever grow. Cannot fail but for want of memory, which the kernel's
  // splitting of ranges needs, and this does not.
  static_cast<void>(unlock_bytes(fd, {}));
}

int find_conflict(int fd, ByteRange bytes, ByteLock kind, Conflict& out) noexcept {
  struct flock range = as_flock(bytes, type_of(kind));
  if (const int error = command(fd, F_OFD_GETLK, range)) return error;
  out = {};
  if (range.l_type == F_UNLCK) return 0;
  out.there = true;
  out.kind = range.l_type == F_RDLCK ? ByteLock::shared : ByteLock::exclusive;
  out.end = range.l_len == 0 ? std::numeric_limits<off_t>::max() : range.l_start + range.l_len;
  return 0;
}

}  // namespace mortise::file
