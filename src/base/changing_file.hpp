// SPDX-License-Identifier: MIT
// Files with credentials are replaced while clients run: passwords, certificates, keys. One rule
// decides what a client makes of a file that it cannot use.
#pragma once

#include "base/system_error.hpp"

namespace mortise::base {

/// @param used_before this client has used the file before. Then its administrator is replacing it
/// at this moment, and the next try reads it again; otherwise the settings are wrong
/// @param error of the system; 0 = the file was read, and its content is of no use
/// @return what such a file means: `exhausted` if a limit of the machine is why it cannot be read
[[nodiscard]] inline Errc meaning_of_unusable_file(bool used_before, int error) noexcept {
  return errc_of(error, used_before ? Errc::unavailable : Errc::misconfigured);
}

}  // namespace mortise::base
