// SPDX-License-Identifier: MIT
// Pages of names. Lists are plain reads, which lock no row, with the rights that an application
// has. A result is read as what another client may have put there.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/listing_operation.hpp>

#include "postgres/pq.hpp"

#include <optional>
#include <string>

namespace mortise::postgres {

/// @return the first name that may be on the page.
[[nodiscard]] std::string first_name_of(const Listing& listing);
/// @return a name that lies behind all that may be on it.
[[nodiscard]] std::string name_behind(const Listing& listing);
/// @return the answer of list.sql; nothing = it is invalid.
[[nodiscard]] std::optional<NamePage> page_of(const Result& result);

}  // namespace mortise::postgres
