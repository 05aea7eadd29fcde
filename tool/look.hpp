// SPDX-License-Identifier: MIT
// Text and JSON for the answers of a store.
#pragma once

#include <mortise/listing.hpp>
#include <mortise/token.hpp>

#include "json.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::tool {

/// For a table: "-" if the store does not know it.
[[nodiscard]] std::string words(Token token);
[[nodiscard]] std::string words(const std::optional<std::chrono::milliseconds>& time);
[[nodiscard]] Json json_of(const HolderEntry& holder);
/// Adds the members `holders`, `waiters` and `waiters_in_all`.
void put_queue(Json& object, const NameQueue& queue);
/// Prints it. @return the status: `unwritten` if standard output does not take it
[[nodiscard]] int print(const std::string& text);

}  // namespace mortise::tool
