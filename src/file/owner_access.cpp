// SPDX-License-Identifier: MIT
// By a descriptor that needs no access to the file, since a file without access cannot be opened.
#include "file/owner_access.hpp"

#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace mortise::file {

bool give_owner_access(int folder, const char* file, mode_t access) noexcept {
  const int error = errno;
  // The name may lead to another file a moment later; the descriptor does not.
  const base::UniqueFd fd =
      base::UniqueFd::open([&] { return ::openat(folder, file, O_PATH | O_NOFOLLOW | O_CLOEXEC); });
  struct stat found {};
  const bool ours = fd && ::fstat(fd.get(), &found) == 0 && found.st_uid == ::geteuid() &&
                    (S_ISDIR(found.st_mode) || (S_ISREG(found.st_mode) && found.st_nlink == 1));
  bool given = false;
  if (ours && lacks(found, access)) {
    // fchmod() refuses such a descriptor.
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", fd.get());
    given = ::chmod(path.data(), permissions_of(found) | access) == 0;
  }
  errno = error;
  return given;
}

}  // namespace mortise::file
