// SPDX-License-Identifier: MIT
#include "store_url.hpp"

#include <mortise/error.hpp>

#include "base/system_error.hpp"
#include "descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <system_error>

namespace mortise::tool {
namespace {

/// Far above any URL: /dev/zero must not fill the memory.
constexpr std::size_t longest_file = 65'536;

[[noreturn]] void refuse(Errc code, const std::string& why) {
  throw Error(Failure(code, "--url-file: the file " + why));
}

[[noreturn]] void refuse_errno() {
  const int error = errno;
  const bool forbidden = error == EACCES || error == EPERM;
  refuse(forbidden ? Errc::denied : base::errc_of(error, Errc::misconfigured),
         "cannot be read: " + std::generic_category().message(error));
}

std::string read_whole(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) refuse_errno();
  std::string text;
  for (;;) {
    char bytes[4'096];
    const ssize_t size = ::read(file.get(), bytes, sizeof bytes);
    if (size == 0) return text;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) refuse_errno();
    text.append(bytes, static_cast<std::size_t>(size));
    if (text.size() > longest_file) refuse(Errc::misconfigured, "is longer than 65536 bytes");
  }
}

std::string line_in(const std::string& path) {
  std::string text = read_whole(path);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty() && text.back() == '\r') text.pop_back();
  if (text.empty()) refuse(Errc::misconfigured, "is empty; its first line must be the URL");
  if (text.find('\n') != std::string::npos) {
    refuse(Errc::misconfigured, "has more than one line; it must contain the URL alone");
  }
  return text;
}

}  // namespace

std::string find_url(const StoreUrl& given) {
  if (given.url) return *given.url;
  if (given.file) return line_in(*given.file);
  const char* const variable = std::getenv("MORTISE_URL");
  return variable != nullptr ? variable : "";
}

}  // namespace mortise::tool
