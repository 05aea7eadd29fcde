-- SPDX-License-Identifier: MIT
-- The schema of Mortise's locks. Run it by psql or by mortise::postgres::migrate(), as a role that may make
-- schemas in the database, and always as the same one. It may be run again; a schema of a newer version it leaves alone.
--
-- Invariants. A row is a name that was ever locked; it stays, because `number`, the grant number, must
-- outlive every hold. Held means: `expires_at` lies ahead of the server's clock; `attempt` is the owner
-- then, and the last one otherwise. Who decides about a row has it locked, and reads the clock after
-- that. Nobody waits for a row lock: a row that somebody else has locked counts as held.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
-- A path set by another user would find that user's functions. No other session waits long for this one.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL lock_timeout = '2s';

-- Another migration may make the schema at the same moment.
DO $schema$
BEGIN
  CREATE SCHEMA IF NOT EXISTS @schema@;
EXCEPTION WHEN unique_violation THEN
  NULL;
END
$schema$;
