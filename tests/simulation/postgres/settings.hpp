// SPDX-License-Identifier: MIT
// A session's settings (SET, set_config()), as far as they decide anything here.
#pragma once

#include "simulation/server.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simulation::postgres {

enum class Setting : std::uint8_t {
  lock_timeout,
  synchronous_commit,
  default_isolation,
  isolation,    ///< of this transaction
  swept,        ///< see sweep_on()
  has_waited,   ///< see add_row()
  search_path,  ///< "ours", or any other one
  other,        ///< known to the server, and without any effect here
};

struct Settings {
  std::array<std::string, static_cast<std::size_t>(Setting::other) + 1> values{
      "0", "on", "read committed", "read committed", "", "", "", ""};

  [[nodiscard]] const std::string& of(Setting setting) const {
    return values[static_cast<std::size_t>(setting)];
  }
  [[nodiscard]] std::string& of(Setting setting) {
    return values[static_cast<std::size_t>(setting)];
  }
  [[nodiscard]] static Setting named(std::string_view name);
  /// @return how long a lock may be waited for; nothing = for ever.
  [[nodiscard]] std::optional<Nanos> lock_timeout() const;
  /// @return whether a commit waits for the disk.
  [[nodiscard]] bool waits_for_disk() const { return of(Setting::synchronous_commit) != "off"; }
  [[nodiscard]] bool waits_for_standby() const {
    const std::string& value = of(Setting::synchronous_commit);
    return value != "off" && value != "local";
  }
};

}  // namespace simulation::postgres
