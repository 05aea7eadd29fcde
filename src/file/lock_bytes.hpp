// SPDX-License-Identifier: MIT
// Which bytes of a lock file stand for what, and the kernel's locks on them. A lock on a byte has
// nothing to do with what is written there.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace mortise::file {

struct ByteRange {
  off_t start = 0;
  off_t size = 0;
};

/// A client that reads has it locked shared.
inline constexpr ByteRange reading_byte{0, 1};
/// Whoever is being granted a part (as a reader, or a permit) has it locked exclusively, for the
/// moment in which it draws its number. An owner's lock covers it.
inline constexpr ByteRange drawing_byte{1, 1};
/// What an owner, or the holder of a key, has locked exclusively: all but the next one.
inline constexpr ByteRange owned_bytes{0, off_t{1} << 30};
/// Each client has it locked shared in which somebody waits to be the owner, or for a permit. So
/// who comes sees that somebody waits, and it ends with the process of whoever waits.
inline constexpr ByteRange waiting_byte{off_t{1} << 30, 1};
/// Permits: the holder of each has its byte locked exclusively.
inline constexpr ByteRange permit_bytes{2, (off_t{1} << 30) - 2};
[[nodiscard]] constexpr ByteRange permit_byte(std::uint32_t place) noexcept {
  return {permit_bytes.start + static_cast<off_t>(place), 1};
}

enum class ByteLock : std::uint8_t { shared, exclusive };

/// Somebody else's lock.
struct Conflict {
  bool there = false;
  ByteLock kind = ByteLock::shared;
  off_t end = 0;  ///< the first byte behind it
};

/// Each is about the locks of an open file description, and returns 0 or an errno.
/// Tries to lock; never waits.
[[nodiscard]] int try_lock_bytes(int fd, ByteRange bytes, ByteLock kind, bool& locked) noexcept;
int unlock_bytes(int fd, ByteRange bytes) noexcept;
/// Frees all of them: that needs no memory of the kernel's.
void unlock_everything(int fd) noexcept;
/// @param kind of the lock that somebody else's would keep us from
[[nodiscard]] int find_conflict(int fd, ByteRange bytes, ByteLock kind, Conflict& out) noexcept;

}  // namespace mortise::file
