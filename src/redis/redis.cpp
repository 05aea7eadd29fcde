// SPDX-License-Identifier: MIT
// What users call: include/mortise/redis.hpp.
#include <mortise/redis.hpp>

#include "redis/redis_backend.hpp"
#include "remote/one_shot.hpp"

namespace mortise::redis {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<RedisBackend>(Settings::parse(url));
}

std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                    std::chrono::milliseconds wait, Token of) {
  RedisBackend backend(Settings::parse(url));
  return remote::force_release(backend, name, wait, of);
}

}  // namespace mortise::redis
