// SPDX-License-Identifier: MIT
#include "support/zookeeper_store.hpp"

#include <mortise/zookeeper.hpp>

#include "support/contract_network.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_locks.hpp"
#include "support/zookeeper_server.hpp"

#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace mortise::contract {
namespace {

constexpr const char* user = "shop:open-sesame";

class ZooKeeperStore final : public NetworkStore {
 public:
  ZooKeeperStore(ZooKeeperWay way, const std::string& parameters)
      : way_(way), root_(test::ZooKeeperServer::fresh_root()) {
    if (way == ZooKeeperWay::network) {
      proxy_.emplace(test::ZooKeeperServer::shared().port(),
                     test::ProxyOptions{.protocol = test::ProxyProtocol::zookeeper});
    }
    url_ = url(root_ + "?" + parameters);
  }

  [[nodiscard]] std::unique_ptr<Backend> backend() override { return zookeeper::backend(url_); }
  // Of an ensemble that which leads: the others go on without it.
  void restart() override {
    if (way_ != ZooKeeperWay::ensemble) {
      server().restart();
      return;
    }
    test::ZooKeeperEnsemble& ensemble = test::ZooKeeperEnsemble::shared();
    ensemble.server(ensemble.leader()).kill();
    ensemble.complete();
  }
  void take_away(const std::string& name) override {
    test::ZooKeeperTalk talk = administrator();
    const test::ZooKeeperLocks locks("/" + root_);
    const auto queue = locks.queue(talk, name);
    if (queue.empty()) throw std::logic_error("nobody holds " + name);
    talk.remove(queue.front());
  }
  void take_key_away(const std::string& key) override {
    test::ZooKeeperTalk talk = administrator();
    const auto queue = test::ZooKeeperLocks("/" + root_).queue_of_key(talk, key);
    if (queue.empty()) throw std::logic_error("nobody runs " + key);
    talk.remove(queue.front());
  }
  [[nodiscard]] std::size_t waiters() const override {
    test::ZooKeeperTalk talk = administrator();
    return test::ZooKeeperLocks("/" + root_).waiters(talk);
  }

 private:
  [[nodiscard]] std::string url(const std::string& rest) const {
    switch (way_) {
      case ZooKeeperWay::network:
        return "zookeeper://127.0.0.1:" + std::to_string(proxy_->port()) + "/" + rest;
      case ZooKeeperWay::direct: return test::ZooKeeperServer::shared().url(rest);
      case ZooKeeperWay::protected_:
        return test::ZooKeeperServer::shared().url(rest).insert(12, std::string(user) + "@");
      case ZooKeeperWay::ensemble: return test::ZooKeeperEnsemble::shared().url(rest);
      case ZooKeeperWay::encrypted:
        return "zookeeper+tls://" + server().secure_address() + "/" + rest + "&" +
               test::ZooKeeperServer::secure_parameters();
    }
    return {};
  }
  /// Where there is one.
  [[nodiscard]] test::ZooKeeperServer& server() const {
    return way_ == ZooKeeperWay::encrypted ? test::ZooKeeperServer::shared_secure()
                                           : test::ZooKeeperServer::shared();
  }
  [[nodiscard]] test::ZooKeeperTalk administrator() const {
    test::ZooKeeperTalk talk =
        way_ == ZooKeeperWay::ensemble ? test::ZooKeeperEnsemble::shared().talk() : server().talk();
    if (way_ == ZooKeeperWay::protected_) talk.authenticate("digest", user);
    return talk;
  }

  const ZooKeeperWay way_;
  const std::string root_;
  std::string url_;
};

std::string word_for(ZooKeeperWay way) {
  switch (way) {
    case ZooKeeperWay::network: return "zookeeper";
    case ZooKeeperWay::direct: return "zookeeper_direct";
    case ZooKeeperWay::protected_: return "zookeeper_acl";
    case ZooKeeperWay::ensemble: return "zookeeper_ensemble";
    case ZooKeeperWay::encrypted: return "zookeeper_tls";
  }
  return {};
}

}  // namespace

BackendUnderTest zookeeper_backend(ZooKeeperWay way, std::chrono::milliseconds session,
                                   const std::string& parameters) {
  const std::string others = parameters.empty() ? "" : "&" + parameters;
  const std::string all = "session=" + std::to_string(session.count()) + "ms" + others;
  std::set<Hook> hooks = hooks_of_server(way == ZooKeeperWay::network);
  hooks.insert(Hook::take_key_away);
  return {
      .name = word_for(way),
      .open =
          [way, all](const std::shared_ptr<Clock>&) {
            return std::make_unique<ZooKeeperStore>(way, all);
          },
      .hooks = std::move(hooks),
      .qualities = {Quality::leases, Quality::fair, Quality::one_wake, Quality::once,
                    Quality::shared, Quality::permits, Quality::holders, Quality::lists,
                    Quality::lists_once, Quality::lists_long_names, Quality::queues,
                    Quality::queues_of_many, Quality::waiters, Quality::waiter_labels,
                    Quality::forces},
      .missing = test::ZooKeeperServer::missing,
      .short_lease = session,
      .answers_at_once = false,
      .open_with_long_leases =
          [way, others] { return std::make_unique<ZooKeeperStore>(way, "session=30s" + others); }};
}

}  // namespace mortise::contract
