// SPDX-License-Identifier: MIT
// The grants that a lock file records: their numbers and holders, and the name for which the file
// was made.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>

#include "file/header.hpp"
#include "file/open_file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::file {

/// The caller has the lock that each member names.
/// @thread_safety as that of the file
class Grants {
 public:
  /// @param file outlives this
  Grants(const OpenFile& file, std::string name);
  Grants(const Grants&) = delete;
  Grants& operator=(const Grants&) = delete;

  /// Refuses the file of another program, and that of another name. A blank file is accepted.
  [[nodiscard]] Failure check();
  /// Reads the header, without a lock. @param out blank, or of a lock file of ours
  [[nodiscard]] Failure read(Header& out) const;
  /// Reads the number of the last grant, without a lock; 0 if there was none.
  [[nodiscard]] Failure last_number(std::uint64_t& number) const;
  /// @return who took the lock last, as the holder in that mode.
  [[nodiscard]] Holder holder(Mode mode) const;

  /// Draws the next grant number and records it with its holder. Under an owner's lock.
  /// @param above the number is greater than this one as well
  [[nodiscard]] Failure record(std::string_view label, std::uint64_t& number,
                               std::uint64_t above = 0);
  /// The same with a header that was read. @param found no other client draws in the meantime
  [[nodiscard]] Failure record(const Header& found, std::string_view label, std::uint64_t& number,
                               std::uint64_t above = 0);
  /// @return whether a reader may have the number behind that of the header: it was drawn a moment
  /// ago, or in the future. A power failure or a backup may have brought back an older number, and
  /// another client may have had a larger one.
  [[nodiscard]] static bool serves_readers(const Header& found) noexcept;
  /// Draws a number that serves readers. Under `drawing_byte`, or an owner's lock.
  [[nodiscard]] Failure draw_for_readers(Header& found);
  /// Records a reader. Under a reader's lock. @param number that of all who read now
  [[nodiscard]] Failure record_reader(const Header& found, std::string_view label,
                                      std::uint64_t& number);
  /// Records how many permits there are. Under `drawing_byte`.
  [[nodiscard]] Failure record_permits(const Header& found, std::uint32_t permits);
  /// @return the word that waiters sleep on, as the last recorded grant found it.
  [[nodiscard]] std::uint32_t word_at_grant() const noexcept { return word_at_grant_; }

 private:
  [[nodiscard]] Failure check_name();
  /// Makes a blank file one of ours; refuses another's.
  [[nodiscard]] Failure make_ours(const Header& found);
  [[nodiscard]] Failure next_number(const Header& found, std::uint64_t above, std::uint64_t now,
                                    std::uint64_t& number) const;
  [[nodiscard]] Failure not_a_lock_file() const;
  [[nodiscard]] Failure too_large() const;
  [[nodiscard]] int fd() const noexcept { return file_.descriptor(); }

  const OpenFile& file_;
  const std::string name_;
  const std::uint32_t pid_;  // a forked child never writes: its descriptor is closed
  bool name_checked_ = false;
  std::uint32_t word_at_grant_ = 0;
};

}  // namespace mortise::file
