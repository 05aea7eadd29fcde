// SPDX-License-Identifier: MIT
// Ports on 127.0.0.1 for private servers of tests.
#pragma once

#include <cstdint>

namespace mortise::test {

/// A port that nobody listens on. It lies below the range from which the kernel takes the ports of
/// outgoing connections: a client that retries while its server is down would sooner or later be
/// given that very port, connect to itself, and keep the server from coming back. No other test
/// gets it as long as this process runs, so a server can go and come back. Other programs may take
/// it: a server that finds it taken at its start must ask for another.
[[nodiscard]] std::uint16_t free_port();

/// A server that finds its port taken asks for another, this many times.
inline constexpr int ports_to_try = 20;

}  // namespace mortise::test
