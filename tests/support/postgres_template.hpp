// SPDX-License-Identifier: MIT
// A cluster that was never started, for tests to copy: initdb takes seconds, a copy milliseconds.
// It is made once in a build directory, by whichever test comes first.
#pragma once

#include <string>

namespace mortise::test {

/// Who may log in beside the superuser "postgres", and what there is in each cluster: one database,
/// its owner, and the role of the application that uses locks.
inline constexpr const char* postgres_database = "shop";
inline constexpr const char* postgres_owner = "shop_owner";
inline constexpr const char* postgres_application = "shop";
inline constexpr const char* postgres_password = "open-sesame";  ///< of both

/// @return its data directory; nobody may start a server on it.
[[nodiscard]] std::string postgres_template();

}  // namespace mortise::test
