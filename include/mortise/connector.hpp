// SPDX-License-Identifier: MIT
// Connections that the program makes itself: through a tunnel, a proxy, a service mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace mortise {

/// Connects to a server in place of the library, and hands over the descriptor.
///
/// **What it gets**: the host as the URL has it, not looked up, and the port. Of a unix socket the
/// path, and 0. It must lead to the same server each time. TLS that the URL asks for is spoken
/// through what it returns, with that host.
///
/// **What it returns**: a stream socket that is connected: of TCP or a unix socket, or one end of a
/// pair. It belongs to the library from then on, which changes its settings and closes it: return a
/// `dup()` of one that you keep, and neither read nor write that. A negative number, a socket of
/// another kind (which is closed), or what is no socket (which is left alone) is a failure.
///
/// **What it throws** is a failure, too: the try is over, and calls that wait for a connection are
/// told `unavailable` with these words, unless another try succeeds within their time.
///
/// **Where it runs**: on threads of the library's own, which have all signals blocked, one at a
/// time for each connection, but several connections at once; under no lock of the library. It is
/// called again after each break, with the pauses that the library has between its tries, and by a
/// Redis client twice, by one of PostgreSQL for each of its connections.
///
/// **How long it may take**: it may block, and nobody waits for it but the calls that need the
/// connection, as long as their own time limits say. After two seconds the try counts as failed.
/// While it hangs it is not called once more for that connection: what it returns is waited for
/// again with the next try, and closed where nobody waits. It may still run when its client is
/// gone, so it must own, or share, all that it uses; give it a time limit, so that it ends.
///
/// **After `fork()`** the child runs none and has none of the descriptors; what the call was doing
/// at that moment is its own matter (`SOCK_CLOEXEC`).
using Connector = std::function<int(const std::string& host, std::uint16_t port)>;

}  // namespace mortise
