// SPDX-License-Identifier: MIT
// What users call: include/mortise/redlock.hpp.
#include <mortise/redlock.hpp>

#include "redlock/redlock_backend.hpp"
#include "remote/dialer.hpp"

#include <utility>

namespace mortise::redlock {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<RedlockBackend>(Settings::parse(url));
}

std::unique_ptr<Backend> backend(std::string_view url, Connector connector) {
  Settings settings = Settings::parse(url);
  const auto shared = remote::shared(std::move(connector));
  for (redis::Settings& node : settings.nodes) node.connector = shared;
  return std::make_unique<RedlockBackend>(std::move(settings));
}

}  // namespace mortise::redlock
