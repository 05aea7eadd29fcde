// SPDX-License-Identifier: MIT
// The JSON output of the tool, with nlohmann::json. Names and labels are bytes of any value, but
// JSON text consists of characters. Tokens have 64 bits, but many readers keep only 53 bits of a
// number.
#pragma once

#include <mortise/token.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// Its members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Adds the member `key` with the text of the bytes. If they are not UTF-8, adds the member
/// `<key>_hex` with all of them.
void put_bytes(Json& object, const std::string& key, std::string_view bytes);

/// @return the token as a string, so that jq and JavaScript do not round it; null if it is 0.
[[nodiscard]] Json json_of(Token token);

/// @return the time in milliseconds; null if it is not known.
[[nodiscard]] Json json_of(const std::optional<std::chrono::milliseconds>& time);

/// @return the value in one line of ASCII: every other character is `\uXXXX`, so that a terminal
/// obeys none of them, and bytes that are not UTF-8 are U+FFFD.
[[nodiscard]] std::string line_of(const Json& value);

}  // namespace mortise::tool
