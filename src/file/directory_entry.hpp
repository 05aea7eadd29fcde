// SPDX-License-Identifier: MIT
// What getdents64(2) writes of each file of a directory. The C library's readdir() would keep a
// descriptor that a forked child inherits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mortise::file {

struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
};
/// Where the file's name begins in it, which ends with a zero.
inline constexpr std::size_t entry_name_offset = 19;

}  // namespace mortise::file
