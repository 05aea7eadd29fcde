// SPDX-License-Identifier: MIT
// For authors of stores: a backend for a server of your own.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/connector.hpp>
#include <mortise/export.hpp>
#include <mortise/remote/protocol.hpp>

#include <memory>
#include <string_view>

/// A kit for authors of stores. It keeps a connection to one server, and carries out the requests
/// of the library over that connection. The author writes a `Protocol`. See
/// docs/internals/own_store.md.
namespace mortise::remote {

/// Makes a backend for a server. It connects with the first request.
/// @param address "host:port", "[IPv6 address]:port", or the path of a unix socket, which begins
/// with '/'
/// @param protocol the client uses it until the client is destroyed
/// @errors `misconfigured` (the address, or no protocol), thrown as `Error`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(
    std::string_view address, std::unique_ptr<const Protocol> protocol);

/// As above, over connections that `connector` makes.
/// @param connector see `Connector`
/// @errors as above; `misconfigured` (an empty connector), thrown as `Error`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view address,
                                                           std::unique_ptr<const Protocol> protocol,
                                                           Connector connector);

}  // namespace mortise::remote
