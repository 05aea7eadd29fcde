// SPDX-License-Identifier: MIT
// One open file of the directory: how it is opened, and whether its path still leads to it.
#pragma once

#include <mortise/error.hpp>

#include "base/unique_fd.hpp"
#include "file/directory.hpp"

#include <sys/types.h>

#include <string>
#include <utility>

namespace mortise::file {

/// @thread_safety const members may be called concurrently.
class OpenFile {
 public:
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

  enum class Named { yes, no, unknown };
  /// @return whether the path still leads to this file. If not, a lock on this file excludes no
  /// other client: the next one opens another file.
  [[nodiscard]] Named named() const noexcept;
  /// @return whether the file has no name at all any more. Costs a third of `named()`.
  [[nodiscard]] bool deleted() const noexcept;

  /// Allocates the page, and again after another program has truncated the file.
  [[nodiscard]] Failure allocate() const;
  /// Has the disk keep the file. By the holder; what other clients do in the meantime does not
  /// matter.
  [[nodiscard]] Failure flush(const Directory& directory);

  [[nodiscard]] Failure not_ours(const char* why) const;
  /// @param error an errno
  [[nodiscard]] Failure failed(int error, const char* doing) const;

 protected:
  explicit OpenFile(std::string path) : path_(std::move(path)) {}
  ~OpenFile() = default;
  /// @param flags `O_CREAT`, or none
  [[nodiscard]] Failure open_in(const base::UniqueFd& folder, int flags) {
    return open_in(folder, flags, fd_, inode_);
  }
  /// Opens another description, and makes the file if it is missing. @param same false: the file
  /// was replaced
  [[nodiscard]] Failure open_again(const base::UniqueFd& folder, base::UniqueFd& out,
                                   bool& same) const;
  [[nodiscard]] bool is_there(const base::UniqueFd& folder) const noexcept;

 private:
  struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const Inode&) const = default;
  };
  [[nodiscard]] const char* name_in_folder() const noexcept;
  [[nodiscard]] Failure open_in(const base::UniqueFd& folder, int flags, base::UniqueFd& out,
                                Inode& inode) const;

  const std::string path_;
  base::UniqueFd fd_;
  Inode inode_;
  bool name_flushed_ = false;
};

}  // namespace mortise::file
