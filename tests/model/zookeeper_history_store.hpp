// SPDX-License-Identifier: MIT
// A private ZooKeeper for histories, of one server or three: its clients are processes, reach each
// server over a bad network, and lose it again and again. What it has acknowledged it keeps.
#pragma once

#include "model/distant_store.hpp"
#include "model/lock_history.hpp"
#include "support/zookeeper_ensemble.hpp"
#include "support/zookeeper_server.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::model {

enum class ZooKeeperSize { one_server, ensemble };

class ZooKeeperHistoryStore final : public DistantStore {
 public:
  ZooKeeperHistoryStore(ZooKeeperSize size, std::string parameters);

  [[nodiscard]] std::unique_ptr<Backend> backend() override;
  void restart() override;
  void take_away(const std::string& name) override;

  [[nodiscard]] test::ZooKeeperServer& server(std::size_t which);
  /// What the locks are below, without the slash.
  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  /// The one that decides.
  [[nodiscard]] std::size_t leader();
  /// Until all of them serve.
  void complete();

 private:
  const std::string parameters_;
  const std::string root_;
  std::optional<test::ZooKeeperServer> alone_;
  std::optional<test::ZooKeeperEnsemble> ensemble_;
};

/// What they break no promise allows to be broken: an acknowledged write survives each of them.
[[nodiscard]] std::vector<Disturbance> zookeeper_disturbances();

/// `name` ends that of the test.
[[nodiscard]] HistoryBackend zookeeper_processes(const std::string& name, ZooKeeperSize size);

}  // namespace mortise::model
