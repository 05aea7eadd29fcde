// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/paths.hpp"

#include <cstddef>

namespace simulation::zookeeper {
namespace {

// UTF-8 of U+007F to U+009F, of surrogates and private use (U+D800 to U+F8FF), and U+FFF0 and
// above inside the first plane: the server's rule is about Java's chars. Those of the other planes
// are pairs of surrogates there, and refused.
bool printable(std::string_view path, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) {
    return at + i < path.size() ? static_cast<unsigned char>(path[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x20 || first == 0x7f || first >= 0xf0) return false;
  if (first == 0xc2) return byte(1) >= 0xa0;
  if (first < 0xe0) return true;
  const unsigned number = (first & 0x0fU) << 12U | (byte(1) & 0x3fU) << 6U | (byte(2) & 0x3fU);
  return !(number >= 0xd800 && number <= 0xf8ff) && number < 0xfff0;
}

bool continues(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

}  // namespace

bool valid_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  if (path.size() == 1) return true;
  if (path.back() == '/') return false;
  for (std::size_t begin = 1; begin <= path.size();) {
    std::size_t end = path.find('/', begin);
    if (end == std::string_view::npos) end = path.size();
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..") return false;
    for (std::size_t i = begin; i < end; ++i) {
      if (!continues(path[i]) && !printable(path, i)) return false;
    }
    begin = end + 1;
  }
  return true;
}

}  // namespace simulation::zookeeper
