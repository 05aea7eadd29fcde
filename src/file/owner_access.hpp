// SPDX-License-Identifier: MIT
// The mode of files and directories that the library makes. A umask can take access away even from
// the owner: without it, no process could open the file again.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace mortise::file {

inline constexpr mode_t owner_reads_and_writes = S_IRUSR | S_IWUSR;

[[nodiscard]] constexpr mode_t permissions_of(const struct stat& found) noexcept {
  return found.st_mode & 07777U;
}
/// @return whether a part of that access is missing.
[[nodiscard]] constexpr bool lacks(const struct stat& found, mode_t access) noexcept {
  return (found.st_mode & access) != access;
}

/// Gives the owner access that is missing. Another process may have made the file a moment ago, or
/// have died before it could set the mode. Follows no link, and leaves files alone that belong to
/// another user or have a second (hard) link.
/// @param folder of the file; `AT_FDCWD` with an absolute path
/// @return whether access was missing, and was given
[[nodiscard]] bool give_owner_access(int folder, const char* file, mode_t access) noexcept;

}  // namespace mortise::file
