// SPDX-License-Identifier: MIT
// Names are escaped, so that none leaves its place in the tree.
#include "zookeeper/lock_path.hpp"

#include "base/path_name.hpp"

namespace mortise::zookeeper {
namespace {

// Part of each path that a session owns or watches, whose bytes are limited.
constexpr std::size_t longest_component = 100;

}  // namespace

std::string lock_path(std::string_view root, std::string_view name) {
  std::string path(root);
  path += '/';
  path += base::path_name(name, longest_component);
  return path;
}

std::vector<std::string> levels_of(std::string_view path) {
  std::vector<std::string> levels;
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    levels.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return levels;
  }
}

}  // namespace mortise::zookeeper
