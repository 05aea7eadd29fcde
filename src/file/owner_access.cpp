// SPDX-License-Identifier: MIT
// By the name, since a file without access cannot be opened.
#include "file/owner_access.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace mortise::file {

bool give_owner_access(int folder, const char* file, mode_t access) noexcept {
  const int error = errno;
  struct stat found {};
  const bool ours = ::fstatat(folder, file, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                    found.st_uid == ::geteuid() && !S_ISLNK(found.st_mode);
  const bool given =
      ours && lacks(found, access) &&
      ::fchmodat(folder, file, permissions_of(found) | access, AT_SYMLINK_NOFOLLOW) == 0;
  errno = error;
  return given;
}

}  // namespace mortise::file
