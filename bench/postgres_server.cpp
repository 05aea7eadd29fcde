// SPDX-License-Identifier: MIT
#include "postgres_server.hpp"

#include <mortise/postgres.hpp>

#include "raw_postgres.hpp"

namespace mortise::bench {
namespace {

test::PostgresServer start(Mode mode, Medium medium) {
  const Placed placed(mode, Side::server);
  return test::PostgresServer(
      {.settings = {"autovacuum = off", "checkpoint_timeout = 1h", "wal_level = minimal",
                    "max_wal_senders = 0", "max_wal_size = 1GB", "shared_buffers = 128MB"},
       .on_disk = medium == Medium::disk});
}

}  // namespace

PostgresBed::PostgresBed(Mode mode, Medium medium) : server_(start(mode, medium)) {
  postgres::migrate(server_.owner_url(), {.role = test::postgres_application});
  test::PostgresTalk(server_.owner_url()).run(RawPostgres::schema());
}

std::uint64_t PostgresBed::log_position() const {
  return std::stoull(server_.talk().value("select pg_current_wal_insert_lsn() - '0/0'"));
}

}  // namespace mortise::bench
