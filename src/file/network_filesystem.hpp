// SPDX-License-Identifier: MIT
// Tells file systems whose locks and shared memory do not mean the same on every host that mounts
// them.
#pragma once

#include <cstdint>

namespace mortise::file {

/// @param magic `statfs::f_type`
/// @return whether files of that system may be seen by another kernel, or are served by a program
/// (FUSE, which also stands for network file systems and virtual machines' shared folders).
[[nodiscard]] bool is_network_filesystem(std::uint32_t magic) noexcept;

}  // namespace mortise::file
