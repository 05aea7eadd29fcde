// SPDX-License-Identifier: MIT
// The file, the kernel's locks on it, and what a grant writes into it.
#include "file/lock_file.hpp"

#include "file/bytes.hpp"
#include "file/file_name.hpp"
#include "file/header.hpp"
#include "file/owner_access.hpp"
#include "file/system_failure.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace mortise::file {
namespace {

// Not a name that file_name() ever yields.
constexpr const char* probe_file = ".probe";

bool is_there(const base::UniqueFd& folder, const std::string& file) noexcept {
  struct stat ignored {};
  return ::fstatat(folder.get(), file.c_str(), &ignored, AT_SYMLINK_NOFOLLOW) == 0 ||
         errno != ENOENT;
}

}  // namespace

Failure LockFile::not_ours(const char* why) const {
  return {Errc::protocol, "file " + path_ + ": " + why};
}

Failure LockFile::failed(int error, const char* doing) const {
  return system_failure(error, path_, doing);
}

Failure LockFile::open_descriptor(const base::UniqueFd& directory, const std::string& file,
                                  int flags, base::UniqueFd& out) {
  // O_NONBLOCK: a pipe or a device that somebody put there must not stop us.
  flags |= O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const auto attempt = [&] {
    return base::UniqueFd::open(
        [&] { return ::openat(directory.get(), file.c_str(), flags, owner_reads_and_writes); });
  };
  base::UniqueFd fd = attempt();
  if (!fd && errno == EACCES &&
      give_owner_access(directory.get(), file.c_str(), owner_reads_and_writes)) {
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
  device_ = found.st_dev;
  inode_ = found.st_ino;
  out = std::move(fd);
  return {};
}

Failure LockFile::open(const Directory& directory, const std::string& name,
                       std::shared_ptr<LockFile>& out, Mode mode) {
  return open_file(directory, name, file_name(name, mode), out);
}

Failure LockFile::open_file(const Directory& directory, const std::string& name,
                            const std::string& file, std::shared_ptr<LockFile>& out) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  // Not make_shared: the constructor is private.
  const std::shared_ptr<LockFile> made(new LockFile(name, directory.path_of(file)));
  made->pid_ = static_cast<std::uint32_t>(::getpid());
  if (Failure why = made->open_descriptor(folder, file, O_CREAT, made->fd_)) return why;
  if (Failure why = made->check_content()) return why;
  if (Failure why = made->allocate()) return why;
  bool same = false;
  if (Failure why = made->map(folder, file, same)) return why;
  if (same) out = made;
  return {};
}

Failure LockFile::open_key(const Directory& directory, const std::string& key, Opening how,
                           std::shared_ptr<LockFile>& out) {
  const std::string file = file_name(key, Mode::once);
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  if (how == Opening::if_there && !is_there(folder, file)) return {};
  const std::shared_ptr<LockFile> made(new LockFile(key, directory.path_of(file)));
  made->pid_ = static_cast<std::uint32_t>(::getpid());
  const int flags = how == Opening::if_there ? 0 : O_CREAT;
  if (Failure why = made->open_descriptor(folder, file, flags, made->fd_)) return why;
  if (Failure why = made->check_content()) return why;
  out = made;
  return {};
}

Failure LockFile::open_any(const Directory& directory, const std::string& file,
                           std::shared_ptr<LockFile>& out) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  if (!is_there(folder, file)) return {};
  const std::shared_ptr<LockFile> found(new LockFile({}, directory.path_of(file)));
  if (Failure why = found->open_descriptor(folder, file, 0, found->fd_)) return why;
  Header header;
  if (const int error = read_header(found->fd_.get(), header)) return found->failed(error, "read");
  if (!header.blank() && !header.ours()) return {};
  out = found;
  return {};
}

Failure LockFile::prepare(const Directory& directory, bool& same) {
  same = true;
  if (prepared()) return {};
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  if (Failure why = allocate()) return why;
  return map(folder, path_.substr(path_.rfind('/') + 1), same);
}

// The mapping comes from a description of its own. A mapping keeps its description alive, and a
// forked child inherits mappings: through the one that is locked it would hold the lock after our
// death, although it has closed its descriptor.
Failure LockFile::map(const base::UniqueFd& directory, const std::string& file, bool& same) {
  const auto expected = std::pair(device_, inode_);
  base::UniqueFd fd;
  if (Failure why = open_descriptor(directory, file, O_CREAT, fd)) return why;
  same = std::pair(device_, inode_) == expected;
  if (!same) return {};
  sleepers_ = std::make_shared<WakeWord>();
  if (const int error = sleepers_->map(fd.get())) return failed(error, "map");
  return {};
}

Failure LockFile::allocate() const {
  struct stat found {};
  if (::fstat(fd_.get(), &found) != 0) return failed(errno, "inspect");
  if (found.st_size >= static_cast<off_t>(file_size)) return {};
  // Before it is mapped: a page without a block behind it cannot be written when the disk is full.
  const int error = allocate_all(fd_.get(), file_size);
  return error == 0 ? Failure{} : failed(error, "allocate");
}

// Before the file is enlarged: another program's file stays as it is.
Failure LockFile::check_content() {
  Header header;
  if (const int error = read_header(fd_.get(), header)) return failed(error, "read");
  if (header.blank()) return {};
  if (!header.ours()) {
    return not_ours("this is not a lock file of this version; use another directory");
  }
  return check_name();
}

Failure LockFile::check_name() {
  bool same = false;
  if (const int error = compare_name(fd_.get(), name_, same)) return failed(error, "read");
  if (!same) return not_ours("the file belongs to another lock name; use another name");
  name_checked_ = true;
  return {};
}

Failure LockFile::try_lock(ByteRange bytes, bool& locked, ByteLock kind) const {
  const int error = try_lock_bytes(fd_.get(), bytes, kind, locked);
  return error == 0 ? Failure{} : failed(error, "lock");
}

void LockFile::unlock(ByteRange bytes) const noexcept {
  // Where the kernel has no memory to split a lock, more stays locked until the last of it is
  // freed: others wait longer, and nobody holds what another one has.
  static_cast<void>(unlock_bytes(fd_.get(), bytes));
}

void LockFile::keep_reading() const noexcept {
  bool locked = false;
  if (try_lock_bytes(fd_.get(), reading_byte, ByteLock::shared, locked) != 0) return;
  const off_t rest = reading_byte.start + reading_byte.size;
  unlock({.start = rest, .size = owned_bytes.size - rest});
}

Failure LockFile::conflict(ByteRange bytes, ByteLock kind, Conflict& out) const {
  const int error = find_conflict(fd_.get(), bytes, kind, out);
  return error == 0 ? Failure{} : failed(error, "inspect");
}

int LockFile::unlock(int at_most) const noexcept {
  unlock_everything(fd_.get());
  // In this order: who is woken must find the lock free, and who reads the word after this and then
  // fails to lock has failed because of somebody else.
  return sleepers_->bump_and_wake(at_most);
}

int LockFile::wake_all() const noexcept { return sleepers_->bump_and_wake(INT_MAX); }

LockFile::Named LockFile::named() const noexcept {
  // By the whole path: a directory that was replaced is noticed as well. statx, since to be asked
  // for the times of a file makes Linux 6.13 write a new one to the disk's journal at each change.
  struct statx found {};
  if (::statx(AT_FDCWD, path_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO, &found) != 0) {
    return errno == ENOENT || errno == ENOTDIR ? Named::no : Named::unknown;
  }
  const dev_t device = makedev(found.stx_dev_major, found.stx_dev_minor);
  return device == device_ && found.stx_ino == inode_ ? Named::yes : Named::no;
}

bool LockFile::deleted() const noexcept {
  struct statx found {};
  return ::statx(fd_.get(), "", AT_EMPTY_PATH, STATX_NLINK, &found) == 0 && found.stx_nlink == 0;
}

Failure LockFile::locked_elsewhere(bool& locked) const {
  Conflict found;
  Failure why = conflict(owned_bytes, ByteLock::exclusive, found);
  locked = found.there;
  return why;
}

Failure LockFile::flush(const Directory& directory) {
  if (::fdatasync(fd_.get()) != 0) return failed(errno, "flush");
  if (name_flushed_) return {};
  // The name of a file is kept by its directory. Its maker may have died before it flushed that.
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  if (::fsync(folder.get()) != 0) return system_failure(errno, directory.path(), "flush");
  name_flushed_ = true;
  return {};
}

Holder LockFile::holder(Mode mode) const {
  Header header;
  if (read_header(fd_.get(), header) != 0 || !header.ours()) return {};
  return header.grant.holder(mode);
}

Holder LockFile::holder() const {
  Header header;
  if (read_header(fd_.get(), header) != 0 || !header.ours()) return {};
  Mode mode = Mode::exclusive;
  Conflict held;
  // The mark is there as well where an owner reads besides.
  if (header.grant.shared() &&
      find_conflict(fd_.get(), reading_byte, ByteLock::exclusive, held) == 0 &&
      (!held.there || held.kind == ByteLock::shared)) {
    mode = Mode::shared;
  }
  return header.grant.holder(mode);
}

std::uint32_t LockFile::word() const noexcept {
  std::uint32_t out = 0;
  // A file that cannot be read any more fails the next try to lock.
  static_cast<void>(read_word(fd_.get(), out));
  return out;
}

Failure LockFile::look(const Directory& directory, const std::string& name,
                       std::optional<Holder>& out, Mode mode) {
  const std::string file = file_name(name, mode);
  LockFile found(name, directory.path_of(file));
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  out.reset();
  if (!is_there(folder, file)) return {};
  // Without O_CREAT: looking leaves no file behind.
  if (Failure why = found.open_descriptor(folder, file, 0, found.fd_)) return why;
  if (Failure why = found.check_content()) return why;
  Conflict held;
  if (Failure why = found.conflict(reading_byte, ByteLock::exclusive, held)) return why;
  if (!held.there) return {};
  out = found.holder(held.kind == ByteLock::shared ? Mode::shared : Mode::exclusive);
  return {};
}

Failure LockFile::probe(const Directory& directory) {
  if (Failure why = directory.check()) return why;
  std::shared_ptr<LockFile> file;
  if (Failure why = open_file(directory, probe_file, probe_file, file)) return why;
  bool locked = false;
  // Where it is locked already, another process is at it: locks work.
  return file->try_lock(locked);
}

}  // namespace mortise::file
