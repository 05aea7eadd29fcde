// SPDX-License-Identifier: MIT
// A path of a private ZooKeeper as a store of the contract suite, reached in one of the ways that
// users have. The server is shared by the tests of a process.
#pragma once

#include "support/contract_backend.hpp"

#include <chrono>
#include <string>

namespace mortise::contract {

/// The way to the server.
enum class ZooKeeperWay {
  network,     ///< one server, through a proxy that can misbehave; no other processes
  direct,      ///< one server
  protected_,  ///< one server, with nodes that only a user with a password can change
  ensemble,    ///< three servers
  encrypted,   ///< one server, by TLS, with certificates on both sides
};

/// @param session the session's time-out, which is the lease of every hold
/// @param parameters more of the URL
[[nodiscard]] BackendUnderTest zookeeper_backend(ZooKeeperWay way,
                                                 std::chrono::milliseconds session,
                                                 const std::string& parameters = {});

}  // namespace mortise::contract
