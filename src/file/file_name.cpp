// SPDX-License-Identifier: MIT
// A lock's name with the suffix that tells lock files from other files.
#include "file/file_name.hpp"

#include "base/path_name.hpp"

namespace mortise::file {
namespace {

constexpr std::size_t longest_file_name = 140;
static_assert(lock_suffix.size() == key_suffix.size());
static_assert(lock_suffix.size() == semaphore_suffix.size());

}  // namespace

std::string file_name(std::string_view name, Mode mode) {
  std::string out = base::path_name(name, longest_file_name - lock_suffix.size());
  if (mode == Mode::once) return out += key_suffix;
  return out += mode == Mode::permit ? semaphore_suffix : lock_suffix;
}

}  // namespace mortise::file
