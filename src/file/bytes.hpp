// SPDX-License-Identifier: MIT
// Bytes at a place of a file, read and written whole. No cancellation point: a thread that is
// cancelled must not be unwound out of the library.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace mortise::file {

/// @return 0 or an errno. What lies beyond the end of the file reads as zeros.
[[nodiscard]] int read_all(int fd, void* to, std::size_t size, off_t offset) noexcept;
/// The same, for much: nothing is zeroed. @param got how many bytes there were
[[nodiscard]] int read_what_is_there(int fd, void* to, std::size_t size, off_t offset,
                                     std::size_t& got) noexcept;
/// @return 0 or an errno; where it fails, some of the bytes may be written. A file size limit
/// (`RLIMIT_FSIZE`) is the errno `EFBIG`, and not the signal `SIGXFSZ`.
[[nodiscard]] int write_all(int fd, const void* from, std::size_t size, off_t offset) noexcept;
/// Makes the file at least that long, and has the disk provide the room. @return as `write_all()`
[[nodiscard]] int allocate_all(int fd, off_t size) noexcept;

}  // namespace mortise::file
