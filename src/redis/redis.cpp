// SPDX-License-Identifier: MIT
// What users call: include/mortise/redis.hpp.
#include <mortise/redis.hpp>

#include "base/errand.hpp"
#include "redis/redis_backend.hpp"

namespace mortise::redis {

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<RedisBackend>(Settings::parse(url));
}

std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                    std::chrono::milliseconds wait) {
  RedisBackend backend(Settings::parse(url));
  return base::run_errand(backend, name, wait,
                          [&](const auto& request) { backend.force_release(request); });
}

}  // namespace mortise::redis
