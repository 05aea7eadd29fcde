// SPDX-License-Identifier: MIT
// Opens the directory safely, and says in words why it will not do.
#include "file/directory.hpp"

#include "file/network_filesystem.hpp"
#include "file/owner_access.hpp"
#include "file/system_failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace mortise::file {

namespace {

// The kernel follows "link/" and "link/." even if O_NOFOLLOW says that it must not.
std::string without_dots(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (component.empty() || component == ".") continue;
    plain += '/';
    plain += component;
  }
  return plain.empty() ? "/" : plain;
}

}  // namespace

Directory::Directory(std::string_view path, bool create)
    : path_(without_dots(path)), create_(create) {}

bool Directory::goes_up(std::string_view path) noexcept {
  constexpr std::string_view up = "..";
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == up) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

Failure Directory::refused(const char* why, Errc errc) const {
  return {errc, "file " + path_ + ": " + why};
}

// O_DIRECTORY with O_NOFOLLOW answers ENOTDIR for a link as well: the words need a second look.
Failure Directory::why_not_open(int error) const {
  struct stat found {};
  if (error == ENOENT) {
    return refused("the directory does not exist; create it, or add create=yes to the URL");
  }
  if ((error == ENOTDIR || error == ELOOP) && ::lstat(path_.c_str(), &found) == 0) {
    if (S_ISLNK(found.st_mode)) {
      return refused("the directory is a symbolic link; use the path that it leads to");
    }
    return refused("this is not a directory");
  }
  return system_failure(error, path_, "open the directory");
}

Failure Directory::inspect(int fd) const {
  struct stat found {};
  struct statfs system {};
  if (::fstat(fd, &found) != 0 || ::fstatfs(fd, &system) != 0) {
    return system_failure(errno, path_, "inspect the directory");
  }
  if (found.st_uid != ::geteuid() && found.st_uid != 0) {
    return refused("the directory belongs to another user; use one of the process's own user");
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return refused("the directory is writable by its group or by others; run chmod go-w");
  }
  // The type is a signed word on some machines; its magic numbers have 32 bits.
  if (is_network_filesystem(static_cast<std::uint32_t>(system.f_type))) {
    return refused(
        "the directory is on a network or FUSE file system, where locks do not exclude reliably; "
        "use a local one");
  }
  return {};
}

Failure Directory::open(base::UniqueFd& out) const {
  const auto attempt = [this] {
    return base::UniqueFd::open(
        [this] { return ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  };
  base::UniqueFd fd = attempt();
  if (!fd && create_ && (errno == ENOENT || errno == EACCES)) {
    // EEXIST: another process was quicker.
    if (errno == ENOENT && ::mkdir(path_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return system_failure(errno, path_, "create the directory");
    }
    static_cast<void>(give_owner_access(AT_FDCWD, path_.c_str(), S_IRWXU));
    fd = attempt();
  }
  if (!fd) return why_not_open(errno);
  if (Failure why = inspect(fd.get())) return why;
  out = std::move(fd);
  return {};
}

Failure Directory::check() const {
  base::UniqueFd fd;
  if (Failure why = open(fd)) return why;
  if (::faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    // Other errors come from filters that do not know the call; the first lock will tell.
    if (errno == EROFS) return refused("the file system is mounted read-only; use a writable one");
    if (errno == EACCES) {
      return refused("the process may not write in the directory; grant it write permission",
                     Errc::denied);
    }
  }
  return {};
}

}  // namespace mortise::file
