// SPDX-License-Identifier: MIT
// Which file stands for which lock name, or key. Pure text; no file is touched here.
#pragma once

#include <mortise/operation.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace mortise::file {

/// Names that are longer have no room in the header of their file; the library's own limit is
/// lower.
inline constexpr std::size_t longest_name = 2048;

/// What ends the file names of locks, of keys, and of semaphores: nothing else has such a one.
inline constexpr std::string_view lock_suffix = ".lock";
inline constexpr std::string_view key_suffix = ".once";
inline constexpr std::string_view semaphore_suffix = ".sema";

/// @return the one of them that a mode's file names end with.
[[nodiscard]] std::string_view suffix_of(Mode mode) noexcept;

/// What the file names of hashed names begin with: no escape yields it.
inline constexpr std::string_view hash_mark = "%h-";

/// @return the name of the file, without directory, for a lock name, a key or a semaphore, of any
/// bytes.
///
/// `[A-Za-z0-9_-]` and a '.' that is not the first byte stay, every other byte becomes `%XX`, and
/// ".lock" is added, ".once" for a key, ".sema" for a semaphore: reversible, never hidden, never
/// "..", never with a slash. Where that is longer than 140 bytes (eCryptfs allows 143, others 255)
/// it is "%h-", 32 hexadecimal digits of the FNV-1a hash, and that suffix. No escape yields "%h";
/// whether two long names collide is seen from the whole name that the file's header keeps.
[[nodiscard]] std::string file_name(std::string_view name, Mode mode = Mode::exclusive);

}  // namespace mortise::file
