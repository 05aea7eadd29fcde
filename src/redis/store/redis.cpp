// SPDX-License-Identifier: MIT
// What users call: include/mortise/redis.hpp.
#include <mortise/redis.hpp>

#include "redis/store/redis_backend.hpp"
#include "remote/dialer.hpp"

#include <utility>

namespace mortise::redis {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<RedisBackend>(Settings::parse(url));
}

std::unique_ptr<Backend> backend(std::string_view url, Connector connector) {
  Settings settings = Settings::parse(url);
  if (settings.is_cluster() || settings.sentinels) {
    throw Error({Errc::unsupported,
                 "URL: a connector supports one server, not sentinels or a cluster; use redis:// "
                 "or rediss://"});
  }
  settings.connector = remote::shared(std::move(connector));
  return std::make_unique<RedisBackend>(std::move(settings));
}

}  // namespace mortise::redis
