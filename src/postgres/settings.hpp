// SPDX-License-Identifier: MIT
// What a PostgreSQL URL says. All but the parameters that begin with `mortise.` belongs to libpq.
#pragma once

#include <mortise/connector.hpp>

#include "base/address.hpp"
#include "postgres/pq.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::postgres {

/// One server that the URL names.
struct Server {
  std::string name{};       ///< as written; what a certificate has to be for
  base::Address address{};  ///< where to connect to, not resolved yet
};

struct Settings {
  std::vector<Server> servers{};
  Keywords keywords{};  ///< for libpq, without the hosts
  Keywords hosts{};     ///< `host`, `hostaddr` and `port`, as they were found
  std::string schema = "mortise";
  bool fair = false;
  std::optional<bool> pooled{};                  ///< empty: found out at each connection
  std::size_t connections = 8;                   ///< for commands, at most
  std::shared_ptr<const Connector> connector{};  ///< null: libpq connects

  /// Reads `postgresql://` and `postgres://` URLs.
  /// @throws Error (`misconfigured`) that never quotes a password
  static Settings parse(std::string_view url);
  /// @return the servers for messages: "10.0.0.1:5432, 10.0.0.2:5432".
  [[nodiscard]] std::string where() const;
  /// @return whether a server's process has to be a certain user's (`requirepeer`).
  [[nodiscard]] bool names_peer() const noexcept;
};

/// @throws Error (`misconfigured`) where it is no plain lower-case identifier
void check_identifier(base::Literal what, const std::string& name);

}  // namespace mortise::postgres
