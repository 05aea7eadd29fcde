// SPDX-License-Identifier: MIT
// Which grant numbers the removed files of keys had: a file that is made anew begins above.
#pragma once

#include <mortise/error.hpp>

#include "file/directory.hpp"
#include "file/lock_file.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

namespace mortise::file {

/// One number a directory, in a file of its own. The numbers follow the wall clock, so that it
/// matters only where that was set back.
///
/// @thread_safety every member may be called concurrently.
class NumberFloor {
 public:
  /// @param directory outlives this
  /// @param flush whether the disk has to keep it, in case of a power failure
  NumberFloor(const Directory& directory, bool flush) : directory_(directory), flush_(flush) {}

  /// @param out no file that was removed before this call had a greater number
  [[nodiscard]] Failure read(std::uint64_t& out);
  /// Notes a number; to be called before the file that has it is removed, and under its lock.
  /// @param noted false: another process is noting one now
  [[nodiscard]] Failure raise(std::uint64_t number, bool& noted);

 private:
  [[nodiscard]] Failure open_locked();

  const Directory& directory_;
  const bool flush_;
  std::mutex mutex_;
  std::shared_ptr<LockFile> file_;
};

}  // namespace mortise::file
