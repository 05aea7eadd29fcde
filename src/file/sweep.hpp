// SPDX-License-Identifier: MIT
// Removes the files of keys that need not be remembered any more: a few at a time, by those who
// make others.
#pragma once

#include <mortise/clock.hpp>

#include "base/unique_fd.hpp"
#include "file/directory.hpp"
#include "file/lock_file.hpp"
#include "file/number_floor.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::file {

/// Goes through the directory again and again, where it left off.
///
/// Until when a file is kept stands in its record, and, once it was looked at, also in its
/// modification time, which is asked for without opening it. That time is a hint: whoever writes
/// into the file moves it back.
/// @thread_safety every member may be called concurrently; a second one at a time does nothing.
class Sweep {
 public:
  /// @param directory outlives this, and so does the floor
  Sweep(const Directory& directory, NumberFloor& floor) : directory_(directory), floor_(floor) {}

  /// Looks at the next few files. Costs little more than a status call for each.
  void some() noexcept;

  /// How many keys it looks at. Each of those that come by adds one file at most, so that there are
  /// at most an eighth more files than keys to be remembered.
  static constexpr int keys_at_once = 8;

 private:
  using Milliseconds = std::chrono::milliseconds;  ///< of the wall clock
  [[nodiscard]] const char* next_name() noexcept;
  void look_at(const char* file, Milliseconds now);

  const Directory& directory_;
  NumberFloor& floor_;
  std::mutex mutex_;
  base::UniqueFd folder_;  // empty between two passes
  Instant pass_began_{};
  alignas(8) std::array<char, 2048> names_{};
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace mortise::file
