// SPDX-License-Identifier: MIT
// A private Redis for histories: its clients are processes, reach it over a bad network, and lose
// it again and again. It has every write on disk before its answer; and what only a Redis or the
// way to it can suffer is listed here as disturbances.
#pragma once

#include "model/distant_store.hpp"
#include "model/lock_history.hpp"
#include "support/redis_server.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::model {

class RedisHistoryStore final : public DistantStore {
 public:
  // `parameters` of the URL of its clients, without the "?".
  explicit RedisHistoryStore(std::string parameters);

  [[nodiscard]] std::unique_ptr<Backend> backend() override;
  // As a server without persistence: it comes back with nothing.
  void restart() override;
  void take_away(const std::string& name) override;

  [[nodiscard]] test::RedisServer& server() noexcept { return server_; }

 private:
  const std::string parameters_;
  test::RedisServer server_;
};

// What they break no promise allows to be broken: an acknowledged write survives each of them.
[[nodiscard]] std::vector<Disturbance> redis_disturbances();

// `name` ends that of the test.
[[nodiscard]] HistoryBackend redis_processes(const std::string& name,
                                             const std::string& parameters = {});

}  // namespace mortise::model
