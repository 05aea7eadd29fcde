// SPDX-License-Identifier: MIT
// The parts of a client's PostgreSQL backend, made and connected.
#pragma once

#include <mortise/backend.hpp>

#include "postgres/call_writer.hpp"
#include "postgres/events.hpp"
#include "postgres/lineage.hpp"
#include "postgres/listener.hpp"
#include "postgres/parts.hpp"
#include "postgres/polling.hpp"
#include "postgres/yields.hpp"

namespace mortise::postgres {

struct PostgresClient {
  /// @param settings, host outlive it
  PostgresClient(const Settings& settings, Host& host);

  const Statements statements;
  Lineage lineage;
  Attempts attempts;
  Bell bell;
  Parts parts;
  CallWriter writer{parts};
  Yields yields{parts};
  Events events{parts, writer, yields};
  Polling polling{parts, [this] { events.name_moved(); }};
  Exchange exchange;
  Pool pool;
  Listener listener;
};

}  // namespace mortise::postgres
