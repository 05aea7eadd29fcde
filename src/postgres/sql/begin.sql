-- SPDX-License-Identifier: MIT
-- The schema of Mortise's locks. Run it by psql or by mortise::postgres::migrate(), as a role that may make
-- schemas in the database, and always as the same one. It may be run again, and brings every older version
-- to this one; a newer one it leaves alone.
--
-- Invariants. A row is a name that was ever locked; it stays, because `number`, the grant number, must
-- outlive every hold. Held means: `expires_at` lies ahead of the server's clock; `attempt` is the owner
-- then, and the last one otherwise. Who decides about a row has it locked, and reads the clock after
-- that. Nobody waits for a row lock: a row that somebody else has locked counts as held.
BEGIN;
-- A path set by somebody else would find that user's functions. And nobody shall wait behind it for long.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL lock_timeout = '2s';
SELECT pg_advisory_xact_lock(7077, 1);

CREATE SCHEMA IF NOT EXISTS @schema@;
