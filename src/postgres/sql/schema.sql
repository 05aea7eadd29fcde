CREATE TABLE IF NOT EXISTS @schema@.lock (
  -- No CHECKs: each would be read from its text anew by every statement that writes, which costs more
  -- than the statement. The client checks names and numbers.
  name          bytea       PRIMARY KEY,                   -- 1 to 512 bytes
  number        bigint      NOT NULL,                      -- below 2^53
  attempt       bytea       NOT NULL,
  lease         bigint      NOT NULL,                      -- in microseconds, as it was asked for last
  expires_at    timestamptz NOT NULL,                      -- -infinity: it was given back
  label         bytea       NOT NULL,
  waiters_until timestamptz NOT NULL DEFAULT '-infinity',  -- until then a release tells those who wait
  -- Makes the number a key column, so that no new owner passes by a guard's FOR KEY SHARE, whichever
  -- statement makes it one. The number comes first, or PostgreSQL, which plans once and while the table
  -- is still empty, would look names up here, where each has an entry for every grant until a vacuum.
  UNIQUE (number, name)
  -- Room on each page for renewals, which then touch no index. The expiry has none for that reason.
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Who waits, where first come is first served. Whoever changes it for a name has that lock's row locked.
CREATE TABLE IF NOT EXISTS @schema@.ticket (
  name    bytea       NOT NULL,
  ticket  bigint      GENERATED ALWAYS AS IDENTITY,
  attempt bytea       NOT NULL,
  contact timestamptz NOT NULL,                            -- when it asked last
  reads   boolean     NOT NULL DEFAULT false,              -- it wants to share the name
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- A client of another version does not use this schema.
CREATE OR REPLACE FUNCTION @schema@.schema_version() RETURNS bigint
LANGUAGE sql IMMUTABLE AS $function$SELECT 1::bigint$function$;

-- Which server this is, for clients that can reach several: the number of the cluster, which all standbys have
-- too, and its timeline, which grows when a standby is promoted. Nothing where the server does not tell.
CREATE OR REPLACE FUNCTION @schema@.whereabouts() RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF pg_is_in_recovery() THEN RETURN ''; END IF;
  RETURN (SELECT system_identifier FROM pg_control_system()) || ' '
         || ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN '';
END
$function$;

-- What this transaction promises is on disk, and at the standbys, before it is told, whatever is the role's
-- default; and a wait for them that somebody ends is told of, which is a warning.
CREATE OR REPLACE FUNCTION @schema@.promise() RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  ignored text;
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    ignored := set_config('synchronous_commit', 'on', true);
  END IF;
  IF current_setting('client_min_messages') = 'error' THEN
    ignored := set_config('client_min_messages', 'warning', true);
  END IF;
END
$function$;

-- Makes the settings of session.sql, as far as the functions need them, until the end of the transaction: for a session
-- that may be anybody's. The caller's path is not ours before that.
CREATE OR REPLACE FUNCTION @schema@.settle() RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  ignored pg_catalog.text;
BEGIN
  ignored := pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  ignored := pg_catalog.set_config('lock_timeout', '50ms', true);
  PERFORM @schema@.promise();
END
$function$;
