// SPDX-License-Identifier: MIT
#include "support/text_of.hpp"

#include <fstream>
#include <sstream>

namespace mortise::test {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // An iterator over the buffer would throw where a process goes between open() and read().
  text << file.rdbuf();
  return text.str();
}

}  // namespace mortise::test
