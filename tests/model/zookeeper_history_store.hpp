// SPDX-License-Identifier: MIT
// A private ZooKeeper for histories, of one server or three: its clients are processes, reach each
// server over a bad network, and lose it again and again. What it has acknowledged it keeps.
#pragma once

#include "model/distant_proxy.hpp"
#include "model/lock_history.hpp"
#include "support/contract_backend.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_server.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::model {

enum class ZooKeeperSize { one_server, ensemble };

class ZooKeeperHistoryStore final : public contract::Store {
 public:
  ZooKeeperHistoryStore(ZooKeeperSize size, std::string parameters);

  [[nodiscard]] std::unique_ptr<Backend> backend() override;
  [[nodiscard]] bool has(contract::Hook hook) const override;
  void set_reachable(bool reachable) override;
  void restart() override;
  void take_away(const std::string& name) override;
  void misbehave(const contract::Misbehaviour& how) override;

  [[nodiscard]] std::size_t servers() const noexcept { return networks_.size(); }
  [[nodiscard]] test::ZooKeeperServer& server(std::size_t which);
  /// The one that decides.
  [[nodiscard]] std::size_t leader();
  /// Until all of them serve.
  void complete();
  /// Tells the network before each server.
  template <class Order>
  void tell(Order order) const {
    for (const auto& network : networks_) network->tell(order);
  }

 private:
  const std::string parameters_;
  const std::string root_;
  std::optional<test::ZooKeeperServer> alone_;
  std::optional<test::ZooKeeperEnsemble> ensemble_;
  std::vector<std::unique_ptr<const DistantProxy>> networks_;  // one before each server
};

/// What they break no promise allows to be broken: an acknowledged write survives each of them.
[[nodiscard]] std::vector<Disturbance> zookeeper_disturbances();

/// `name` ends that of the test.
[[nodiscard]] HistoryBackend zookeeper_processes(const std::string& name, ZooKeeperSize size);

}  // namespace mortise::model
