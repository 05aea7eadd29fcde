// SPDX-License-Identifier: MIT
// The PostgreSQL backend, and what ties a hold to a transaction of the user's own.
#pragma once

#include <mortise/backend.hpp>
#include <mortise/connector.hpp>
#include <mortise/export.hpp>
#include <mortise/guard.hpp>
#include <mortise/holder.hpp>
#include <mortise/outcome.hpp>
#include <mortise/run.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pg_conn;  // libpq's PGconn

/// A PostgreSQL database, and what ties a hold to a transaction of the user's own.
namespace mortise::postgres {

/// Opens `postgresql://[user[:password]@][host[:port],...][/database][?...]`. Reads text only.
///
/// Whatever does not begin with `mortise.` is libpq's. Ours: `mortise.schema` (`mortise`),
/// `mortise.fair=yes|no` (no), `mortise.connections` (8, at most), `mortise.pooled=yes|no` (found
/// out). The schema must be there: see `migrate()`. See docs/postgresql.md.
/// @errors `misconfigured` (the message names the part), thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url);

/// The same over connections that `connector` makes, each for one host of the URL. libpq's own
/// second try without TLS, or with it (`sslmode=prefer`, `allow`), needs a connection that it does
/// not get: where the first is refused, the try has failed.
/// @param connector see `Connector`
/// @errors as `backend(url)`; `misconfigured` (an empty connector), thrown as `LockError`
[[nodiscard]] MORTISE_API std::unique_ptr<Backend> backend(std::string_view url,
                                                           Connector connector);

/// Where the table of locks is, and who may use it.
struct Migration {
  std::string schema = "mortise";  ///< lower-case letters, digits and '_'
  std::string role{};              ///< of the application: gets its rights; empty = none is named
};

/// @return the SQL of the schema, for psql and for review; it may be run again. It brings every
/// older version of the schema to this one, and refuses a newer one.
/// @errors `misconfigured` (a name that is no plain identifier)
[[nodiscard]] MORTISE_API std::string migration(const Migration& options = {});

/// Runs that, as the user of the URL, who must be allowed to make the schema and then owns it:
/// always the same one. Clients of the version before go on meanwhile, and afterwards.
///
/// Its functions run with that user's rights. So it is refused (`denied`) where anything in the
/// schema is somebody else's, or the tables have triggers or rules.
/// @param url as for `backend()`
/// @param options the schema's name, and the application's role
/// @param wait the longest time to connect
/// @errors `unavailable`, `denied`, `misconfigured`, `protocol`, thrown as `LockError`
/// @blocking for the time to connect, look names up and run it
MORTISE_API void migrate(std::string_view url, const Migration& options = {},
                         std::chrono::milliseconds wait = std::chrono::seconds(10));

/// Takes a lock from whoever holds it, for an administrator: the holder's next renewal tells it
/// (`lost()`), its release finds nothing, its `guard()` fails, and every later token is larger.
///
/// A transaction that is under way with a `guard()` still commits; nobody gets the lock before.
/// What it does without a guard and without looking at `lost()`, only a store that checks tokens
/// can refuse.
/// @param url as for `backend()`, of the owner of the schema, or of somebody who was granted
/// `EXECUTE` on its function `force_release`; a connection of its own is made
/// @param name the lock's name
/// @param wait the longest wait
/// @param of the hold that is meant, by its token, and no other; 0 = whichever is found
/// @return who held it, when it was asked: that hold is over; nothing = it was free
/// @errors `unavailable` (another transaction has the row locked all the time, too), `denied`,
/// `misconfigured`, `protocol`, thrown as `LockError`
/// @blocking up to `wait`
MORTISE_API std::optional<Holder> force_release(std::string_view url, std::string_view name,
                                                std::chrono::milliseconds wait, Token of = {});

/// Ties a transaction to a hold: nobody else gets the lock before it is over, and it fails here if
/// the hold is over already. So a holder that was replaced cannot commit, whatever it believes.
///
/// Call it as the first statement of the transaction. At read committed a hold that is over gives
/// `lost`; at repeatable read and serializable it may also give `unavailable` (serialization
/// failure). The holder's own renewals and its unlock go on meanwhile.
/// @param connection with an open transaction, in the same database as the locks; not in pipeline
/// mode
/// @param guard holds the lock
/// @param schema where the table of locks is
/// @errors `lost`: roll back. `unavailable`: roll back, and try again. `misconfigured` (no open
/// transaction, an unlogged table), `denied`; thrown as `LockError`. The transaction may be aborted
/// then.
/// @thread_safety one thread at a time for each connection
MORTISE_API void guard(pg_conn* connection, const Guard& guard,
                       std::string_view schema = "mortise");

/// Looks again, as `guard()` does, and commits. Call it in place of `COMMIT` where the transaction
/// may have been rolled back to a savepoint: what was locked behind that savepoint is not locked
/// any more, a `guard()` too, and somebody else may have had the lock since. Where nobody had, it
/// is tied to the hold again, and committed.
///
/// @param connection with an open transaction, whose first statement was `guard()`
/// @param guard holds the lock
/// @param schema where the table of locks is
/// @errors `lost`, `unavailable`, `misconfigured`, `denied`, as `guard()`: nothing is committed,
/// roll back. `in_doubt`: the connection broke before the answer to `COMMIT`; the transaction is
/// committed or not. Thrown as `LockError`.
/// @thread_safety one thread at a time for each connection
/// @blocking for two round trips
MORTISE_API void commit(pg_conn* connection, const Guard& guard,
                        std::string_view schema = "mortise");

/// Takes a lock for the length of the open transaction, by its row alone: freed by its commit or
/// rollback, not renewed, never lost. Excludes holders of leases, and other transactions. A
/// rollback to a savepoint that was set before frees it, too, and nothing tells of that.
///
/// At repeatable read and above call it first: who waited with an older snapshot gets
/// `unavailable`.
/// @param connection with an open transaction, in the database of the locks
/// @param name the lock's name
/// @param wait the longest wait; zero or less = one try
/// @param schema where the table of locks is
/// @return false: somebody else had it all the time; the transaction is as before
/// @errors `unavailable` (a deadlock, a serialization failure: roll back, and try again),
/// `misconfigured`, `denied`; thrown as `LockError`. The transaction is aborted then.
/// @blocking up to `wait`
MORTISE_API bool lock_in(pg_conn* connection, std::string_view name, std::chrono::milliseconds wait,
                         std::string_view schema = "mortise");

/// Records the success of a run as a part of the open transaction: its result is remembered if, and
/// only if, what else the transaction has written is committed. Nobody else can run the key before
/// the end of the transaction, and a run that is over cannot be recorded.
///
/// At every isolation level. At repeatable read and above, begin the transaction behind the run:
/// one whose snapshot is older gives `unavailable`. At serializable, transactions that conclude
/// other keys at the same time may give that, too, also at their commit. The run's renewals go on
/// meanwhile, and others may come to wait for the key. The commit waits for the disk, and for
/// synchronous standbys, also where the session's `synchronous_commit` says otherwise.
///
/// The run stays open, since the transaction may be rolled back yet. But from now on
/// `run.succeed()`, and the end of a body of `Once::run()`, write nothing: they free the key, and
/// the outcome is what was committed, whatever result they are given; also where the lease has
/// ended meanwhile. Where nothing was committed (a rollback, a failed statement that nobody looked
/// at, a savepoint from before this call), the key stays pending, and the outcome is `lost()`:
/// conclude once more, in another transaction, before you say it. `run.fail()` records the failure
/// then; where the success stands, it has no effect but to free the key, as a body that throws.
/// Said while the transaction is open, all these are `in_doubt`. Where none is said, the key is
/// freed when the run is given back or its lease ends, and the outcome is what was committed.
/// `commit()` does both.
/// @param connection with an open transaction, in the database of the keys; not in pipeline mode
/// @param run is open
/// @param result what every later caller gets: up to 65,536 bytes of any value
/// @param schema where the tables of keys are
/// @errors `lost` (the run is over, or not open): roll back. `unavailable`: roll back, and try
/// again. `misconfigured` (no open transaction, an unlogged table, a result that is too long, a run
/// that is concluded already), `denied`; thrown as `LockError`. The transaction may be aborted
/// then.
/// @thread_safety one thread at a time for each connection
/// @blocking for a round trip
MORTISE_API void conclude(pg_conn* connection, Run& run, std::string_view result = {},
                          std::string_view schema = "mortise");

/// Does that, commits, and frees the key: the effect and its outcome stand together, or neither.
///
/// @param connection with an open transaction, in the database of the keys; not in pipeline mode
/// @param run is open; afterwards it is not, but where said
/// @param result what every later caller gets: up to 65,536 bytes of any value
/// @param schema where the tables of keys are
/// @return the outcome: `succeeded`
/// @errors as `conclude()`: nothing is committed, roll back; the run stays open. `in_doubt`: the
/// connection broke before the answer to `COMMIT`, and both are committed or neither: the run was
/// given back, and `Once::look()` tells. Thrown as `LockError`.
/// @thread_safety one thread at a time for each connection
/// @blocking for two round trips, and as `Run::succeed()`
MORTISE_API Outcome commit(pg_conn* connection, Run& run, std::string_view result = {},
                           std::string_view schema = "mortise");

/// The condition for data that are in another database: `UPDATE ... WHERE id = 42 AND ` this. Set
/// the column to the token in the same statement.
///
/// @param guard holds the lock
/// @param column an SQL expression; it is not quoted
/// @return "fence <= 1234"
[[nodiscard]] MORTISE_API std::string fenced(const Guard& guard, std::string_view column = "fence");

}  // namespace mortise::postgres
