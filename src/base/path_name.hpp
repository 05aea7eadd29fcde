// SPDX-License-Identifier: MIT
// A lock name of any bytes as one component of a path: of a file, or of a ZooKeeper node. Pure
// text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mortise::base {

/// `[A-Za-z0-9_-]` and a '.' that is not the first byte stay, every other byte becomes `%XX`:
/// reversible, never hidden, never "..", never with a slash or a control character. The result is
/// up to three times as long as the name: the caller shortens what is too long for its store.
[[nodiscard]] std::string path_name(std::string_view name);

/// @return the name that became this component; nothing = no name becomes it.
[[nodiscard]] std::optional<std::string> name_in_path(std::string_view component);

}  // namespace mortise::base
