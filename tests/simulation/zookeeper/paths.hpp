// SPDX-License-Identifier: MIT
// Which paths a server takes. Pure text.
#pragma once

#include <string_view>

namespace simulation::zookeeper {

/// @return whether a node may be named so.
[[nodiscard]] bool valid_path(std::string_view path);

/// @return whether there is something that a parent could be named by.
[[nodiscard]] inline bool has_parent(std::string_view path) noexcept {
  return path.find('/') != std::string_view::npos && path.find('\0') == std::string_view::npos;
}

/// @return whether the server keeps the node for itself: it cannot be deleted.
[[nodiscard]] inline bool special_path(std::string_view path) noexcept {
  return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" ||
         path == "/zookeeper/config";
}

}  // namespace simulation::zookeeper
