// SPDX-License-Identifier: MIT
#include "workspace.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace shop {

namespace {

// In memory, unless TMPDIR is set: the program makes and deletes some thousand small files, and the
// time of a disk is not the subject of the demonstration.
std::filesystem::path temporary_directory() {
  constexpr const char* shared_memory = "/dev/shm";
  if (std::getenv("TMPDIR") == nullptr && ::access(shared_memory, W_OK | X_OK) == 0) {
    return shared_memory;
  }
  return std::filesystem::temp_directory_path();
}

}  // namespace

Workspace::Workspace(bool keep) : keep_(keep) {
  std::string name = temporary_directory() / "mortise-orders-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "make " + name);
  }
  path_ = std::filesystem::canonical(name);
}

Workspace::~Workspace() {
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

std::string Workspace::lock_url() const {
  std::string url = "file://";
  for (const char c : (path_ / "locks").string()) {
    // Escapes bytes that would end the path, or that a URL does not allow.
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || c == '%' || c == '?' || c == '#') {
      std::array<char, 4> escape{};
      std::snprintf(escape.data(), escape.size(), "%%%02X", byte);
      url += escape.data();
    } else {
      url += c;
    }
  }
  return url + "?create=yes";
}

}  // namespace shop
