// SPDX-License-Identifier: MIT
// The file of one name, and what this client holds in it. The parts of an entry share it: each
// kind of hold has a part that decides when it is granted.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/decision.hpp"
#include "file/directory.hpp"
#include "file/lock_file.hpp"
#include "file/number_floor.hpp"
#include "file/waiters.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mortise::file {

/// The parts that the entries of one kind share.
struct Common {
  const Directory& directory;
  bool flush;  ///< whether the disk has to keep a grant
  Mode mode = Mode::exclusive;
  NumberFloor* floor = nullptr;  ///< of keys
  /// Counts those that are in use.
  std::atomic<std::size_t> in_use{0};
};

struct Hold {
  AttemptId attempt;
  Grant grant;
  bool settled = false;
  /// Of a key: of the record that it has written last; its own, unless it `mends`.
  std::uint64_t sequence = 0;
  /// Holds the key only until the disk has what a runner wrote that died over it.
  bool mends = false;
  std::uint32_t place = 0;  ///< which permit
  bool read = false;        ///< an owner that has read besides
};

/// @thread_safety none: part of an entry, under its mutex.
struct HeldFile {
  HeldFile(Common& shared, std::string text) : common(shared), name(std::move(text)) {}

  /// Opens the file of the name, unless it is open. The file stays closed if it was replaced in
  /// the meantime, or is missing and left so.
  [[nodiscard]] Failure open(LockFile::Missing missing = LockFile::Missing::make);
  /// Of a key: makes ready what is needed to lock. @return why that is not possible
  [[nodiscard]] std::optional<Decision> prepare();
  /// Has an attempt made with the file of the name, again as long as it finds the file replaced.
  /// @return what it came to; `ignored` if the file is missing and left so
  template <class Attempt>
  [[nodiscard]] Decision try_with_file(const Attempt& attempt,
                                       LockFile::Missing missing = LockFile::Missing::make) {
    for (int round = 0; round < patience; ++round) {
      if (Failure why = open(missing)) return failed(std::move(why));
      if (!file && missing == LockFile::Missing::leave) return {};
      if (!file) continue;
      Decision decision = attempt();
      if (decision.kind != Decision::Kind::replaced) return decision;
      abandon();
    }
    return replaced_again();
  }
  /// Looks whether the file is still the one of its name. @return what it comes to if it is not
  [[nodiscard]] std::optional<Decision> refuse_replaced() const;
  /// The file is not the one of its name any more. Waiters that sleep on it look at the path again.
  void abandon() noexcept;

  /// Locks the file as an owner. @return `granted`; or `held` by another client, `replaced`,
  /// `failed`. @param nap what to sleep on if it is held
  [[nodiscard]] Decision lock(Nap& nap);
  /// The kernel would give a lock to the same description once more.
  /// @return the answer to an attempt that a hold of this client excludes
  [[nodiscard]] Decision held_here(Nap& nap) const;
  /// Notes a hold that was granted just now: of an owner, or of one of several.
  [[nodiscard]] Decision note(Hold hold, Mode mode);
  /// Frees what that attempt holds, in the kernel as well, and wakes the waiters that may have it.
  void drop(const AttemptId& attempt) noexcept;
  /// Other clients see no waiter here any more, unless there is one.
  void withdraw() noexcept;

  /// @return what that attempt holds; null: nothing.
  [[nodiscard]] const Hold* find(const AttemptId& attempt) const noexcept;
  [[nodiscard]] Hold* find(const AttemptId& attempt) noexcept;
  [[nodiscard]] bool has(const HoldId& hold) const noexcept;
  [[nodiscard]] bool is_held() const noexcept { return owner || !sharing.empty(); }

  Common& common;
  const std::string name;
  std::shared_ptr<LockFile> file;  // empty: not open, or found to be replaced
  std::optional<Hold> owner;       // implies file
  std::vector<Hold> sharing;       // readers, or permits; implies file
  Waiters waiters;
  Politeness politeness;

 private:
  // How often a file that is replaced in the meantime is opened again.
  static constexpr int patience = 8;
  void drop_part(const AttemptId& attempt) noexcept;
  [[nodiscard]] Decision replaced_again() const;
  [[nodiscard]] Decision unseen_path() const;
};

/// Frees the lock unless it is kept, even if an exception passes.
class Unlocking {
 public:
  /// @param wakes how many: if no turn has passed, a single waiter may not be the one that can go
  /// on
  explicit Unlocking(const LockFile& file, int wakes = 1) noexcept : file_(&file), wakes_(wakes) {}
  Unlocking(const Unlocking&) = delete;
  Unlocking& operator=(const Unlocking&) = delete;
  ~Unlocking() {
    if (file_ != nullptr) file_->unlock(wakes_);
  }
  void keep() noexcept { file_ = nullptr; }

 private:
  const LockFile* file_;
  const int wakes_;
};

}  // namespace mortise::file
