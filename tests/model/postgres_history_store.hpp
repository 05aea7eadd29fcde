// SPDX-License-Identifier: MIT
// A private PostgreSQL for histories: its clients are processes, reach it over a bad network, and
// lose it again and again. What only a PostgreSQL or the way to it can suffer is listed here as
// disturbances.
#pragma once

#include "model/distant_store.hpp"
#include "model/lock_history.hpp"
#include "support/postgres_server.hpp"

#include <memory>
#include <string>
#include <vector>

namespace mortise::model {

class PostgresHistoryStore final : public DistantStore {
 public:
  // `parameters` of the URL of its clients, without the "?".
  explicit PostgresHistoryStore(std::string parameters);

  [[nodiscard]] std::unique_ptr<Backend> backend() override;
  void restart() override { server_.restart(); }

  [[nodiscard]] test::PostgresServer& server() noexcept { return server_; }

 private:
  const std::string parameters_;
  test::PostgresServer server_;
};

// What they break no promise allows to be broken: an acknowledged grant survives each of them.
[[nodiscard]] std::vector<Disturbance> postgres_disturbances();

// `name` ends that of the test.
[[nodiscard]] HistoryBackend postgres_processes(const std::string& name,
                                                const std::string& parameters = {});

}  // namespace mortise::model
