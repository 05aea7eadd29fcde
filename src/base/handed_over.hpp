// SPDX-License-Identifier: MIT
// Sockets that a user has made, and hands over.
#pragma once

#include "base/unique_fd.hpp"

namespace mortise::base {

/// Takes over a socket: it is the library's from now on.
/// @return empty, with errno: EBADF or ENOTSOCK (none, and left alone: it may be anybody's), EBUSY
/// (one that the library has already; by another number, which is closed then), ENOMEM (closed)
[[nodiscard]] UniqueFd take_over(int fd) noexcept;

/// Whether the library has that socket already, by this very number or by another one. Looks at
/// each of its descriptors; the registry is that of forks. Under `NoFork`.
enum class Whose : char { nobodys, ours, ours_too };
[[nodiscard]] Whose whose(const SocketIdentity& socket) noexcept;

}  // namespace mortise::base
