// SPDX-License-Identifier: MIT
// A lock name of any bytes as one component of a path: of a file, or of a ZooKeeper node. Pure
// text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::base {

/// `[A-Za-z0-9_-]` and a '.' that is not the first byte stay, every other byte becomes `%XX`:
/// reversible, never hidden, never "..", never with a slash or a control character. What would be
/// longer than `longest` is "%h-" and 32 hexadecimal digits of the FNV-1a hash instead; no escape
/// yields "%h". That two long names collide only the caller can see, if it keeps them whole.
/// @param longest 35 or more
[[nodiscard]] std::string path_name(std::string_view name, std::size_t longest);

/// @return the name of such a component; nothing = it is none, or a hash
[[nodiscard]] std::optional<std::string> name_in_path(std::string_view component);

}  // namespace mortise::base
