// SPDX-License-Identifier: MIT
// Connections that the program makes itself: through a tunnel, a proxy, a service mesh.
#pragma once

#include <mortise/export.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace mortise {

/// Connects to a server in place of the library, and hands over the descriptor.
///
/// **What it gets**: the host as the URL has it, not looked up, and the port; of a unix socket the
/// path, and 0. Of several servers each is asked for by its own address. An address has to lead to
/// the same server each time. TLS that the URL asks for is spoken through what it returns, and the
/// certificate has to be for that host, wherever the connection leads.
///
/// **What it returns**: a new stream socket that is connected, of TCP or a unix socket or one end
/// of a pair. From then on it belongs to the library, which changes its settings, reads and writes
/// it, and closes it. Keep no copy: the server sees the end of the connection only when the last
/// one is closed.
///
/// **What is a failure**: a negative number; what is no socket (which is left alone, since it may
/// be anybody's); a socket that is not connected, or no stream (which is closed); one that the
/// library has already, by this number or another; and whatever is thrown. The try is over then,
/// and calls that wait for a connection are told `unavailable`, with these words or those of the
/// exception (its first 240 bytes), unless another try succeeds within their time.
///
/// **Where it runs**: on threads of the library's own, which have all signals blocked, under no
/// lock of the library.
/// @thread_safety it has to allow several calls at the same time: there is at most one for each
/// connection, of which a Redis client has two (with `replicas` three), one of Redlock as many for
/// each server, and one of PostgreSQL up to `mortise.connections` and one more. It must not wait
/// for a call of the client that it connects, which would wait for it; `close()` does not.
///
/// **How often**: it is called again after each break, with the pauses that the library makes
/// between its tries: some milliseconds, and up to one second where it fails each time.
///
/// @blocking as long as it likes: nobody waits for it but the calls that need the connection, each
/// as long as its own time limit says. After two seconds the try counts as failed. A call that
/// hangs is not repeated: what it returns serves a later try, and is closed where none comes in ten
/// seconds, or the client has ended. Neither the end of the client nor that of the program waits
/// for it: so it must own, or share, all that it uses. Give it a time limit of its own: a call that
/// never ends keeps its thread, and what it has captured.
///
/// **After `fork()`** the child runs none and has none of the descriptors; what a call has opened
/// at that moment, and not returned yet, is its own matter (`SOCK_CLOEXEC`).
using Connector = std::function<int(const std::string& host, std::uint16_t port)>;

}  // namespace mortise
