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
  buried        jsonb,                                     -- attempt: [copy, until], see take()
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

ALTER TABLE @schema@.ticket ADD COLUMN IF NOT EXISTS reads boolean NOT NULL DEFAULT false;  -- before version 6

-- The versions of clients that this schema serves: the oldest, and its own.
CREATE OR REPLACE FUNCTION @schema@.schema_versions() RETURNS text
LANGUAGE sql IMMUTABLE AS $function$SELECT '3 6'$function$;
-- What clients of version 3 look for.
CREATE OR REPLACE FUNCTION @schema@.schema_version() RETURNS bigint
LANGUAGE sql IMMUTABLE AS 'SELECT 3::bigint';

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

-- What is left of these graves. An empty set of them would cost every later call what one that is not empty
-- costs.
CREATE OR REPLACE FUNCTION @schema@.unbury(graves jsonb, t timestamptz)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT jsonb_object_agg(grave.key, grave.value) FROM jsonb_each(graves) AS grave
   WHERE (grave.value ->> 1)::bigint > extract(epoch FROM t)
$function$;

-- From now on what was sent of this attempt before this copy comes too late, for five minutes.
CREATE OR REPLACE FUNCTION @schema@.bury(graves jsonb, attempt bytea, copy bigint, t timestamptz)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT coalesce(jsonb_object_agg(grave.key, grave.value), '{}')
         || jsonb_build_object(encode(attempt, 'hex'),
                               jsonb_build_array(copy, ceil(extract(epoch FROM t))::bigint + 300))
    FROM jsonb_each(coalesce(graves, '{}')) AS grave
   WHERE (grave.value ->> 1)::bigint > extract(epoch FROM t)
$function$;
