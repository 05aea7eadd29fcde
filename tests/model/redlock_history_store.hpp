// SPDX-License-Identifier: MIT
// Five private Redis servers for histories of a quorum: the clients are processes, reach each over
// a bad network of its own, and lose some of them, a majority even, again and again.
#pragma once

#include "model/distant_store.hpp"
#include "model/lock_history.hpp"
#include "support/redlock_servers.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::model {

/// What a client knows of the servers.
enum class RedlockQuorum {
  majority,
  /// Broken on purpose: each client knows any three of the five, and is content with two of them.
  two_of_five,
};

class RedlockHistoryStore final : public DistantStore {
 public:
  explicit RedlockHistoryStore(RedlockQuorum quorum);

  [[nodiscard]] std::unique_ptr<Backend> backend() override;
  // As servers without persistence: all come back with nothing.
  void restart() override;
  void take_away(const std::string& name) override;

  [[nodiscard]] test::RedlockServers& servers() noexcept { return servers_; }

 private:
  const RedlockQuorum quorum_;
  test::RedlockServers servers_;
};

// What they break no promise allows to be broken: what a server acknowledged survives, or it comes
// back a lease later.
[[nodiscard]] std::vector<Disturbance> redlock_disturbances();

// `name` ends that of the test.
[[nodiscard]] HistoryBackend redlock_processes(const std::string& name,
                                               RedlockQuorum quorum = RedlockQuorum::majority);

}  // namespace mortise::model
