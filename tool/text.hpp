// SPDX-License-Identifier: MIT
// Names and labels are bytes of any value: how they are shown on a terminal without doing anything
// to it, and read back; and how they become JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// @return the bytes with what is no visible UTF-8 as `\xNN`, and a backslash as two. What it
/// gives is one line, and `bytes_of()` gives the same bytes back.
[[nodiscard]] std::string printable(std::string_view bytes);

/// @return the bytes that `printable()` shows so; nothing where it shows nothing so.
[[nodiscard]] std::optional<std::string> bytes_of(std::string_view shown);

/// @return a JSON string in its quotes: valid UTF-8 whatever the bytes are, U+FFFD for each that is
/// none.
[[nodiscard]] std::string json_string(std::string_view bytes);

/// @return the member `"key":"..."`; where the bytes are no UTF-8, `"key_hex":"..."` behind it has
/// them all.
[[nodiscard]] std::string json_member(std::string_view key, std::string_view bytes);

}  // namespace mortise::tool
