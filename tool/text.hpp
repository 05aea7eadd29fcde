// SPDX-License-Identifier: MIT
// Names are bytes of any value: how the tool shows them on a terminal and reads them back. All
// other text for a terminal goes through the library's own `printable()`.
#pragma once

// A header without a source: the tool is linked to the public library alone.
#include "base/printable.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

using base::escaped;
using base::printable;

/// @return the bytes for which `escaped()` returns this text; nothing if there are none.
[[nodiscard]] std::optional<std::string> bytes_of(std::string_view shown);

}  // namespace mortise::tool
