// SPDX-License-Identifier: MIT
// What a Redlock URL says: the same of every server, but for its address.
#pragma once

#include "redis/store/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mortise::redlock {

struct Settings {
  std::vector<redis::Settings> nodes{};  ///< 3 to 15

  /// Reads `redlock://`, `redlocks://` and `redlock+unix://` URLs.
  /// @throws Error (`misconfigured`)
  static Settings parse(std::string_view text);
  /// @return the servers in words: "redlock a:6379,b:6379,c:6379".
  [[nodiscard]] std::string text() const;
};

}  // namespace mortise::redlock
