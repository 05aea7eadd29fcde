// SPDX-License-Identifier: MIT
// Finds the URL of the store. It may contain a password, so no function here prints it.
#pragma once

#include <optional>
#include <string>

namespace mortise::tool {

/// The options that name the store. At most one of the two is set.
struct StoreUrl {
  std::optional<std::string> url{};   ///< `--url`
  std::optional<std::string> file{};  ///< `--url-file`
};

/// @return the URL: of `--url`, or of the first line of the file of `--url-file`, or else of the
/// environment's `MORTISE_URL`; empty if none of them names a store.
/// @throws Error `misconfigured` (the file cannot be read, is empty or has a second line), `denied`
/// (no permission to read it), `exhausted`
[[nodiscard]] std::string find_url(const StoreUrl& given);

}  // namespace mortise::tool
