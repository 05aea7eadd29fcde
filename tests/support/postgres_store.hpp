// SPDX-License-Identifier: MIT
// PostgreSQL as a backend under test, for the contract suite and the histories: a schema of each
// store's own, on a private server that all stores of a process share.
#pragma once

#include "support/contract_backend.hpp"

#include <string>

namespace mortise::contract {

/// How the clients reach the server. They have the application's role and no other right.
enum class PostgresWay {
  network,    ///< TCP through a proxy that can lose and delay what goes through it
  socket,     ///< a unix socket
  encrypted,  ///< TLS, and both sides show certificates
  pooled,     ///< pgbouncer in transaction mode
};

/// @param parameters of the URL, as "mortise.fair=yes&mortise.connections=2"
[[nodiscard]] BackendUnderTest postgres_backend(PostgresWay way,
                                                const std::string& parameters = {});

}  // namespace mortise::contract
