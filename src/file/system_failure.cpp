// SPDX-License-Identifier: MIT
// Which errno is whose fault.
#include "file/system_failure.hpp"

#include "base/system_error.hpp"

#include <cerrno>

namespace mortise::file {
namespace {

Errc errc_of(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM: return Errc::denied;
    case EROFS:
    case ENOENT:
    case ENOTDIR: return Errc::misconfigured;
    default: return base::errc_of(error);
  }
}

}  // namespace

Failure system_failure(int error, const std::string& path, const char* doing) {
  // strerror() is not thread-safe; the category's message is.
  return {errc_of(error),
          "file " + path + ": cannot " + doing + ": " + std::generic_category().message(error)};
}

}  // namespace mortise::file
