// SPDX-License-Identifier: MIT
// Which names are held in a directory, a page of them in the order of their files. It locks
// nothing, and makes no file.
#pragma once

#include <mortise/error.hpp>
#include <mortise/listing.hpp>

#include "file/directory.hpp"

#include <cstddef>
#include <string>

namespace mortise::file {

/// Reads the whole directory, since it tells its files in no order that stays as they come and go,
/// and looks at `files_in_a_page` of them at most, whether they are locked.
/// @param cursor the last file that was looked at; empty = at the beginning
[[nodiscard]] Failure list_held(const Directory& directory, const std::string& prefix,
                                const std::string& cursor, std::size_t limit, NamePage& out);

inline constexpr std::size_t files_in_a_page = 2'000;

}  // namespace mortise::file
