// SPDX-License-Identifier: MIT
// Goal: the PostgreSQL backend keeps the contract, however the server is reached, and whoever comes
// first or not. Method: the contract suite, under a role that may do what
// docs/stores/postgresql-running.md grants it and no more, in a schema a test.
#include "support/contract_suites.hpp"
#include "support/postgres_store.hpp"

namespace mortise::contract {

MORTISE_CONTRACT(Postgres, postgres_backend(PostgresWay::network, "mortise.pooled=no"));
MORTISE_CONTRACT(PostgresFair,
                 postgres_backend(PostgresWay::network, "mortise.pooled=no&mortise.fair=yes"));
MORTISE_CONTRACT(PostgresSocketLong, postgres_backend(PostgresWay::socket));
MORTISE_CONTRACT(PostgresTls, postgres_backend(PostgresWay::encrypted));
MORTISE_CONTRACT(PostgresPooled, postgres_backend(PostgresWay::pooled));

}  // namespace mortise::contract
