// SPDX-License-Identifier: MIT
// The bytes of a lock file, read and written with pread and pwrite only: a mapping would kill the
// process (SIGBUS) when somebody truncates the file.
#pragma once

#include <mortise/holder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::file {

/// A file's size: one page, which is what a futex's mapping needs.
inline constexpr std::size_t file_size = 4096;
/// Where the word lies on which waiters sleep. No write of a grant may touch it: it is moved by
/// those who have just let the lock go.
inline constexpr std::size_t word_offset = 8;
/// Where a key's file says which of its records the disk has: see `KeyPage`.
inline constexpr std::size_t settled_offset = 248;
/// Where the name begins for which the file was made, behind its size.
inline constexpr std::size_t name_offset = 256;
/// Grant numbers stay below: a double of a Lua script, or of a spreadsheet, must hold them.
inline constexpr std::uint64_t number_limit = std::uint64_t{1} << 53U;

/// What the file says of its last grant. Written by the holder after it has taken the lock.
struct LastGrant {
  /// Of the last grant to an owner, or of a permit. Readers have the next number, all the same
  /// one, and write it nowhere: that needs no lock that would keep them from each other.
  std::uint64_t number = 0;
  std::uint64_t acquired_at = 0;  ///< wall clock in microseconds; for people
  std::uint32_t pid = 0;          ///< for people; no decision rests on it
  std::uint32_t label_size = 0;   ///< with `readers_mark` where the rest is of a reader
  char label[128] = {};

  static constexpr std::uint32_t readers_mark = 1U << 31U;
  /// @return whether readers have got the number behind this one.
  [[nodiscard]] bool shared() const noexcept { return (label_size & readers_mark) != 0; }
  /// @return how many bytes the label has.
  [[nodiscard]] std::size_t size_of_label() const noexcept;
  /// Ends the mark.
  void set_label(std::string_view text) noexcept;
  [[nodiscard]] Holder holder(Mode mode = Mode::exclusive) const;
};

/// What readers, writers and those who want a permit let each other know.
struct Turns {
  std::int64_t writer_asked_at = 0;  ///< when one that waits did so last; `BootClock`
  std::uint32_t permits = 0;         ///< how many there are, as long as somebody holds or waits
  std::uint32_t unused = 0;
};

/// The beginning of the file.
struct Header {
  char magic[8] = {};
  std::uint32_t word = 0;
  std::uint32_t turn = 0;  ///< another one after each grant to an owner
  LastGrant grant;
  Turns turns;

  /// @return whether nothing was ever written, or somebody has truncated the file.
  [[nodiscard]] bool blank() const noexcept;
  /// @return whether it is the header of a lock file of this version and machine.
  [[nodiscard]] bool ours() const noexcept;
};

/// Each returns 0 or an errno; what lies beyond the end of the file reads as zeros.
[[nodiscard]] int read_header(int fd, Header& out) noexcept;
/// The same without the label: what a grant needs.
[[nodiscard]] int read_number(int fd, Header& out) noexcept;
[[nodiscard]] int read_word(int fd, std::uint32_t& out) noexcept;
/// Compares the lock name that the file was made for.
[[nodiscard]] int compare_name(int fd, std::string_view name, bool& same) noexcept;
/// @return that name in `out`, by 0 or an errno; empty where it cannot be one.
[[nodiscard]] int read_name(int fd, std::string& out);
/// Makes a blank file a lock file. Under the lock.
[[nodiscard]] int write_name_and_magic(int fd, std::string_view name) noexcept;
/// Under the lock: the grant, and that an owner has a turn.
[[nodiscard]] int write_grant(int fd, const LastGrant& grant) noexcept;
/// By a reader: all but the number. Of two at a time either may be there in the end.
[[nodiscard]] int write_reader(int fd, const LastGrant& grant) noexcept;
/// Each writes that one alone.
[[nodiscard]] int write_number(int fd, std::uint64_t number) noexcept;
[[nodiscard]] int write_writer_asked_at(int fd, std::int64_t when) noexcept;
[[nodiscard]] int write_permits(int fd, std::uint32_t permits) noexcept;

}  // namespace mortise::file
