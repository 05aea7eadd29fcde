// SPDX-License-Identifier: MIT
#include "support/redis_sentinel_store.hpp"

#include <mortise/redis.hpp>

#include "redis/store/lock_key.hpp"
#include "support/redis_fields.hpp"
#include "support/redis_sentinels.hpp"
#include "support/redis_store.hpp"

namespace mortise::contract {
namespace {

// One of each: what changes places is the subject of the fault tests, and each test waits for all
// of them to know each other.
class RedisSentinelStore final : public Store {
 public:
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return redis::backend(servers_.url());
  }
  void restart() override { servers_[0].restart(); }
  void take_away(const std::string& name) override {
    servers_[0].talk().expect_ok({"DEL", redis::lock_key("mortise:", name)});
  }
  void take_key_away(const std::string& key) override {
    servers_[0].talk().expect_ok(
        {"HDEL", redis::redis_key("mortise:", key, Mode::once), test::stored_field("lease")});
  }

 private:
  test::RedisSentinels servers_{{.replicas = 0, .sentinels = 1}};
};

}  // namespace

BackendUnderTest redis_sentinel_backend() {
  BackendUnderTest backend = redis_backend(RedisWay::socket);
  backend.name = "redis_sentinel";
  backend.open = [](const std::shared_ptr<Clock>&) {
    return std::make_unique<RedisSentinelStore>();
  };
  backend.missing = test::RedisSentinels::missing;
  return backend;
}

}  // namespace mortise::contract
