// SPDX-License-Identifier: MIT
// What a Redis URL says.
#pragma once

#include <mortise/connector.hpp>

#include "base/address.hpp"
#include "base/url.hpp"
#include "remote/credentials.hpp"
#include "remote/stream/tls_settings.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// What a release with waiters does: see scripts/release.lua.
enum class QueueMode { fair, unfair, redisson };

/// Who is asked where the master is.
struct SentinelSettings {
  std::vector<base::Address> addresses{};
  std::string master{};               ///< its name there
  remote::Credentials credentials{};  ///< the sentinels' own; by default none
};

/// How a connection introduces itself.
struct Login {
  remote::Credentials credentials{};  ///< no user: the server's default user
  int database = 0;
  std::string client_name = "mortise";
};

struct Settings {
  base::Address address{};                      ///< none where sentinels are asked
  std::optional<SentinelSettings> sentinels{};  ///< who know the address
  std::vector<base::Address> seeds{};  ///< of a cluster, whose servers tell of the others; or none
  Login login{};
  std::optional<remote::TlsSettings> tls{};      ///< empty: not encrypted
  std::shared_ptr<const Connector> connector{};  ///< null: we connect ourselves
  std::string prefix = "mortise:";               ///< of all keys and channels
  QueueMode queue_mode = QueueMode::fair;
  bool eviction_accepted = false;
  bool queues = true;  ///< at the server: a quorum's have none
  int replicas = 0;    ///< that have to have a grant before it is told
  static constexpr int usually_remembered = 3600;
  int remembered = usually_remembered;  ///< seconds: a name that is not used

  [[nodiscard]] bool is_cluster() const noexcept { return !seeds.empty(); }

  /// Reads `redis://`, `rediss://`, `redis+unix://`, `redis+sentinel://`, `rediss+sentinel://`,
  /// `redis+cluster://` and `rediss+cluster://`.
  /// @throws Error (`misconfigured`, or `unsupported` for what a cluster has not)
  static Settings parse(std::string_view text);
  /// @return the server, for messages: "redis 10.0.0.1:6379", "redis mymaster of 10.0.0.1:26379".
  [[nodiscard]] std::string where() const;
};

/// Reads what a URL says of its servers beside the place: database, credentials, TLS, client-name,
/// prefix, eviction.
/// @param encrypted the scheme that means TLS
void read_manners(base::Url& url, base::Literal encrypted, Settings& settings);

}  // namespace mortise::redis
