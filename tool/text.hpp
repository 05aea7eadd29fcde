// SPDX-License-Identifier: MIT
// Names are bytes of any value: how they are shown on a terminal without doing anything to it, and
// read back; and how names, labels and tokens become JSON. All other text for a terminal goes
// through `printable()`, the library's own.
#pragma once

#include <mortise/token.hpp>

// A header without a source: the tool is linked to the public library alone.
#include "base/printable.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

using base::printable;

/// @return a name as `printable()`, with a backslash as two, so that `bytes_of()` gives the same
/// bytes back.
[[nodiscard]] std::string escaped(std::string_view bytes);

/// @return the bytes that `escaped()` shows so; nothing where it shows nothing so.
[[nodiscard]] std::optional<std::string> bytes_of(std::string_view shown);

/// @return a JSON string in its quotes: visible UTF-8 whatever the bytes are. Other characters are
/// `\uXXXX`, and a byte that is not UTF-8 is U+FFFD.
[[nodiscard]] std::string json_string(std::string_view bytes);

/// @return a token as a JSON string; null where the store does not know it. Not a number, because a
/// token has up to 64 bits: jq and JavaScript read numbers as IEEE doubles, and change one above
/// 2^53.
[[nodiscard]] std::string json_token(Token token);

/// @return the member `"key":"..."`; where the bytes are no UTF-8, `"key_hex":"..."` behind it has
/// them all.
[[nodiscard]] std::string json_member(std::string_view key, std::string_view bytes);

}  // namespace mortise::tool
