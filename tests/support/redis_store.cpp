// SPDX-License-Identifier: MIT
#include "support/redis_store.hpp"

#include <mortise/redis.hpp>

#include "model/temporary.hpp"
#include "redis/store/lock_key.hpp"
#include "support/certificates.hpp"
#include "support/contract_network.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_fields.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace mortise::contract {
namespace {

constexpr const char* password = "open-sesame";

class RedisStore final : public NetworkStore {
 public:
  RedisStore(RedisWay way, const std::string& parameters) : way_(way), server_(options()) {
    if (way == RedisWay::network) proxy_.emplace(server_.port());
    url_ = url();
    if (!parameters.empty()) {
      url_ += (url_.find('?') == std::string::npos ? "?" : "&") + parameters;
    }
  }

  [[nodiscard]] std::unique_ptr<Backend> backend() override { return redis::backend(url_); }
  void restart() override { server_.restart(); }
  void take_away(const std::string& name) override {
    server_.talk().expect_ok({"DEL", redis::lock_key("mortise:", name)});
  }
  void take_key_away(const std::string& key) override {
    server_.talk().expect_ok(
        {"HDEL", redis::redis_key("mortise:", key, Mode::once), test::stored_field("lease")});
  }
  [[nodiscard]] std::size_t waiters() const override {
    test::RedisTalk talk = server_.talk();
    std::size_t sum = 0;
    for (const auto& key : talk.expect_ok({"KEYS", "mortise:{*:queue"}).items) {
      sum += static_cast<std::size_t>(talk.expect_ok({"ZCARD", key.text}).integer);
    }
    return sum;
  }

 private:
  /// Once a process: to make them takes as long as most tests.
  static const test::Certificates& certificates() {
    static const test::Certificates all;
    return all;
  }
  [[nodiscard]] test::RedisServerOptions options() const {
    test::RedisServerOptions options;
    if (way_ == RedisWay::encrypted) {
      options.tls = test::RedisServerOptions::Tls::client_certificate_too;
      options.certificates = &certificates();
    }
    if (way_ == RedisWay::network || way_ == RedisWay::direct) {
      // What lists of names need beside, as the manual says.
      options.users = {"shop on >" + std::string(password) + " " + least_redis_privilege() +
                       " +scan"};
    }
    return options;
  }
  [[nodiscard]] std::string url() const {
    switch (way_) {
      case RedisWay::network: return url_by(proxy_->port());
      case RedisWay::direct: return url_by(server_.port());
      case RedisWay::socket: return "redis+unix://" + server_.socket_path();
      case RedisWay::encrypted:
        return server_.tls_url() + "?ca=" + certificates().ca() +
               "&cert=" + certificates().client_certificate() +
               "&key=" + certificates().client_key();
    }
    return {};
  }
  static std::string url_by(std::uint16_t port) {
    return "redis://shop:" + std::string(password) + "@127.0.0.1:" + std::to_string(port);
  }

  const RedisWay way_;
  test::RedisServer server_;
  std::string url_;
};

class ClusterStore final : public Store {
 public:
  ClusterStore() { cluster().clear(); }
  [[nodiscard]] std::unique_ptr<Backend> backend() override {
    return redis::backend(cluster().url());
  }
  void take_away(const std::string& name) override {
    talk_of(name).expect_ok({"DEL", key_of(name)});
  }
  void take_key_away(const std::string& key) override {
    talk_of(key).expect_ok(
        {"HDEL", redis::redis_key("mortise:", key, Mode::once), test::stored_field("lease")});
  }

 private:
  static std::string key_of(const std::string& name) { return redis::lock_key("mortise:", name); }
  static test::RedisTalk talk_of(const std::string& name) {
    return cluster().talk(cluster().master_of(name));
  }
  static test::RedisCluster& cluster() {
    static test::RedisCluster all({.masters = 3, .replicas = 0});
    return all;
  }
};

std::string word_for(RedisWay way) {
  switch (way) {
    case RedisWay::network: return "redis";
    case RedisWay::direct: return "redis_direct";
    case RedisWay::socket: return "redis_socket";
    case RedisWay::encrypted: return "redis_tls";
  }
  return {};
}

}  // namespace

std::string least_redis_privilege(const std::string& name) {
  // What the manual says is what is tested.
  const std::string page = MORTISE_DOCS_DIR "/stores/" + name;
  const std::string begins = "ACL SETUSER shop on >secret ";
  std::ifstream text(page);
  for (std::string line; std::getline(text, line);) {
    if (const std::size_t at = line.find(begins); at != std::string::npos) {
      return line.substr(at + begins.size());
    }
  }
  throw std::runtime_error("no line '" + begins + "...' in " + page);
}

BackendUnderTest redis_cluster_backend() {
  BackendUnderTest backend = redis_backend(RedisWay::socket);
  backend.name = "redis_cluster";
  backend.open = [](const std::shared_ptr<Clock>&) { return std::make_unique<ClusterStore>(); };
  backend.hooks = {Hook::take_away, Hook::take_key_away, Hook::processes};
  backend.missing = test::RedisCluster::missing;
  return backend;
}

BackendUnderTest redis_backend(RedisWay way, const std::string& parameters) {
  std::set<Hook> hooks = hooks_of_server(way == RedisWay::network);
  hooks.insert(Hook::take_key_away);
  return {.name = word_for(way),
          .open =
              [way, parameters](const std::shared_ptr<Clock>&) {
                return std::make_unique<RedisStore>(way, parameters);
              },
          .hooks = std::move(hooks),
          .qualities = {Quality::leases, Quality::fair, Quality::one_wake, Quality::once,
                        Quality::min_hold, Quality::shared, Quality::permits, Quality::holders,
                        Quality::lists, Quality::lists_long_names, Quality::queues,
                        Quality::queues_of_many, Quality::queues_of_both, Quality::waiters,
                        Quality::waiter_labels, Quality::forces},
          .missing = test::RedisServer::missing,
          .answers_at_once = false};
}

}  // namespace mortise::contract
