// SPDX-License-Identifier: MIT
// What a ZooKeeper URL says.
#pragma once

#include "base/address.hpp"
#include "remote/credentials.hpp"
#include "remote/stream/tls_settings.hpp"
#include "zookeeper/queue.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::zookeeper {

/// Of the safety margin, whatever a session's length.
inline constexpr std::chrono::milliseconds least_margin{20};

struct Settings {
  std::vector<base::Address> servers{};
  remote::Credentials credentials{};          ///< of the scheme `digest`
  std::optional<remote::TlsSettings> tls{};   ///< empty: not encrypted
  std::string root = "/mortise";              ///< of all locks; never ends with '/'
  std::chrono::milliseconds session{10'000};  ///< the time-out that is asked for
  std::chrono::milliseconds margin{1'000};    ///< how long a follower keeps signs of life to itself
  /// Bytes of paths that one session owns, and watches. All that it watches goes to the server in
  /// one packet when it has a new connection, and what it owns from the leader to the others, and
  /// into each server's log, when it ends. The limit for packets is 1 MiB less one byte
  /// (`jute.maxbuffer`); servers among themselves add next to nothing, and bear twice as much since
  /// the version that sends these paths.
  std::size_t most_watched = std::size_t{512} << 10U;
  std::size_t most_owned = std::size_t{960} << 10U;
  Naming naming = Naming::mutex;  ///< of the nodes of locks
  bool creator_only = false;      ///< nodes are for the same credentials alone

  /// Reads `zookeeper://` and `zookeeper+tls://` URLs.
  /// @throws Error (`misconfigured`)
  static Settings parse(std::string_view text);
  /// @return "user:password" of now; nothing = no credentials
  /// @throws Error (`misconfigured`) that names the file of the password
  [[nodiscard]] std::optional<std::string> digest() const;
  /// @return the servers for messages: "a:2181,b:2181".
  [[nodiscard]] std::string text() const;
};

}  // namespace mortise::zookeeper
