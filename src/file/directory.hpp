// SPDX-License-Identifier: MIT
// The directory of the lock files: opened by its path and checked each time, so that one that was
// moved, replaced or opened up to others is noticed. Keeps no descriptor.
#pragma once

#include <mortise/error.hpp>

#include "base/unique_fd.hpp"

#include <string>
#include <string_view>

namespace mortise::file {

/// @thread_safety immutable
class Directory {
 public:
  /// @param path absolute; its components "." count for nothing
  /// @param create whether the last component is made, mode 0700, when it is missing
  Directory(std::string_view path, bool create);
  /// @return whether a component of the path is "..". Behind a symbolic link that leads elsewhere
  /// than the text says, so that a link could hide as the last component.
  [[nodiscard]] static bool goes_up(std::string_view path) noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// @return the path of one of its files.
  [[nodiscard]] std::string path_of(const std::string& file) const { return path_ + "/" + file; }

  /// Opens it and checks that it is a real directory of ours, that nobody else may write in it, and
  /// that it lies on a local file system.
  [[nodiscard]] Failure open(base::UniqueFd& out) const;
  /// The same, and that files can be made in it.
  [[nodiscard]] Failure check() const;

 private:
  [[nodiscard]] Failure refused(const char* why, Errc errc = Errc::misconfigured) const;
  [[nodiscard]] Failure why_not_open(int error) const;
  [[nodiscard]] Failure inspect(int fd) const;

  std::string path_;
  bool create_;
};

}  // namespace mortise::file
