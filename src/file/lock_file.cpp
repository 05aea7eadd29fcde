// SPDX-License-Identifier: MIT
// The ways to open a lock file, and the kernel's locks on it.
#include "file/lock_file.hpp"

#include "file/file_name.hpp"
#include "file/header.hpp"

#include <fcntl.h>

#include <climits>
#include <utility>

namespace mortise::file {

Failure LockFile::open(const Directory& directory, const std::string& name,
                       std::shared_ptr<LockFile>& out, Mode mode) {
  return open_prepared(directory, name, file_name(name, mode), out);
}

Failure LockFile::open_own(const Directory& directory, const std::string& file,
                           std::shared_ptr<LockFile>& out) {
  return open_prepared(directory, file, file, out);
}

Failure LockFile::open_prepared(const Directory& directory, const std::string& name,
                                const std::string& file, std::shared_ptr<LockFile>& out) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  // Not make_shared: the constructor is private.
  const std::shared_ptr<LockFile> made(new LockFile(name, directory.path_of(file)));
  if (Failure why = made->open_in(folder, O_CREAT)) return why;
  // Before the file is enlarged: another program's file stays as it is.
  if (Failure why = made->grants_.check()) return why;
  bool same = false;
  if (Failure why = made->prepare_in(folder, same)) return why;
  if (same) out = made;
  return {};
}

Failure LockFile::open_to_read(const Directory& directory, const std::string& name, Mode mode,
                               Missing missing, std::shared_ptr<LockFile>& out) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  const std::shared_ptr<LockFile> made(
      new LockFile(name, directory.path_of(file_name(name, mode))));
  if (missing == Missing::leave && !made->is_there(folder)) return {};
  if (Failure why = made->open_in(folder, missing == Missing::make ? O_CREAT : 0)) return why;
  if (Failure why = made->grants_.check()) return why;
  out = made;
  return {};
}

Failure LockFile::open_any(const Directory& directory, const std::string& file,
                           std::shared_ptr<LockFile>& out) {
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  const std::shared_ptr<LockFile> found(new LockFile({}, directory.path_of(file)));
  if (!found->is_there(folder)) return {};
  if (Failure why = found->open_in(folder, 0)) return why;
  Header header;
  if (const int error = read_header(found->descriptor(), header)) {
    return found->failed(error, "read");
  }
  if (header.blank() || header.ours()) out = found;
  return {};
}

Failure LockFile::prepare(const Directory& directory, bool& same) {
  same = true;
  if (prepared()) return {};
  base::UniqueFd folder;
  if (Failure why = directory.open(folder)) return why;
  return prepare_in(folder, same);
}

// The mapping comes from a description of its own. A mapping keeps its description alive, and a
// forked child inherits mappings: through the one that is locked it would hold the lock after our
// death, although it has closed its descriptor.
Failure LockFile::prepare_in(const base::UniqueFd& folder, bool& same) {
  if (Failure why = allocate()) return why;
  base::UniqueFd fd;
  if (Failure why = open_again(folder, fd, same)) return why;
  if (!same) return {};
  auto sleepers = std::make_shared<WakeWord>();
  if (const int error = sleepers->map(fd.get())) return failed(error, "map");
  sleepers_ = std::move(sleepers);
  return {};
}

Failure LockFile::try_lock(ByteRange bytes, bool& locked, ByteLock kind) const {
  const int error = try_lock_bytes(descriptor(), bytes, kind, locked);
  return error == 0 ? Failure{} : failed(error, "lock");
}

void LockFile::unlock(ByteRange bytes) const noexcept {
  // Where the kernel has no memory to split a lock, more stays locked until the last of it is
  // freed: other clients wait longer, and none holds what another one has.
  static_cast<void>(unlock_bytes(descriptor(), bytes));
}

void LockFile::keep_reading() const noexcept {
  bool locked = false;
  if (try_lock_bytes(descriptor(), reading_byte, ByteLock::shared, locked) != 0) return;
  const off_t rest = reading_byte.start + reading_byte.size;
  unlock({.start = rest, .size = owned_bytes.size - rest});
}

Failure LockFile::conflict(ByteRange bytes, ByteLock kind, Conflict& out) const {
  const int error = find_conflict(descriptor(), bytes, kind, out);
  return error == 0 ? Failure{} : failed(error, "inspect");
}

Failure LockFile::locked_elsewhere(bool& locked) const {
  Conflict found;
  Failure why = conflict(owned_bytes, ByteLock::exclusive, found);
  locked = found.there;
  return why;
}

int LockFile::unlock(int at_most) const noexcept {
  unlock_everything(descriptor());
  // In this order: a waiter that is woken must find the lock free, and a waiter that reads the word
  // after this and then fails to lock has failed because of another client.
  return sleepers_->bump_and_wake(at_most);
}

int LockFile::wake_all() const noexcept { return sleepers_->bump_and_wake(INT_MAX); }

Holder LockFile::holder() const {
  Header header;
  if (read_header(descriptor(), header) != 0 || !header.ours()) return {};
  Mode mode = Mode::exclusive;
  Conflict held;
  // The mark is there as well if an owner reads besides.
  if (header.grant.shared() && !conflict(reading_byte, ByteLock::exclusive, held) &&
      (!held.there || held.kind == ByteLock::shared)) {
    mode = Mode::shared;
  }
  return header.grant.holder(mode);
}

std::uint32_t LockFile::word() const noexcept {
  std::uint32_t out = 0;
  // A file that cannot be read any more fails the next try to lock.
  static_cast<void>(read_word(descriptor(), out));
  return out;
}

}  // namespace mortise::file
