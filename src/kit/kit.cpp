// SPDX-License-Identifier: MIT
// The public calls of the kit: include/mortise/remote/backend.hpp.
#include <mortise/remote/backend.hpp>

#include "base/address.hpp"
#include "base/url.hpp"
#include "kit/kit_backend.hpp"
#include "remote/dialer.hpp"

#include <string>
#include <utility>

namespace mortise::remote {
namespace {

std::unique_ptr<Backend> made(std::string_view address, std::unique_ptr<const Protocol> protocol,
                              std::shared_ptr<const Connector> connector) {
  if (!protocol) throw Error({Errc::misconfigured, "a backend of the kit needs a protocol"});
  kit::Destination destination{.connector = std::move(connector)};
  if (address.starts_with('/')) {
    destination.address = base::Address::of_socket(std::string(address), "the kit");
  } else {
    destination.address = base::Address::parse(address, "the kit", 0);
    if (destination.address.port == 0) {
      throw Error({Errc::misconfigured, "an address of the kit needs a port"});
    }
  }
  return std::make_unique<kit::KitBackend>(std::move(destination), std::move(protocol));
}

}  // namespace

Protocol::~Protocol() = default;

std::unique_ptr<Backend> backend(std::string_view address,
                                 std::unique_ptr<const Protocol> protocol) {
  return made(address, std::move(protocol), nullptr);
}

std::unique_ptr<Backend> backend(std::string_view address, std::unique_ptr<const Protocol> protocol,
                                 Connector connector) {
  return made(address, std::move(protocol), shared(std::move(connector)));
}

}  // namespace mortise::remote
