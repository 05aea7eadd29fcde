// SPDX-License-Identifier: MIT
// One open lock file: the kernel's lock on it, the number of its last grant, the word its waiters
// sleep on. Knows nothing of attempts, nor who holds it inside this process.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>

#include "base/unique_fd.hpp"
#include "file/directory.hpp"
#include "file/header.hpp"
#include "file/lock_bytes.hpp"
#include "file/wake_word.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::file {

/// An open file description and its lock. The lock belongs to the description (OFD): no other
/// descriptor that this process opens or closes disturbs it, and it ends with the process.
///
/// @thread_safety const members may be called concurrently; the kernel does not tell two users of
/// one description apart, so the caller keeps who took the lock, under a mutex.
class LockFile {
 public:
  /// Opens the file of a name, and makes it where it is missing. `out` stays empty where the file
  /// was replaced meanwhile: open it again.
  [[nodiscard]] static Failure open(const Directory& directory, const std::string& name,
                                    std::shared_ptr<LockFile>& out, Mode mode = Mode::exclusive);

  /// How the file of a key is opened.
  enum class Opening {
    for_reading,  ///< made where it is missing; not to be locked before `prepare()`
    if_there,     ///< the same, but `out` stays empty where it is missing
  };
  [[nodiscard]] static Failure open_key(const Directory& directory, const std::string& key,
                                        Opening how, std::shared_ptr<LockFile>& out);
  /// Opens a file of this name that is there, whatever it was made for. `out` stays empty where it
  /// is missing, or no file of ours.
  [[nodiscard]] static Failure open_any(const Directory& directory, const std::string& file,
                                        std::shared_ptr<LockFile>& out);
  /// Opens a file that stands for nothing, and makes it where it is missing. `out` as for `open()`.
  [[nodiscard]] static Failure open_own(const Directory& directory, const std::string& file,
                                        std::shared_ptr<LockFile>& out) {
    return open_file(directory, file, file, out);
  }
  /// Makes ready what is needed to lock, unless it is. @param same false: the file was replaced
  [[nodiscard]] Failure prepare(const Directory& directory, bool& same);
  /// @return whether it is ready to be locked.
  [[nodiscard]] bool prepared() const noexcept { return sleepers_ != nullptr; }
  /// Who holds the name, without taking it and without making a file. Empty = free.
  /// @param mode of a lock or a key
  [[nodiscard]] static Failure look(const Directory& directory, const std::string& name,
                                    std::optional<Holder>& out, Mode mode = Mode::exclusive);
  /// Whether files can be made and locked there. Leaves one file, ".probe", for ever.
  [[nodiscard]] static Failure probe(const Directory& directory);

  /// Tries to lock, as an owner; never waits.
  [[nodiscard]] Failure try_lock(bool& locked) const { return try_lock(owned_bytes, locked); }
  /// Unlocks whatever is locked, and wakes sleepers. @return how many there were, `at_most` counted
  int unlock(int at_most) const noexcept;
  /// The same of some bytes; `unlock()` of them wakes nobody.
  [[nodiscard]] Failure try_lock(ByteRange bytes, bool& locked,
                                 ByteLock kind = ByteLock::exclusive) const;
  void unlock(ByteRange bytes) const noexcept;
  /// What is locked as an owner is locked as a reader from now on: there is no moment in between.
  void keep_reading() const noexcept;
  /// Asks which lock of another description is in the way of such a one.
  [[nodiscard]] Failure conflict(ByteRange bytes, ByteLock kind, Conflict& out) const;
  /// Moves the word and wakes every sleeper, so that all look at the path again.
  /// @return how many there were.
  int wake_all() const noexcept;

  enum class Named { yes, no, unknown };
  /// @return whether the path still leads to this file. If not, whoever holds this lock excludes
  /// nobody: the next one opens another file.
  [[nodiscard]] Named named() const noexcept;
  /// @return whether the file has no name at all any more: a third of the price of `named()`.
  [[nodiscard]] bool deleted() const noexcept;

  /// Asks whether another description has it locked, as an owner or a reader.
  [[nodiscard]] Failure locked_elsewhere(bool& locked) const;

  /// Draws the next grant number and writes it down with its holder. Under the lock.
  /// @param above the number is greater than this one, too
  [[nodiscard]] Failure record_grant(std::string_view label, std::uint64_t& number,
                                     std::uint64_t above = 0);
  /// The same where the header was read. @param found of this file, and nobody else draws meanwhile
  [[nodiscard]] Failure record_grant(const Header& found, std::string_view label,
                                     std::uint64_t& number, std::uint64_t above = 0);
  /// @return whether a reader may have the number behind that of the header: it was drawn a moment
  /// ago, or in the future. An older one may have been brought back, by a power failure or with a
  /// backup, and somebody may have had a larger one.
  [[nodiscard]] static bool serves_readers(const Header& found) noexcept;
  /// Draws one that does. By a reader, with `drawing_byte` locked, or by an owner.
  [[nodiscard]] Failure draw_for_readers(Header& found);
  /// Writes down who reads. @param number the one that all have who read now
  [[nodiscard]] Failure record_reader(const Header& found, std::string_view label,
                                      std::uint64_t& number);
  /// Reads the header. @param out blank, or of a lock file of ours
  [[nodiscard]] Failure read(Header& out) const;
  /// Writes down how many permits there are. With `drawing_byte` locked.
  [[nodiscard]] Failure record_permits(const Header& found, std::uint32_t permits);
  /// Tells the number of the last grant, 0 where there was none; also without the lock.
  [[nodiscard]] Failure last_number(std::uint64_t& number) const;
  /// Has the disk keep it. By the holder; what others do meanwhile does not matter.
  [[nodiscard]] Failure flush(const Directory& directory);
  /// @return who took the lock last, as somebody else's holds it.
  [[nodiscard]] Holder holder() const;
  /// The same of who holds it in that mode.
  [[nodiscard]] Holder holder(Mode mode) const;
  /// @return the word now, by a read.
  [[nodiscard]] std::uint32_t word() const noexcept;
  /// @return the word as the last `unlock()` leaves it, unless somebody else moved it as well.
  [[nodiscard]] std::uint32_t word_after_unlock() const noexcept {
    return word_at_grant_ + WakeWord::step;
  }
  [[nodiscard]] const std::shared_ptr<WakeWord>& sleepers() const noexcept { return sleepers_; }
  /// Allocates the page, again where somebody has truncated the file.
  [[nodiscard]] Failure allocate() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// For those who read and write what it remembers of a key.
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  [[nodiscard]] Failure not_ours(const char* why) const;
  /// @param error an errno
  [[nodiscard]] Failure failed(int error, const char* doing) const;

 private:
  LockFile(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}
  [[nodiscard]] static Failure open_file(const Directory& directory, const std::string& name,
                                         const std::string& file, std::shared_ptr<LockFile>& out);
  [[nodiscard]] Failure open_descriptor(const base::UniqueFd& directory, const std::string& file,
                                        int flags, base::UniqueFd& out);
  /// Makes a blank file one of ours; refuses another's.
  [[nodiscard]] Failure make_ours(const Header& found);
  [[nodiscard]] Failure next_number(const Header& found, std::uint64_t above, std::uint64_t now,
                                    std::uint64_t& number) const;
  [[nodiscard]] Failure too_large() const;
  [[nodiscard]] Failure check_content();
  [[nodiscard]] Failure check_name();
  [[nodiscard]] Failure map(const base::UniqueFd& directory, const std::string& file, bool& same);

  std::string name_;
  std::string path_;
  base::UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint32_t pid_ = 0;  // a forked child never writes: its descriptor is closed
  bool name_checked_ = false;
  bool name_flushed_ = false;
  std::uint32_t word_at_grant_ = 0;
  std::shared_ptr<WakeWord> sleepers_;
};

}  // namespace mortise::file
