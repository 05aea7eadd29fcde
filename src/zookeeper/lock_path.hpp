// SPDX-License-Identifier: MIT
// Which node stands for which lock, and which nodes lie above it. Pure text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// @return the node whose children are the queue of the lock: "/locks/orders%2F42".
[[nodiscard]] std::string lock_path(std::string_view root, std::string_view name);

/// @return the node and all above it, the highest first: "/a", "/a/b".
[[nodiscard]] std::vector<std::string> levels_of(std::string_view path);

}  // namespace mortise::zookeeper
