// SPDX-License-Identifier: MIT
// Another program may have made or replaced the file at a path, or it is a link.
#include "file/open_file.hpp"

#include "file/bytes.hpp"
#include "file/header.hpp"
#include "file/owner_access.hpp"
#include "file/system_failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

namespace mortise::file {

Failure OpenFile::not_ours(const char* why) const {
  return {Errc::protocol, "file " + path_ + ": " + why};
}

Failure OpenFile::failed(int error, const char* doing) const {
  return system_failure(error, path_, doing);
}

const char* OpenFile::name_in_folder() const noexcept {
  return path_.c_str() + path_.rfind('/') + 1;
}

bool OpenFile::is_there(const base::UniqueFd& folder) const noexcept {
  struct stat ignored {};
  return ::fstatat(folder.get(), name_in_folder(), &ignored, AT_SYMLINK_NOFOLLOW) == 0 ||
         errno != ENOENT;
}

Failure OpenFile::open_in(const base::UniqueFd& folder, int flags, base::UniqueFd& out,
                          Inode& inode) const {
  const char* const file = name_in_folder();
  // O_NONBLOCK: a pipe or a device that another program put there must not stop us.
  flags |= O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const auto attempt = [&] {
    return base::UniqueFd::open(
        [&] { return ::openat(folder.get(), file, flags, owner_reads_and_writes); });
  };
  base::UniqueFd fd = attempt();
  if (!fd && errno == EACCES && give_owner_access(folder.get(), file, owner_reads_and_writes)) {
    fd = attempt();
  }
  if (!fd) {
    if (errno == ELOOP) return not_ours("this is a symbolic link; remove it");
    if (errno == EISDIR || errno == ENXIO) return not_ours("this is not a regular file; remove it");
    return failed(errno, "open");
  }
  struct stat found {};
  if (::fstat(fd.get(), &found) != 0) return failed(errno, "inspect");
  if (!S_ISREG(found.st_mode)) return not_ours("this is not a regular file; remove it");
  if (found.st_uid != ::geteuid()) {
    return not_ours("the file belongs to another user; run all processes as one user");
  }
  if (found.st_nlink > 1) return not_ours("the file has a second hard link; remove that link");
  // Made just now, under a umask that takes the owner's access away. A file with content may be
  // that of another program, and stays as it is.
  if (found.st_size == 0 && lacks(found, owner_reads_and_writes) &&
      ::fchmod(fd.get(), permissions_of(found) | owner_reads_and_writes) != 0) {
    return failed(errno, "set the mode of");
  }
  inode = {.device = found.st_dev, .number = found.st_ino};
  out = std::move(fd);
  return {};
}

Failure OpenFile::open_again(const base::UniqueFd& folder, base::UniqueFd& out, bool& same) const {
  Inode inode;
  if (Failure why = open_in(folder, O_CREAT, out, inode)) return why;
  same = inode == inode_;
  return {};
}

Failure OpenFile::allocate() const {
  struct stat found {};
  if (::fstat(fd_.get(), &found) != 0) return failed(errno, "inspect");
  if (found.st_size >= static_cast<off_t>(file_size)) return {};
  // Before it is mapped: a page without a block behind it cannot be written when the disk is full.
  const int error = allocate_all(fd_.get(), file_size);
  return error == 0 ? Failure{} : failed(error, "allocate");
}

Failure OpenFile::flush(const Directory& directory) {
  if (::fdatasync(fd_.get()) != 0) return failed(errno, "flush");
  if (name_flushed_) return {};
  // The name of a file is kept by its directory. Its maker may have died before it flushed that.
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  if (::fsync(folder.get()) != 0) return system_failure(errno, directory.path(), "flush");
  name_flushed_ = true;
  return {};
}

OpenFile::Named OpenFile::named() const noexcept {
  // By the whole path: a directory that was replaced is noticed as well. statx, since to be asked
  // for the times of a file makes Linux 6.13 write a new one to the disk's journal at each change.
  struct statx found {};
  if (::statx(AT_FDCWD, path_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO, &found) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Named::no : Named::unknown;
  }
  const Inode there{.device = makedev(found.stx_dev_major, found.stx_dev_minor),
                    .number = found.stx_ino};
  return there == inode_ ? Named::yes : Named::no;
}

bool OpenFile::deleted() const noexcept {
  struct statx found {};
  return ::statx(fd_.get(), "", AT_EMPTY_PATH, STATX_NLINK, &found) == 0 && found.stx_nlink == 0;
}

}  // namespace mortise::file
