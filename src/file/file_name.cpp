// SPDX-License-Identifier: MIT
// A lock's name with the suffix that tells lock files from other files.
#include "file/file_name.hpp"

#include "base/path_name.hpp"

namespace mortise::file {
namespace {

constexpr std::size_t longest_file_name = 140;
constexpr std::string_view suffix = ".lock";

}  // namespace

std::string file_name(std::string_view name) {
  std::string out = base::path_name(name, longest_file_name - suffix.size());
  out += suffix;
  return out;
}

}  // namespace mortise::file
