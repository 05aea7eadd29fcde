// SPDX-License-Identifier: MIT
// Which names are held in a directory, a page of them in the order of their files, and who has the
// permits of one. It locks nothing, and makes no file.
#pragma once

#include <mortise/error.hpp>
#include <mortise/holder.hpp>
#include <mortise/listing_operation.hpp>

#include "file/directory.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mortise::file {

/// Reads the whole directory, since it tells its files in no order that stays as they come and go,
/// and looks at `files_in_a_page` of them at most, whether they are locked; of keys whether they
/// are run as well. The cursor is the last file that was looked at, without its end.
[[nodiscard]] Failure list_held(const Directory& directory, const Listing& asked, NamePage& out);

inline constexpr std::size_t files_in_a_page = 2'000;

/// Appends one for each permit that somebody has, until there are `limit`. Who it is, the file
/// tells of the one alone that came last.
[[nodiscard]] Failure list_permits(const Directory& directory, const std::string& name,
                                   std::size_t limit, std::vector<HolderEntry>& out);

/// Who holds a name, without taking it and without making a file. Empty = free.
/// @param mode of a lock or a key
[[nodiscard]] Failure look_at_holder(const Directory& directory, const std::string& name, Mode mode,
                                     std::optional<Holder>& out);

/// Who runs a key. Empty = nobody: it is also locked by whoever has it forgotten, for a moment.
[[nodiscard]] Failure look_at_runner(const Directory& directory, const std::string& key,
                                     std::optional<Holder>& out);

}  // namespace mortise::file
