// SPDX-License-Identifier: MIT
// The name of a script: the SHA-1 of its text, as 40 small hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace simulation::redis {

[[nodiscard]] std::string sha1_hex(std::string_view text);

}  // namespace simulation::redis
