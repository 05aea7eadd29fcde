// SPDX-License-Identifier: MIT
#include "postgres/postgres_client.hpp"

#include <memory>
#include <string>
#include <utility>

namespace mortise::postgres {

PostgresClient::PostgresClient(const Settings& settings, Host& host)
    : statements(settings.schema, settings.fair),
      attempts(settings.fair),
      parts{.settings = settings,
            .statements = statements,
            .host = host,
            .clock = *host.clock(),
            .attempts = attempts,
            .bell = bell},
      exchange(writer, attempts, host.clock()),
      pool(host, settings.connections,
           [this] {
             return std::make_unique<Connection>(parts.host, parts.settings, statements, lineage,
                                                 std::string(), events);
           }),
      listener(parts, [this](std::string listen) {
        return std::make_unique<Connection>(parts.host, parts.settings, statements, lineage,
                                            std::move(listen), events);
      }) {
  parts.pool = &pool;
  parts.exchange = &exchange;
  parts.listener = &listener;
  parts.polling = &polling;
  exchange.waiting().add_line(pool);
}

}  // namespace mortise::postgres
