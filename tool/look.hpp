// SPDX-License-Identifier: MIT
// What the looks at a store have in common: reading all pages, and words for what was found.
#pragma once

#include <mortise/client.hpp>
#include <mortise/listing.hpp>

#include "order.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::tool {

/// Names that are held, of all pages, in the order of their bytes, each once.
struct Names {
  std::vector<std::string> names;
  std::size_t too_long = 0;
};

[[nodiscard]] Names all_names(const Client& client, const Order& order);
[[nodiscard]] NameQueue queue_of(const Client& client, const Order& order, const std::string& name);
[[nodiscard]] std::string_view word_of(Mode mode) noexcept;
/// For a table; where the store does not say it, "-".
[[nodiscard]] std::string words(Token token);
[[nodiscard]] std::string words(const std::optional<std::chrono::milliseconds>& time);
/// @return `{"name":...,"holders":[...],"waiters":[...],"waiters_in_all":...}`.
[[nodiscard]] std::string json_of(const std::string& name, const NameQueue& queue);
/// Prints it. @return the status: whether anybody took it
int print(const std::string& text);

}  // namespace mortise::tool
