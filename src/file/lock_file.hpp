// SPDX-License-Identifier: MIT
// One open lock file: the kernel's lock on it, the grants that it records, the word its waiters
// sleep on. Knows nothing of attempts, nor who holds it inside this process.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>

#include "file/directory.hpp"
#include "file/grants.hpp"
#include "file/lock_bytes.hpp"
#include "file/open_file.hpp"
#include "file/wake_word.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace mortise::file {

/// An open file description and its lock. The lock belongs to the description (OFD): no other
/// descriptor that this process opens or closes disturbs it, and it ends with the process.
///
/// @thread_safety const members may be called concurrently; the kernel does not tell two users of
/// one description apart, so the caller keeps who took the lock, under a mutex.
class LockFile : public OpenFile {
 public:
  /// Opens the file of a name, and makes it if it is missing. `out` stays empty if the file was
  /// replaced in the meantime: open it again.
  [[nodiscard]] static Failure open(const Directory& directory, const std::string& name,
                                    std::shared_ptr<LockFile>& out, Mode mode = Mode::exclusive);
  /// Opens a file that stands for nothing. As `open()`.
  [[nodiscard]] static Failure open_own(const Directory& directory, const std::string& file,
                                        std::shared_ptr<LockFile>& out);

  /// How a request treats a missing file.
  enum class Missing {
    make,   ///< makes it
    leave,  ///< `out` stays empty
  };
  /// Opens the file of a name to read it; not to be locked before `prepare()`.
  [[nodiscard]] static Failure open_to_read(const Directory& directory, const std::string& name,
                                            Mode mode, Missing missing,
                                            std::shared_ptr<LockFile>& out);
  /// Opens a file of this name that is there, whatever it was made for. `out` stays empty if it is
  /// missing, or no file of ours.
  [[nodiscard]] static Failure open_any(const Directory& directory, const std::string& file,
                                        std::shared_ptr<LockFile>& out);
  /// Makes ready what is needed to lock, unless it is. @param same false: the file was replaced
  [[nodiscard]] Failure prepare(const Directory& directory, bool& same);
  /// @return whether it is ready to be locked.
  [[nodiscard]] bool prepared() const noexcept { return sleepers_ != nullptr; }

  /// Tries to lock, as an owner; never waits.
  [[nodiscard]] Failure try_lock(bool& locked) const { return try_lock(owned_bytes, locked); }
  /// Unlocks whatever is locked, and wakes sleepers. @return how many there were, `at_most` counted
  int unlock(int at_most) const noexcept;
  /// The same of some bytes; `unlock()` of them wakes no waiter.
  [[nodiscard]] Failure try_lock(ByteRange bytes, bool& locked,
                                 ByteLock kind = ByteLock::exclusive) const;
  void unlock(ByteRange bytes) const noexcept;
  /// What is locked as an owner is locked as a reader from now on: there is no moment in between.
  void keep_reading() const noexcept;
  /// Asks which lock of another description is in the way of such a lock.
  [[nodiscard]] Failure conflict(ByteRange bytes, ByteLock kind, Conflict& out) const;
  /// Asks whether another description has it locked, as an owner or a reader.
  [[nodiscard]] Failure locked_elsewhere(bool& locked) const;
  /// Moves the word and wakes every sleeper, so that all look at the path again.
  /// @return how many there were.
  int wake_all() const noexcept;

  [[nodiscard]] Grants& grants() noexcept { return grants_; }
  [[nodiscard]] const Grants& grants() const noexcept { return grants_; }
  /// @return who took the lock last, as the holder in another description.
  [[nodiscard]] Holder holder() const;
  /// @return the word now, by a read.
  [[nodiscard]] std::uint32_t word() const noexcept;
  /// @return the word as the last `unlock()` leaves it, unless another client moved it as well.
  [[nodiscard]] std::uint32_t word_after_unlock() const noexcept {
    return grants_.word_at_grant() + WakeWord::step;
  }
  [[nodiscard]] const std::shared_ptr<WakeWord>& sleepers() const noexcept { return sleepers_; }

 private:
  LockFile(std::string name, std::string path)
      : OpenFile(std::move(path)), grants_(*this, std::move(name)) {}
  [[nodiscard]] static Failure open_prepared(const Directory& directory, const std::string& name,
                                             const std::string& file,
                                             std::shared_ptr<LockFile>& out);
  [[nodiscard]] Failure prepare_in(const base::UniqueFd& folder, bool& same);

  Grants grants_;
  std::shared_ptr<WakeWord> sleepers_;
};

}  // namespace mortise::file
