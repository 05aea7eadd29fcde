// SPDX-License-Identifier: MIT
// What every connection is set to, whoever made it.
#pragma once

namespace mortise::base {

/// Small messages leave at once, and one that something on the way has forgotten ends within 20 s:
/// the kernel's own two hours are of no use to who waits for a message. What is refused costs speed
/// or a late notice at most; a unix socket needs none of it.
void keep_alive(int fd) noexcept;

}  // namespace mortise::base
