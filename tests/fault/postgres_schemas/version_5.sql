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

CREATE SCHEMA IF NOT EXISTS mortise;

-- The functions run with the rights of whoever runs this. So nothing in the schema may be anybody else's, nor
-- made by anybody else later: whoever may make schemas in the database could have made this one before. Looked
-- at twice: before anything is changed, and when all is there.
DO $trust$
DECLARE
  place constant oid := 'mortise'::regnamespace;
  me constant oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = place AND relname IN ('lock', 'ticket', 'run', 'run_ticket', 'once', 'run_floor'));
  found text;
BEGIN
  SELECT string_agg(what, ', ') INTO found FROM (
    SELECT 'the schema, of ' || nspowner::regrole FROM pg_namespace WHERE oid = place AND nspowner <> me
    UNION ALL
    SELECT 'a right to CREATE, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_namespace, aclexplode(nspacl)
     WHERE oid = place AND privilege_type = 'CREATE' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ', of ' || relowner::regrole FROM pg_class
     WHERE relnamespace = place AND relowner <> me
    UNION ALL
    SELECT oid::regprocedure || ', of ' || proowner::regrole FROM pg_proc
     WHERE pronamespace = place AND proowner <> me
    UNION ALL
    SELECT 'type ' || oid::regtype || ', of ' || typowner::regrole FROM pg_type
     WHERE typnamespace = place AND typowner <> me
    UNION ALL
    SELECT 'operator ' || oid::regoperator || ', of ' || oprowner::regrole FROM pg_operator
     WHERE oprnamespace = place AND oprowner <> me
    UNION ALL
    SELECT 'a right to TRIGGER, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class, aclexplode(relacl)
     WHERE oid = ANY (tables) AND privilege_type = 'TRIGGER' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ' is no plain table' FROM pg_class
     WHERE oid = ANY (tables) AND (relkind <> 'r' OR relispartition)
    UNION ALL
    SELECT 'trigger ' || quote_ident(tgname) FROM pg_trigger WHERE tgrelid = ANY (tables) AND NOT tgisinternal
    UNION ALL
    SELECT 'rule ' || quote_ident(rulename) FROM pg_rewrite WHERE ev_class = ANY (tables)
    UNION ALL
    SELECT 'policy ' || quote_ident(polname) FROM pg_policy WHERE polrelid = ANY (tables)
    UNION ALL
    SELECT inhrelid::regclass || ' inherits' FROM pg_inherits
     WHERE inhparent = ANY (tables) OR inhrelid = ANY (tables)
    UNION ALL
    SELECT indexrelid::regclass || ' computes' FROM pg_index
     WHERE indrelid = ANY (tables) AND (indexprs IS NOT NULL OR indpred IS NOT NULL)
  ) AS strange(what);
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'schema mortise is not only of %, who would run its code: %',
                    current_user, found USING ERRCODE = '42501';
  END IF;
END
$trust$;

-- From each older version to this one. Version 4 and what came after it are told by schema_versions(); older
-- ones by schema_version() alone.
DO $steps$
DECLARE
  place constant oid := 'mortise'::regnamespace;
  installed integer;
  each oid;
BEGIN
  IF to_regprocedure('mortise.schema_versions()') IS NOT NULL THEN
    EXECUTE 'SELECT split_part(mortise.schema_versions(), '' '', 2)' INTO installed;
  ELSIF to_regprocedure('mortise.schema_version()') IS NOT NULL THEN
    EXECUTE 'SELECT mortise.schema_version()' INTO installed;
  END IF;
  IF installed > 5 THEN
    RAISE EXCEPTION 'schema mortise is of version %, which is newer than this 5: it stays as it is', installed
      USING ERRCODE = '55000';
  END IF;
  -- Whoever could take a lock before can do so afterwards: see the end.
  PERFORM set_config('mortise.applications', coalesce(string_agg(DISTINCT grantee::text, ' '), ''), true)
    FROM pg_proc, aclexplode(proacl)
   WHERE pronamespace = place AND proname = 'take' AND privilege_type = 'EXECUTE'
     AND grantee NOT IN (0, proowner);
  -- And whoever could release by force. It was of any hold, without a number; its name must stay one function's.
  PERFORM set_config('mortise.administrators', coalesce(string_agg(DISTINCT grantee::text, ' '), ''), true)
    FROM pg_proc, aclexplode(proacl)
   WHERE pronamespace = place AND proname = 'force_release' AND privilege_type = 'EXECUTE'
     AND grantee NOT IN (0, proowner);
  DROP FUNCTION IF EXISTS mortise.force_release(bytea);
  -- What is there already: see the end.
  PERFORM set_config('mortise.there', coalesce(string_agg(all_of_them.oid::text, ' '), ''), true)
    FROM (SELECT oid FROM pg_class WHERE relnamespace = place
          UNION ALL SELECT oid FROM pg_proc WHERE pronamespace = place) AS all_of_them;
  -- 1 and 2: other arguments, other results.
  IF installed < 3 THEN
    FOR each IN SELECT oid FROM pg_proc WHERE pronamespace = place AND proname IN ('schema_versions', 'schema_version', 'whereabouts', 'promise', 'unbury', 'bury', 'told', 'take_row', 'take_row_run', 'take_apart', 'take', 'release_row', 'release_apart', 'wake', 'release_row_run', 'release_apart_run', 'wake_run', 'release', 'tell', 'renew', 'renew_run', 'cancel', 'cancel_run', 'guard', 'lock_in', 'force_release', 'judge', 'begin_key', 'cancel_key', 'conclude_key', 'conclude_in', 'tell_run', 'sweep_keys', 'sweep_on', 'forget_key') LOOP
      EXECUTE 'DROP FUNCTION ' || each::regprocedure;
    END LOOP;
  END IF;
  -- 3: what its migrate() makes of the functions must not come back, and fails at this one's result.
  IF installed = 3 THEN DROP FUNCTION mortise.schema_version(); END IF;
  -- 1: conditions that were looked at by each statement that writes.
  IF installed = 1 THEN
    ALTER TABLE mortise.lock DROP CONSTRAINT IF EXISTS lock_name_check,
                              DROP CONSTRAINT IF EXISTS lock_number_check;
  END IF;
  -- 1 and 2: the name came first in this index: see the table.
  IF EXISTS (SELECT FROM pg_constraint WHERE connamespace = place AND conrelid = to_regclass('mortise.lock')
                AND conname = 'lock_name_number_key') THEN
    ALTER TABLE mortise.lock ADD CONSTRAINT lock_number_name_key UNIQUE (number, name);
    ALTER TABLE mortise.lock DROP CONSTRAINT lock_name_number_key;
  END IF;
END
$steps$;


CREATE TABLE IF NOT EXISTS mortise.lock (
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
CREATE TABLE IF NOT EXISTS mortise.ticket (
  name    bytea       NOT NULL,
  ticket  bigint      GENERATED ALWAYS AS IDENTITY,
  attempt bytea       NOT NULL,
  contact timestamptz NOT NULL,                            -- when it asked last
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The versions of clients that this schema serves: the oldest, and its own.
CREATE OR REPLACE FUNCTION mortise.schema_versions() RETURNS text
LANGUAGE sql IMMUTABLE AS $function$SELECT '3 5'$function$;
-- What clients of version 3 look for.
CREATE OR REPLACE FUNCTION mortise.schema_version() RETURNS bigint
LANGUAGE sql IMMUTABLE AS 'SELECT 3::bigint';

-- Which server this is, for clients that can reach several: the number of the cluster, which all standbys have
-- too, and its timeline, which grows when a standby is promoted. Nothing where the server does not tell.
CREATE OR REPLACE FUNCTION mortise.whereabouts() RETURNS text
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
CREATE OR REPLACE FUNCTION mortise.promise() RETURNS void
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
CREATE OR REPLACE FUNCTION mortise.unbury(graves jsonb, t timestamptz)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT jsonb_object_agg(grave.key, grave.value) FROM jsonb_each(graves) AS grave
   WHERE (grave.value ->> 1)::bigint > extract(epoch FROM t)
$function$;

-- From now on what was sent of this attempt before this copy comes too late, for five minutes.
CREATE OR REPLACE FUNCTION mortise.bury(graves jsonb, attempt bytea, copy bigint, t timestamptz)
RETURNS jsonb LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $function$
  SELECT coalesce(jsonb_object_agg(grave.key, grave.value), '{}')
         || jsonb_build_object(encode(attempt, 'hex'),
                               jsonb_build_array(copy, ceil(extract(epoch FROM t))::bigint + 300))
    FROM jsonb_each(coalesce(graves, '{}')) AS grave
   WHERE (grave.value ->> 1)::bigint > extract(epoch FROM t)
$function$;

-- The keys of Once. Each has two rows. That of `run` is to a key what that of `lock` is to a name, and is
-- changed by the same functions, made for it a second time (their names end in _run): who runs it, by which
-- lease. That of `once` is what is remembered of it, and is written when a run begins and when it is
-- concluded, and at no other time: so renewals stay small, and a transaction of a user's that concludes a run
-- at repeatable read has no renewal in its way.
--
-- Invariants. Whoever writes a row of `once` has that of `run` locked, at least FOR KEY SHARE. Who has the
-- key, as `run` says, has begun it, as `once` says, in the same transaction. A key is absent that has no row,
-- whose state is '-', or whose time is over while nobody has it.
CREATE TABLE IF NOT EXISTS mortise.run (LIKE mortise.lock INCLUDING DEFAULTS, PRIMARY KEY (name))
  WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE IF NOT EXISTS mortise.run_ticket (
  name    bytea       NOT NULL,
  ticket  bigint      GENERATED ALWAYS AS IDENTITY,
  attempt bytea       NOT NULL,
  contact timestamptz NOT NULL,
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE IF NOT EXISTS mortise.once (
  key         bytea       PRIMARY KEY,   -- 1 to 512 bytes
  state       "char"      NOT NULL,      -- P pending, Y succeeded, F failed, - absent: see sweep_keys()
  run         bigint      NOT NULL,      -- number of the last run, from 1
  number      bigint      NOT NULL,      -- of that run's grant
  kept_until  timestamptz NOT NULL,      -- forgotten then, unless somebody runs it
  fingerprint bytea       NOT NULL,      -- of whoever began that run
  bytes       bytea       NOT NULL       -- the result, or the reason
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS once_kept_until ON mortise.once (kept_until);

-- The largest number of a row that was removed, or one up to a second larger: later ones are larger, whatever the
-- clock says. Several rows, so that several may remove at once; the largest of them counts.
CREATE TABLE IF NOT EXISTS mortise.run_floor (place bigint PRIMARY KEY, number bigint NOT NULL)
  WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0.05);
INSERT INTO mortise.run_floor SELECT place, 0 FROM generate_series(1, 8) AS place
  ON CONFLICT (place) DO NOTHING;

-- What is told of a key, in one value: a byte 1; state; whether it is run; number of the run, and of its grant;
-- the fingerprint behind its length, and the bytes.
CREATE OR REPLACE FUNCTION mortise.told(
  state "char", held boolean, run bigint, number bigint, fingerprint bytea, bytes bytea) RETURNS bytea
LANGUAGE sql STABLE AS $function$
  SELECT '\x01'::bytea || charsend(state) || boolsend(held) || int8send(run) || int8send(number)
         || int4send(octet_length(fingerprint)) || fingerprint || bytes
$function$;

-- For operators.
CREATE OR REPLACE VIEW mortise.once_keys AS
SELECT encode(o.key, 'escape') AS key, o.state, o.run,
       clock_timestamp() - to_timestamp(o.number / 1000000.0) AS age,
       CASE WHEN l.expires_at > clock_timestamp() THEN encode(l.label, 'escape') END AS runner,
       CASE WHEN l.expires_at > clock_timestamp() THEN l.expires_at - clock_timestamp() END AS lease_left,
       o.kept_until, octet_length(o.bytes) AS size
  FROM mortise.once AS o LEFT JOIN mortise.run AS l ON l.name = o.key
 WHERE o.state <> '-'
   AND (o.kept_until > clock_timestamp() OR l.expires_at > clock_timestamp());


-- Makes an attempt the owner of a name, or has it wait. The library calls it only where the row looks
-- free, or where something is to be written: a try that fails writes nothing.
--
-- Safe to repeat: the same attempt finds its hold. A copy that arrives late, when a newer one was sent
-- on another connection, changes nothing: the newer one says so (`strays`) and buries the older ones.
-- A grant is on disk before it is told: it shares its transaction with other calls of take() only.
--
-- `how`: 16 x the number of this copy + 1 it waits + 2 fair + 4 strays; of a key + 8 where somebody was just seen to
-- run it. Who only comes to wait then does not lock the row as one who takes it: a user's transaction that concludes
-- the run, and is older, would get error 40001 for what the waiter writes there.
--
-- Returns  <number>                   it is the owner from now on, for the lease that it asked for
--          G <number> <age> <lease>   it is the owner, since <age> microseconds
--          Q   somebody else is; a release will tell
--          A   nobody is, but others come first
--          B   somebody else is    L   the row is locked: ask again soon    R   a late copy
--          Q and B are followed by  <number> <left> <label>  of the owner: microseconds, hexadecimal digits
CREATE OR REPLACE FUNCTION mortise.take_row(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, how bigint) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  waits constant boolean := (how & 1) <> 0;
  fair constant boolean := (how & 2) <> 0;
  strays constant boolean := (how & 4) <> 0;
  copy constant bigint := how >> 4;
  only_waits constant boolean := false;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  l record;
  t timestamptz;
  free boolean;
  guarded boolean := false;
  first bytea;
  n bigint;
  ignored text;
BEGIN
  IF NOT only_waits THEN
    SELECT number, attempt, lease, expires_at, label, waiters_until, buried INTO l
      FROM mortise.lock WHERE name = the_name FOR UPDATE SKIP LOCKED;
  END IF;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM mortise.lock WHERE name = the_name) THEN
      -- An insertion would wait for another one of the same name, of a user's transaction perhaps.
      IF NOT pg_try_advisory_xact_lock(hashtextextended(encode(the_name, 'hex'), 7077)) THEN
        RETURN 'L';
      END IF;
      t := clock_timestamp();
      n := floor(extract(epoch FROM t) * 1000000)::bigint;
      INSERT INTO mortise.lock (name, number, attempt, lease, expires_at, label, buried)
      VALUES (the_name, n, me, for_lease, t + for_lease * interval '1 microsecond', for_label,
              CASE WHEN strays THEN mortise.bury(NULL, me, copy, t) END)
      ON CONFLICT (name) DO NOTHING;
      IF NOT FOUND THEN RETURN 'L'; END IF;
      PERFORM mortise.promise();
      RETURN n;
    END IF;
    IF NOT waits THEN RETURN 'L'; END IF;
    -- Where only a transaction has it that guards the hold, or concludes the run, one can still wait there.
    SELECT number, attempt, lease, expires_at, label, waiters_until, buried INTO l
      FROM mortise.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 'L'; END IF;
    guarded := true;
  END IF;

  t := clock_timestamp();
  free := l.expires_at <= t;
  IF l.buried IS NOT NULL AND (l.buried -> encode(me, 'hex') ->> 0)::bigint > copy THEN
    RETURN 'R';
  END IF;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, copy, t);
    UPDATE mortise.lock SET buried = l.buried WHERE name = the_name;
  END IF;
  IF NOT free AND l.attempt = me THEN
    -- That transaction's wait for a standby may have been ended: this one waits for both.
    PERFORM mortise.promise();
    RETURN 'G ' || l.number || ' '
           || l.lease - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || l.lease;
  END IF;

  IF free AND fair AND l.waiters_until > t THEN
    DELETE FROM mortise.ticket WHERE name = the_name AND contact < t - interval '3 seconds';
    SELECT attempt INTO first FROM mortise.ticket WHERE name = the_name ORDER BY ticket LIMIT 1;
  END IF;
  IF free AND NOT guarded AND (first IS NULL OR first = me) THEN
    n := greatest(l.number + 1, floor(extract(epoch FROM t) * 1000000)::bigint);
    IF l.buried IS NOT NULL THEN l.buried := mortise.unbury(l.buried, t); END IF;
    UPDATE mortise.lock
       SET number = n, attempt = me, lease = for_lease, label = for_label, buried = l.buried,
           expires_at = t + for_lease * interval '1 microsecond'
     WHERE name = the_name;
    IF first = me THEN
      DELETE FROM mortise.ticket WHERE name = the_name AND attempt = me;
    END IF;
    PERFORM mortise.promise();
    RETURN n;
  END IF;

  -- Nothing of what is left need survive a crash, and a row stays locked until its transaction is on disk: for
  -- whoever wants to free it, too. But what came before in this transaction may be a grant.
  IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
  IF waits THEN
    IF fair THEN
      UPDATE mortise.ticket SET contact = t WHERE name = the_name AND attempt = me;
      IF NOT FOUND THEN
        INSERT INTO mortise.ticket (name, attempt, contact) VALUES (the_name, me, t);
      END IF;
    END IF;
    IF l.waiters_until < t + interval '5 seconds' THEN
      UPDATE mortise.lock SET waiters_until = t + interval '30 seconds' WHERE name = the_name;
    END IF;
  END IF;
  IF free THEN RETURN CASE WHEN guarded THEN 'L' ELSE 'A' END; END IF;
  RETURN CASE WHEN waits THEN 'Q' ELSE 'B' END || ' ' || l.number || ' '
         || round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || encode(l.label, 'hex');
END
$function$;

-- The same for the keys of Once: see once_tables.sql.
CREATE OR REPLACE FUNCTION mortise.take_row_run(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, how bigint) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  waits constant boolean := (how & 1) <> 0;
  fair constant boolean := (how & 2) <> 0;
  strays constant boolean := (how & 4) <> 0;
  copy constant bigint := how >> 4;
  only_waits constant boolean := (how & 9) = 9;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  l record;
  t timestamptz;
  free boolean;
  guarded boolean := false;
  first bytea;
  n bigint;
  ignored text;
BEGIN
  IF NOT only_waits THEN
    SELECT number, attempt, lease, expires_at, label, waiters_until, buried INTO l
      FROM mortise.run WHERE name = the_name FOR UPDATE SKIP LOCKED;
  END IF;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM mortise.run WHERE name = the_name) THEN
      -- An insertion would wait for another one of the same name, of a user's transaction perhaps.
      IF NOT pg_try_advisory_xact_lock(hashtextextended(encode(the_name, 'hex'), 7078)) THEN
        RETURN 'L';
      END IF;
      t := clock_timestamp();
      n := greatest(floor(extract(epoch FROM t) * 1000000)::bigint, (SELECT max(number) FROM mortise.run_floor) + 1);
      INSERT INTO mortise.run (name, number, attempt, lease, expires_at, label, buried)
      VALUES (the_name, n, me, for_lease, t + for_lease * interval '1 microsecond', for_label,
              CASE WHEN strays THEN mortise.bury(NULL, me, copy, t) END)
      ON CONFLICT (name) DO NOTHING;
      IF NOT FOUND THEN RETURN 'L'; END IF;
      PERFORM mortise.promise();
      RETURN n;
    END IF;
    IF NOT waits THEN RETURN 'L'; END IF;
    -- Where only a transaction has it that guards the hold, or concludes the run, one can still wait there.
    SELECT number, attempt, lease, expires_at, label, waiters_until, buried INTO l
      FROM mortise.run WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 'L'; END IF;
    guarded := true;
  END IF;

  t := clock_timestamp();
  free := l.expires_at <= t;
  IF l.buried IS NOT NULL AND (l.buried -> encode(me, 'hex') ->> 0)::bigint > copy THEN
    RETURN 'R';
  END IF;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, copy, t);
    UPDATE mortise.run SET buried = l.buried WHERE name = the_name;
  END IF;
  IF NOT free AND l.attempt = me THEN
    -- That transaction's wait for a standby may have been ended: this one waits for both.
    PERFORM mortise.promise();
    RETURN 'G ' || l.number || ' '
           || l.lease - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || l.lease;
  END IF;

  IF free AND fair AND l.waiters_until > t THEN
    DELETE FROM mortise.run_ticket WHERE name = the_name AND contact < t - interval '3 seconds';
    SELECT attempt INTO first FROM mortise.run_ticket WHERE name = the_name ORDER BY ticket LIMIT 1;
  END IF;
  IF free AND NOT guarded AND (first IS NULL OR first = me) THEN
    n := greatest(l.number + 1, floor(extract(epoch FROM t) * 1000000)::bigint);
    IF l.buried IS NOT NULL THEN l.buried := mortise.unbury(l.buried, t); END IF;
    UPDATE mortise.run
       SET number = n, attempt = me, lease = for_lease, label = for_label, buried = l.buried,
           expires_at = t + for_lease * interval '1 microsecond'
     WHERE name = the_name;
    IF first = me THEN
      DELETE FROM mortise.run_ticket WHERE name = the_name AND attempt = me;
    END IF;
    PERFORM mortise.promise();
    RETURN n;
  END IF;

  -- Nothing of what is left need survive a crash, and a row stays locked until its transaction is on disk: for
  -- whoever wants to free it, too. But what came before in this transaction may be a grant.
  IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
  IF waits THEN
    IF fair THEN
      UPDATE mortise.run_ticket SET contact = t WHERE name = the_name AND attempt = me;
      IF NOT FOUND THEN
        INSERT INTO mortise.run_ticket (name, attempt, contact) VALUES (the_name, me, t);
      END IF;
    END IF;
    IF l.waiters_until < t + interval '5 seconds' THEN
      UPDATE mortise.run SET waiters_until = t + interval '30 seconds' WHERE name = the_name;
    END IF;
  END IF;
  IF free THEN RETURN CASE WHEN guarded THEN 'L' ELSE 'A' END; END IF;
  RETURN CASE WHEN waits THEN 'Q' ELSE 'B' END || ' ' || l.number || ' '
         || round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || encode(l.label, 'hex');
END
$function$;

-- What applications call: take() on a connection of their own, which is as session.sql makes it, for an
-- attempt that has no older copies; take_apart() everywhere else. Which one is the client's choice, since a
-- condition costs the server as much in each call as it costs the client once.
--
-- The path by which names are found must be ours, or a caller could have its own operators run with the
-- owner's rights. That a function sets it costs 20 us a call, and that it looks at it 2 us: so a session sets
-- it once, what comes before the look names everything as a whole, and where the path is another one after
-- all (by a stranger's hand) take() goes the other way.
CREATE OR REPLACE FUNCTION mortise.take_apart(
  the_name bytea, me bytea, for_lease bigint, for_label bytea,
  how bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN mortise.take_row(the_name, me, for_lease, for_label, how);
END
$function$;
CREATE OR REPLACE FUNCTION mortise.take(
  the_name pg_catalog.bytea, me pg_catalog.bytea, for_lease bigint, for_label pg_catalog.bytea,
  how bigint) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
  ignored pg_catalog.text;
BEGIN
  -- The plain case in one statement: free, nobody else in the row, nothing to be remembered. It does not
  -- ask for the row's lock first, which costs as much again. xmax is whoever locked this version of the row
  -- last, who may have it still, unless it wrote that, too: then it has committed, or nobody would see it. Who
  -- locks it within this microsecond is waited for, for `lock_timeout` (session.sql) at most; then the row is
  -- looked at once more, as PostgreSQL does at read committed.
  UPDATE mortise.lock AS l
     SET number = greatest(l.number OPERATOR(pg_catalog.+) 1,
           (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint),
         attempt = me, lease = for_lease, label = for_label,
         expires_at = pg_catalog.clock_timestamp()
           OPERATOR(pg_catalog.+) (for_lease OPERATOR(pg_catalog.*) interval '1 microsecond')
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.expires_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin) AND l.buried IS NULL
     AND (how OPERATOR(pg_catalog.&) 2 OPERATOR(pg_catalog.=) 0
          OR l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp())
  RETURNING l.number::pg_catalog.text INTO answer;
  IF FOUND THEN
    -- Somebody who had to wait came before it in this transaction.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
      ignored := pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    RETURN answer;
  END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, pg_temp' THEN
    RETURN mortise.take_row(the_name, me, for_lease, for_label, how);
  END IF;
  RETURN mortise.take_apart(the_name, me, for_lease, for_label, how);
END
$function$;

-- Frees exactly one hold, or nothing. It need not be on disk when it is told: a crash brings the hold back
-- until its lease ends. So it shares a transaction with no grant and no renewal. Those who wait are told in
-- another one, by wake(): a NOTIFY takes a lock of the whole server at commit, which may be long in coming,
-- and nobody's release depends on that.
--
-- `how` as in take(): 16 x the number of the last copy of the attempt + 4 strays; + 1 where the caller calls
-- wake() then. The clients of version 3 do not: it is done for them here. + 2 where the attempt is over: what
-- a copy of its request took anew, once the lease was over, nobody knows of, and is freed, too.
--
-- Returns  F  freed    A  freed before    X  its lease had run out    N  not this hold's any more
--          L  the row is locked: ask again soon    T, Y and M  as F, X and N, and somebody may wait
CREATE OR REPLACE FUNCTION mortise.release_row(
  the_name bytea, me bytea, my_number bigint, how bigint) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  strays constant boolean := (how & 4) <> 0;
  wakes constant boolean := (how & 1) <> 0;
  over constant boolean := (how & 2) <> 0;
  l record;
  t timestamptz;
  outcome text;
  ghost boolean;
  ignored text;
BEGIN
  SELECT number, attempt, expires_at, waiters_until, buried INTO l
    FROM mortise.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT FROM mortise.lock
                              WHERE name = the_name AND (strays OR (attempt = me AND (over OR number = my_number))))
                THEN 'L' ELSE 'N' END;
  END IF;
  ignored := set_config('synchronous_commit', 'off', true);
  t := clock_timestamp();
  outcome := CASE WHEN l.attempt <> me OR l.number <> my_number THEN 'N'
                  WHEN l.expires_at = '-infinity' THEN 'A'
                  WHEN l.expires_at <= t THEN 'X'
                  ELSE 'F' END;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, (how >> 4) + 1, t);
    UPDATE mortise.lock SET buried = l.buried WHERE name = the_name;
  END IF;
  ghost := over AND outcome = 'N' AND l.attempt = me AND my_number > 0 AND l.number > my_number AND l.expires_at > t;
  IF outcome IN ('F', 'X') OR ghost THEN
    UPDATE mortise.lock SET expires_at = '-infinity' WHERE name = the_name;
    IF l.waiters_until > t THEN
      IF wakes THEN
        outcome := translate(outcome, 'FXN', 'TYM');
      ELSE
        PERFORM mortise.tell(the_name, t);
      END IF;
    END IF;
  END IF;
  RETURN outcome;
END
$function$;

-- What applications call where a session is not as session.sql makes it, or an attempt has older copies.
CREATE OR REPLACE FUNCTION mortise.release_apart(
  the_name bytea, me bytea, my_number bigint, how bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN mortise.release_row(the_name, me, my_number, how);
END
$function$;

-- Tells those who wait for these names, if they are free: where somebody else has one again, the release of
-- that hold does. Its commit waits for a lock of the whole server, and for nothing else.
CREATE OR REPLACE FUNCTION mortise.wake(names bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  the_name bytea;
  ignored text;
BEGIN
  ignored := set_config('synchronous_commit', 'off', true);
  FOREACH the_name IN ARRAY names LOOP
    IF EXISTS (SELECT FROM mortise.lock
                WHERE name = the_name AND expires_at <= t AND waiters_until > t) THEN
      PERFORM mortise.tell(the_name, t);
    END IF;
  END LOOP;
END
$function$;

-- The same for the keys of Once: see once_tables.sql.
CREATE OR REPLACE FUNCTION mortise.release_row_run(
  the_name bytea, me bytea, my_number bigint, how bigint) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  strays constant boolean := (how & 4) <> 0;
  wakes constant boolean := (how & 1) <> 0;
  over constant boolean := (how & 2) <> 0;
  l record;
  t timestamptz;
  outcome text;
  ghost boolean;
  ignored text;
BEGIN
  SELECT number, attempt, expires_at, waiters_until, buried INTO l
    FROM mortise.run WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT FROM mortise.run
                              WHERE name = the_name AND (strays OR (attempt = me AND (over OR number = my_number))))
                THEN 'L' ELSE 'N' END;
  END IF;
  ignored := set_config('synchronous_commit', 'off', true);
  t := clock_timestamp();
  outcome := CASE WHEN l.attempt <> me OR l.number <> my_number THEN 'N'
                  WHEN l.expires_at = '-infinity' THEN 'A'
                  WHEN l.expires_at <= t THEN 'X'
                  ELSE 'F' END;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, (how >> 4) + 1, t);
    UPDATE mortise.run SET buried = l.buried WHERE name = the_name;
  END IF;
  ghost := over AND outcome = 'N' AND l.attempt = me AND my_number > 0 AND l.number > my_number AND l.expires_at > t;
  IF outcome IN ('F', 'X') OR ghost THEN
    UPDATE mortise.run SET expires_at = '-infinity' WHERE name = the_name;
    IF l.waiters_until > t THEN
      IF wakes THEN
        outcome := translate(outcome, 'FXN', 'TYM');
      ELSE
        PERFORM mortise.tell_run(the_name, t);
      END IF;
    END IF;
  END IF;
  RETURN outcome;
END
$function$;

CREATE OR REPLACE FUNCTION mortise.release_apart_run(
  the_name bytea, me bytea, my_number bigint, how bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN mortise.release_row_run(the_name, me, my_number, how);
END
$function$;

CREATE OR REPLACE FUNCTION mortise.wake_run(names bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  the_name bytea;
  ignored text;
BEGIN
  ignored := set_config('synchronous_commit', 'off', true);
  FOREACH the_name IN ARRAY names LOOP
    IF EXISTS (SELECT FROM mortise.run
                WHERE name = the_name AND expires_at <= t AND waiters_until > t) THEN
      PERFORM mortise.tell_run(the_name, t);
    END IF;
  END LOOP;
END
$function$;

-- What applications call in the plain case, as take.sql says.
CREATE OR REPLACE FUNCTION mortise.release(
  the_name pg_catalog.bytea, me pg_catalog.bytea, my_number bigint, how bigint) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
BEGIN
  UPDATE mortise.lock AS l SET expires_at = '-infinity'
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.attempt OPERATOR(pg_catalog.=) me AND l.number OPERATOR(pg_catalog.=) my_number
     AND l.expires_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
     AND l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin)
  RETURNING CASE WHEN pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL THEN 'F' END
       INTO answer;
  IF FOUND THEN RETURN answer; END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, pg_temp' THEN
    RETURN mortise.release_row(the_name, me, my_number, how);
  END IF;
  RETURN mortise.release_apart(the_name, me, my_number, how);
END
$function$;

-- Tells who waits for a name that it is free: the first of those who drew a ticket and still asks, or,
-- where nobody did, all. Writes nothing.
CREATE OR REPLACE FUNCTION mortise.tell(the_name bytea, t timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  first bytea;
  ignored text;
BEGIN
  SELECT attempt INTO first FROM mortise.ticket
   WHERE name = the_name AND contact >= t - interval '3 seconds' ORDER BY ticket LIMIT 1;
  IF NOT FOUND AND EXISTS (SELECT FROM mortise.ticket WHERE name = the_name) THEN RETURN; END IF;
  -- Of this transaction only: its commit waits for those of all others that notify, in any database.
  ignored := set_config('lock_timeout', '0', true);
  -- By a channel of the client's own, whose number is in the first 16 bytes; or by everybody's.
  PERFORM pg_notify(CASE WHEN first IS NULL THEN 'mortise'
                         ELSE 'mortise_' || left(encode(first, 'hex'), 32) END,
                    encode(the_name, 'hex') || coalesce(' ' || encode(first, 'hex'), ''));
END
$function$;

-- Moves the ends of holds, all in one statement. Each is checked for attempt and number, and for its
-- end by the clock, after its row was locked: a hold that has lapsed does not come back. Rows are
-- locked in the order of their names, and those that somebody else has locked are passed over.
--
-- Returns  for each hold  1 renewed    0 not this hold's any more    ? the row was locked
CREATE OR REPLACE FUNCTION mortise.renew(
  names bytea[], attempts bytea[], numbers bigint[], leases bigint[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answers text;
BEGIN
  PERFORM mortise.promise();
  WITH asked AS (
    SELECT * FROM unnest(names, attempts, numbers, leases)
             WITH ORDINALITY AS a(name, attempt, number, lease, place)
  ), picked AS (
    SELECT l.name, a.place, a.lease
      FROM asked AS a JOIN mortise.lock AS l USING (name, attempt, number)
     WHERE l.expires_at > clock_timestamp()
     ORDER BY l.name FOR NO KEY UPDATE OF l SKIP LOCKED
  ), renewed AS (
    UPDATE mortise.lock AS l
       SET lease = p.lease, expires_at = clock_timestamp() + p.lease * interval '1 microsecond'
      FROM picked AS p
     WHERE l.name = p.name AND l.expires_at > clock_timestamp()
    RETURNING p.place
  )
  SELECT string_agg(CASE WHEN r.place IS NOT NULL THEN '1'
                         WHEN l.expires_at > clock_timestamp() THEN '?'
                         ELSE '0' END, '' ORDER BY a.place)
    INTO answers
    FROM asked AS a
    LEFT JOIN renewed AS r USING (place)
    LEFT JOIN mortise.lock AS l USING (name, attempt, number);
  RETURN answers;
END
$function$;

-- The same for the keys of Once: see once_tables.sql.
CREATE OR REPLACE FUNCTION mortise.renew_run(
  names bytea[], attempts bytea[], numbers bigint[], leases bigint[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answers text;
BEGIN
  PERFORM mortise.promise();
  WITH asked AS (
    SELECT * FROM unnest(names, attempts, numbers, leases)
             WITH ORDINALITY AS a(name, attempt, number, lease, place)
  ), picked AS (
    SELECT l.name, a.place, a.lease
      FROM asked AS a JOIN mortise.run AS l USING (name, attempt, number)
     WHERE l.expires_at > clock_timestamp()
     ORDER BY l.name FOR NO KEY UPDATE OF l SKIP LOCKED
  ), renewed AS (
    UPDATE mortise.run AS l
       SET lease = p.lease, expires_at = clock_timestamp() + p.lease * interval '1 microsecond'
      FROM picked AS p
     WHERE l.name = p.name AND l.expires_at > clock_timestamp()
    RETURNING p.place
  )
  SELECT string_agg(CASE WHEN r.place IS NOT NULL THEN '1'
                         WHEN l.expires_at > clock_timestamp() THEN '?'
                         ELSE '0' END, '' ORDER BY a.place)
    INTO answers
    FROM asked AS a
    LEFT JOIN renewed AS r USING (place)
    LEFT JOIN mortise.run AS l USING (name, attempt, number);
  RETURN answers;
END
$function$;

-- Takes an attempt back. The answer is that nothing of it is left, or that it is the owner: then it was
-- too late. Safe to repeat. `how` as in take(), + 1 where the caller calls wake() if it is told to.
--
-- Returns  G <number> <age> <lease>  it is the owner    B  nothing is left    L  ask again soon
--          W  as B, and somebody else may wait for what is free
CREATE OR REPLACE FUNCTION mortise.cancel(the_name bytea, me bytea, how bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  strays constant boolean := (how & 4) <> 0;
  wakes constant boolean := (how & 1) <> 0;
  next_one boolean := false;
  l mortise.lock%ROWTYPE;
  t timestamptz;
  ignored text;
BEGIN
  -- A ticket that a crash brings back ends by itself, and of what was sent before it nothing comes any more. The
  -- row would be locked until all that was on disk.
  ignored := set_config('synchronous_commit', 'off', true);
  SELECT * INTO l FROM mortise.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM mortise.lock WHERE name = the_name) THEN RETURN 'L'; END IF;
  t := clock_timestamp();
  IF l.name IS NULL THEN
    IF NOT strays THEN RETURN 'B'; END IF;
    -- A grave needs a row.
    IF NOT pg_try_advisory_xact_lock(hashtextextended(encode(the_name, 'hex'), 7077)) THEN
      RETURN 'L';
    END IF;
    INSERT INTO mortise.lock (name, number, attempt, lease, expires_at, label, buried)
    VALUES (the_name, 0, '', 0, '-infinity', '', mortise.bury(NULL, me, (how >> 4) + 1, t))
    ON CONFLICT (name) DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'B' ELSE 'L' END;
  END IF;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, (how >> 4) + 1, t);
    UPDATE mortise.lock SET buried = l.buried WHERE name = the_name;
  END IF;
  DELETE FROM mortise.ticket WHERE name = the_name AND attempt = me;
  -- It may have been told of a free lock that the next one waits for.
  IF FOUND AND l.expires_at <= t THEN
    next_one := wakes;
    IF NOT wakes THEN PERFORM mortise.tell(the_name, t); END IF;
  END IF;
  IF l.attempt = me AND l.expires_at > t THEN
    PERFORM mortise.promise();
    RETURN 'G ' || l.number || ' '
           || l.lease - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || l.lease;
  END IF;
  RETURN CASE WHEN next_one THEN 'W' ELSE 'B' END;
END
$function$;

-- The same for the keys of Once: see once_tables.sql.
CREATE OR REPLACE FUNCTION mortise.cancel_run(the_name bytea, me bytea, how bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  strays constant boolean := (how & 4) <> 0;
  wakes constant boolean := (how & 1) <> 0;
  next_one boolean := false;
  l mortise.run%ROWTYPE;
  t timestamptz;
  ignored text;
BEGIN
  -- A ticket that a crash brings back ends by itself, and of what was sent before it nothing comes any more. The
  -- row would be locked until all that was on disk.
  ignored := set_config('synchronous_commit', 'off', true);
  SELECT * INTO l FROM mortise.run WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM mortise.run WHERE name = the_name) THEN RETURN 'L'; END IF;
  t := clock_timestamp();
  IF l.name IS NULL THEN
    IF NOT strays THEN RETURN 'B'; END IF;
    -- A grave needs a row.
    IF NOT pg_try_advisory_xact_lock(hashtextextended(encode(the_name, 'hex'), 7078)) THEN
      RETURN 'L';
    END IF;
    INSERT INTO mortise.run (name, number, attempt, lease, expires_at, label, buried)
    VALUES (the_name, (SELECT max(number) FROM mortise.run_floor), '', 0, '-infinity', '', mortise.bury(NULL, me, (how >> 4) + 1, t))
    ON CONFLICT (name) DO NOTHING;
    RETURN CASE WHEN FOUND THEN 'B' ELSE 'L' END;
  END IF;
  IF strays THEN
    l.buried := mortise.bury(l.buried, me, (how >> 4) + 1, t);
    UPDATE mortise.run SET buried = l.buried WHERE name = the_name;
  END IF;
  DELETE FROM mortise.run_ticket WHERE name = the_name AND attempt = me;
  -- It may have been told of a free lock that the next one waits for.
  IF FOUND AND l.expires_at <= t THEN
    next_one := wakes;
    IF NOT wakes THEN PERFORM mortise.tell_run(the_name, t); END IF;
  END IF;
  IF l.attempt = me AND l.expires_at > t THEN
    PERFORM mortise.promise();
    RETURN 'G ' || l.number || ' '
           || l.lease - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || l.lease;
  END IF;
  RETURN CASE WHEN next_one THEN 'W' ELSE 'B' END;
END
$function$;

-- For users' own transactions: holds the owner's row with FOR KEY SHARE until their end, so that nobody
-- takes the name over before; the owner's renewals and its release go on meanwhile. A hold that has
-- lapsed, or that another one has followed, gives false, or, at repeatable read and above, error 40001.
CREATE OR REPLACE FUNCTION mortise.guard(the_name bytea, my_number bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  ends timestamptz;
BEGIN
  IF (SELECT relpersistence FROM pg_class WHERE oid = 'mortise.lock'::regclass) <> 'p' THEN
    RAISE EXCEPTION 'the table of locks is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT expires_at INTO ends FROM mortise.lock
   WHERE name = the_name AND number = my_number AND expires_at > clock_timestamp() FOR KEY SHARE;
  -- The lock may have been waited for.
  RETURN FOUND AND ends > clock_timestamp();
END
$function$;

-- For users' own transactions: takes the name until their end by its row, if no lease lives, and waits
-- for other transactions that have it up to so many milliseconds. A row of a living lease is not kept
-- locked, since its owner renews it: the inner block is rolled back then. The number changes, so that
-- at repeatable read and above whoever waited with an older snapshot gets error 40001.
--
-- Returns  T  taken    H  somebody holds it by a lease    B  another transaction had it all the time
CREATE OR REPLACE FUNCTION mortise.lock_in(the_name bytea, wait integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  ends timestamptz;
  before text := current_setting('lock_timeout');
  ignored text;
BEGIN
  IF (SELECT relpersistence FROM pg_class WHERE oid = 'mortise.lock'::regclass) <> 'p' THEN
    RAISE EXCEPTION 'the table of locks is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT expires_at INTO ends FROM mortise.lock WHERE name = the_name;
  IF ends > clock_timestamp() AND current_setting('transaction_isolation') = 'read committed' THEN
    RETURN 'H';
  END IF;
  BEGIN
    IF ends > clock_timestamp() THEN
      -- An older snapshot would see this lease for ever: error 40001 where the row has changed since.
      PERFORM FROM mortise.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
      RAISE EXCEPTION 'held by a lease' USING ERRCODE = 'MO001';
    END IF;
    ignored := set_config('lock_timeout', greatest(wait, 1) || 'ms', true);
    IF ends IS NULL THEN
      PERFORM pg_advisory_xact_lock(hashtextextended(encode(the_name, 'hex'), 7077));
      INSERT INTO mortise.lock (name, number, attempt, lease, expires_at, label)
      VALUES (the_name, 0, '', 0, '-infinity', '') ON CONFLICT (name) DO NOTHING;
    END IF;
    SELECT expires_at INTO ends FROM mortise.lock WHERE name = the_name FOR UPDATE;
    IF ends > clock_timestamp() THEN
      RAISE EXCEPTION 'held by a lease' USING ERRCODE = 'MO001';
    END IF;
    UPDATE mortise.lock
       SET number = greatest(number + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
     WHERE name = the_name;
    ignored := set_config('lock_timeout', before, true);
  EXCEPTION
    WHEN lock_not_available THEN RETURN 'B';
    WHEN SQLSTATE 'MO001' THEN RETURN 'H';
  END;
  RETURN 'T';
END
$function$;

-- For administrators; applications have no right to it. Ends a hold, whoever has it: its next renewal and
-- its release find nothing, its guard() fails from now on, and every later number is larger. A
-- transaction that has a guard() already still commits, and nobody takes the name over before. On disk
-- before it is told.
--
-- `of_number`: the hold with this number and no other, so that it may be said again where the answer was
-- lost, and may come late, when the next one has the lock. Whoever says that calls wake() then, for what
-- release.sql says of NOTIFY. Without it: whichever hold there is, and those who wait are told here, as those
-- expect who call it by hand, and the clients of version 3.
--
-- Returns  who held it, as inspect.sql does; no row where nobody did; error 55P03 while the row is locked
CREATE OR REPLACE FUNCTION mortise.force_release(the_name bytea, of_number bigint DEFAULT NULL)
RETURNS TABLE (its_number bigint, its_end timestamptz, its_label bytea, at timestamptz, waiters bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  l record;
  t timestamptz;
BEGIN
  PERFORM mortise.promise();
  SELECT number, expires_at, label, waiters_until INTO l
    FROM mortise.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM mortise.lock WHERE name = the_name) THEN
      RAISE EXCEPTION 'another transaction has the row of the lock' USING ERRCODE = '55P03';
    END IF;
    RETURN;
  END IF;
  t := clock_timestamp();
  IF l.expires_at <= t OR (of_number IS NOT NULL AND l.number <> of_number) THEN RETURN; END IF;
  UPDATE mortise.lock SET expires_at = '-infinity' WHERE name = the_name;
  IF of_number IS NULL AND l.waiters_until > t THEN PERFORM mortise.tell(the_name, t); END IF;
  RETURN QUERY SELECT l.number, l.expires_at, l.label, t,
    (SELECT count(*) FROM mortise.ticket WHERE name = the_name AND contact > t - interval '3 seconds');
END
$function$;

-- The rule of who runs a key, who waits and who is told, as core::judge() says it.
--
-- Returns  0 it is absent: the first run    + one more run    W somebody runs it    R the record is the answer
--          M it is remembered for another request
CREATE OR REPLACE FUNCTION mortise.judge(
  state "char", kept boolean, held boolean, of_record bytea, of_request bytea, repeats bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN state = '-' OR NOT (kept OR held) THEN '0'
              WHEN of_record <> of_request THEN 'M'
              WHEN held THEN 'W'
              WHEN (state = 'Y' AND repeats <> 2) OR (state = 'F' AND repeats = 1) THEN 'R'
              ELSE '+' END
$function$;

-- Verdict and take in one: makes an attempt the runner of a key, has it wait, or tells it what is remembered.
-- Arguments, and answers in words, are those of take(); `repeats` as Repeat: 0 after failure, 1 never,
-- 2 always; `keeps` in microseconds.
--
-- Returns  G <number> <age> <lease> <run>  it is the runner
--          Q A B L R                       as take_row() says
--          what told() makes               nothing is to be run, or nothing can be
CREATE OR REPLACE FUNCTION mortise.begin_key(
  the_key bytea, me bytea, for_lease bigint, for_label bytea, how bigint,
  of_request bytea, repeats bigint, keeps bigint) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  strays constant boolean := (how & 4) <> 0;
  fair constant boolean := (how & 2) <> 0;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  o record;
  has boolean := false;
  lives boolean;
  queues boolean;
  verdict text;
  answer text;
  t timestamptz;
  n bigint;
  its_run bigint := 1;
  ignored text;
BEGIN
  -- What ends without a run takes nothing. Both rows by one snapshot: a statement later the key may have been
  -- forgotten and be run again, and that runner would keep what it knows nothing of.
  SELECT k.*, l.expires_at INTO o
    FROM mortise.once AS k LEFT JOIN mortise.run AS l ON l.name = k.key WHERE k.key = the_key;
  IF FOUND THEN
    t := clock_timestamp();
    -- Whoever has concluded it in a transaction of its own may have the key for a moment yet; so long it is kept.
    has := coalesce(o.expires_at > t, false);
    lives := o.state = 'P' AND has;
    verdict := mortise.judge(o.state, o.kept_until > t OR has, lives, o.fingerprint, of_request, repeats);
    IF verdict IN ('M', 'R') THEN
      queues := fair AND EXISTS (SELECT FROM mortise.run_ticket WHERE name = the_key AND attempt = me);
      IF strays OR queues THEN
        -- As in take_row(): all who waited come at once, and none of this need survive a crash.
        IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
        PERFORM FROM mortise.run WHERE name = the_key FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND AND EXISTS (SELECT FROM mortise.run WHERE name = the_key) THEN
          RETURN textsend('L');
        END IF;
        IF strays THEN
          UPDATE mortise.run SET buried = mortise.bury(buried, me, how >> 4, t) WHERE name = the_key;
        END IF;
        IF queues THEN DELETE FROM mortise.run_ticket WHERE name = the_key AND attempt = me; END IF;
      END IF;
      RETURN mortise.told(o.state, lives, o.run, o.number, o.fingerprint,
                           CASE verdict WHEN 'R' THEN o.bytes ELSE '' END);
    END IF;
  END IF;

  answer := mortise.take_row_run(the_key, me, for_lease, for_label,
                                  CASE verdict WHEN 'W' THEN how | 8 ELSE how END);
  IF answer LIKE 'G%' THEN
    RETURN textsend(answer || ' ' || (SELECT run FROM mortise.once WHERE key = the_key));
  ELSIF answer !~ '^[0-9]' THEN
    RETURN textsend(answer);
  END IF;
  n := answer::bigint;

  -- It may have been concluded since it was looked at.
  SELECT * INTO o FROM mortise.once WHERE key = the_key FOR NO KEY UPDATE SKIP LOCKED;
  IF FOUND THEN
    t := clock_timestamp();
    verdict := mortise.judge(o.state, o.kept_until > t, false, o.fingerprint, of_request, repeats);
    IF verdict IN ('M', 'R') THEN
      UPDATE mortise.run SET expires_at = '-infinity' WHERE name = the_key;
      RETURN mortise.told(o.state, false, o.run, o.number, o.fingerprint,
                           CASE verdict WHEN 'R' THEN o.bytes ELSE '' END);
    END IF;
    IF verdict = '+' THEN its_run := o.run + 1; END IF;
    UPDATE mortise.once
       SET state = 'P', run = its_run, number = n, fingerprint = of_request, bytes = '',
           kept_until = t + keeps * interval '1 microsecond'
     WHERE key = the_key;
  ELSE
    t := clock_timestamp();
    IF NOT EXISTS (SELECT FROM mortise.once WHERE key = the_key) THEN
      INSERT INTO mortise.once (key, state, run, number, fingerprint, bytes, kept_until)
      VALUES (the_key, 'P', 1, n, of_request, '', t + keeps * interval '1 microsecond')
      ON CONFLICT (key) DO NOTHING;
    END IF;
    IF NOT FOUND THEN
      UPDATE mortise.run SET expires_at = '-infinity' WHERE name = the_key;
      RETURN textsend('L');
    END IF;
    PERFORM mortise.sweep_on(t);  -- one comes, some go
  END IF;
  RETURN textsend('G ' || n || ' 0 ' || for_lease || ' ' || its_run);
END
$function$;

-- Takes back an attempt to run a key: see cancel(). The runner is told the number of its run, too.
CREATE OR REPLACE FUNCTION mortise.cancel_key(the_key bytea, me bytea, how bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answer text;
BEGIN
  answer := mortise.cancel_run(the_key, me, how);
  IF answer LIKE 'G%' THEN
    RETURN answer || ' ' || (SELECT run FROM mortise.once WHERE key = the_key);
  END IF;
  -- A grave without a record would stay for ever.
  IF (how & 4) <> 0 AND answer <> 'L' THEN
    INSERT INTO mortise.once (key, state, run, number, fingerprint, bytes, kept_until)
    SELECT the_key, '-', 0, 0, '', '', clock_timestamp()
     WHERE NOT EXISTS (SELECT FROM mortise.once WHERE key = the_key)
    ON CONFLICT (key) DO NOTHING;
  END IF;
  RETURN answer;
END
$function$;


-- Frees exactly one hold of a key, and writes what became of its run, in one step; on disk before it is told.
-- Arguments as of release(), and `how` + 8 where its runner's own transaction has recorded that: it is not
-- written then, it stands or it does not. Said again, it finds its own record, known by number, state and bytes:
-- nobody is told other bytes than those that stand. Another one is that of its runner's own transaction.
--
-- Returns  as release_row(), of which  F T A  it stands recorded    X Y  nothing is    L  ask again soon
--          N M  neither the hold nor its record is there    S U  as F and T: but another outcome stands
CREATE OR REPLACE FUNCTION mortise.conclude_key(
  the_key bytea, me bytea, my_number bigint, how bigint,
  succeeds boolean, its_bytes bytea, keeps bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  becomes constant "char" := CASE WHEN succeeds THEN 'Y' ELSE 'F' END;
  confirms constant boolean := (how & 8) <> 0;
  o record;
  answer text;
  mine boolean;
BEGIN
  -- A transaction of the user's own may be about to conclude it.
  SELECT k.state, k.number, k.bytes, l.waiters_until > '-infinity' AS waited INTO o
    FROM mortise.once AS k LEFT JOIN mortise.run AS l ON l.name = k.key
   WHERE k.key = the_key FOR NO KEY UPDATE OF k SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM mortise.once WHERE key = the_key) THEN RETURN 'L'; END IF;
  mine := coalesce(o.number = my_number, false);
  answer := mortise.release_row_run(the_key, me, my_number, how);
  IF answer = 'L' THEN RETURN answer; END IF;
  PERFORM mortise.promise();
  -- Tickets of the dead: nobody may ever wait for this key again, whose take would remove them.
  IF o.waited AND answer NOT IN ('A', 'N') THEN
    DELETE FROM mortise.run_ticket
     WHERE name = the_key AND contact < clock_timestamp() - interval '3 seconds';
  END IF;
  IF mine AND o.state = 'P' THEN
    IF confirms THEN RETURN translate(answer, 'FTANM', 'XYXXY'); END IF;
    IF answer NOT IN ('F', 'T') THEN RETURN replace(answer, 'A', 'N'); END IF;
    UPDATE mortise.once
       SET state = becomes, bytes = its_bytes,
           kept_until = clock_timestamp() + keeps * interval '1 microsecond'
     WHERE key = the_key;
    RETURN answer;
  END IF;
  IF NOT mine OR o.state = '-' THEN RETURN translate(answer, 'FTAXY', 'NMNNM'); END IF;
  -- What the runner's own transaction has recorded is kept from now on, not from within that.
  IF answer NOT IN ('A', 'N') THEN
    UPDATE mortise.once SET kept_until = clock_timestamp() + keeps * interval '1 microsecond'
     WHERE key = the_key;
  END IF;
  -- The hold may be another one's already, who has found the record and taken nothing.
  IF o.state = becomes AND o.bytes = its_bytes THEN RETURN translate(answer, 'XYNM', 'FTAT'); END IF;
  RETURN translate(answer, 'FTAXYNM', 'SUSSUSU');
END
$function$;

-- For users' own transactions: writes what became of a run, together with whatever else the transaction does;
-- the key is freed by the library, afterwards. Nobody takes it over before the end of the transaction. A run
-- whose hold is over gives false, or, at repeatable read and above, error 40001. What others are told is on disk:
-- the transaction's commit waits for that, whatever the user's session has set.
--
-- Nobody knows when it will be committed. It is kept from the freeing, by conclude_key(); where nobody frees it, since
-- its runner died, from the end of the lease that the run has now.
CREATE OR REPLACE FUNCTION mortise.conclude_in(
  the_key bytea, me bytea, my_number bigint, succeeds boolean, its_bytes bytea, keeps bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $function$
DECLARE
  old constant boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
  l record;
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE relpersistence <> 'p'
                AND oid IN ('mortise.run'::regclass, 'mortise.once'::regclass)) THEN
    RAISE EXCEPTION 'a table of keys is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT attempt, expires_at INTO l
    FROM mortise.run WHERE name = the_key AND number = my_number FOR KEY SHARE;
  IF NOT FOUND THEN
    IF old AND NOT EXISTS (SELECT FROM mortise.run WHERE name = the_key AND number > my_number) THEN
      RAISE EXCEPTION 'the run is younger than the transaction, or forgotten' USING ERRCODE = '40001';
    END IF;
    RETURN false;
  END IF;
  IF l.attempt <> me OR l.expires_at = '-infinity' THEN RETURN false; END IF;
  IF l.expires_at <= clock_timestamp() THEN
    IF NOT old THEN RETURN false; END IF;
    -- Of an older snapshot that is no wonder: error 40001 where it was renewed since. Who came after it would
    -- have written its record, too. Whoever has the row renews it or looks at it, and waits for nobody.
    BEGIN
      PERFORM FROM mortise.run WHERE name = the_key FOR NO KEY UPDATE;
      RETURN false;
    EXCEPTION WHEN serialization_failure THEN NULL;
    END;
  END IF;
  UPDATE mortise.once
     SET state = CASE WHEN succeeds THEN 'Y' ELSE 'F' END, bytes = its_bytes,
         kept_until = greatest(clock_timestamp(), l.expires_at) + keeps * interval '1 microsecond'
   WHERE key = the_key AND number = my_number AND state = 'P';
  IF FOUND THEN
    PERFORM mortise.promise();
    RETURN true;
  END IF;
  IF EXISTS (SELECT FROM mortise.once WHERE key = the_key AND number = my_number AND state <> '-') THEN
    RAISE EXCEPTION 'the run is concluded already' USING ERRCODE = '55000';
  END IF;
  RETURN false;
END
$function$;

-- Tells who waits for a key that it is free. What was concluded concerns all of them, whether they draw tickets or
-- not; of a run that was given back only the first of those who drew one is told, as tell() does.
CREATE OR REPLACE FUNCTION mortise.tell_run(the_key bytea, t timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  words constant text := 'key ' || encode(the_key, 'hex');
  concluded constant boolean := EXISTS (SELECT FROM mortise.once WHERE key = the_key AND state <> 'P');
  first bytea;
  ignored text;
BEGIN
  ignored := set_config('lock_timeout', '0', true);
  SELECT attempt INTO first FROM mortise.run_ticket
   WHERE name = the_key AND contact >= t - interval '3 seconds' ORDER BY ticket LIMIT 1;
  IF concluded OR NOT FOUND THEN
    IF NOT concluded AND EXISTS (SELECT FROM mortise.run_ticket WHERE name = the_key) THEN RETURN; END IF;
    PERFORM pg_notify('mortise', words);
    PERFORM pg_notify('mortise_' || client, words)
       FROM (SELECT DISTINCT left(encode(attempt, 'hex'), 32) FROM mortise.run_ticket
              WHERE name = the_key AND contact >= t - interval '3 seconds') AS waiting(client);
  ELSE
    PERFORM pg_notify('mortise_' || left(encode(first, 'hex'), 32), words || ' ' || encode(first, 'hex'));
  END IF;
END
$function$;

-- Removes a few of the keys whose time is over; waits for nobody. A row that must stay for a while is not met
-- again before that. `since`: none whose time was over before is left.
CREATE OR REPLACE FUNCTION mortise.sweep_keys(since timestamptz DEFAULT '-infinity') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  o record;
  l record;
  its_place bigint;
  most bigint := 0;
BEGIN
  SELECT place INTO its_place FROM mortise.run_floor ORDER BY place FOR NO KEY UPDATE SKIP LOCKED LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  FOR o IN SELECT key FROM mortise.once WHERE kept_until >= since AND kept_until <= t
            ORDER BY kept_until LIMIT 16 FOR UPDATE SKIP LOCKED LOOP
    SELECT number, expires_at, buried INTO l FROM mortise.run WHERE name = o.key FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      CONTINUE WHEN EXISTS (SELECT FROM mortise.run WHERE name = o.key);
    ELSIF l.expires_at > t THEN
      -- As long as it is run; or, concluded by a transaction of the runner's own, not freed yet.
      UPDATE mortise.once SET kept_until = l.expires_at WHERE key = o.key;
      CONTINUE;
    ELSIF mortise.unbury(l.buried, t) IS NOT NULL THEN
      -- Late copies are told by its graves, for five minutes.
      UPDATE mortise.once
         SET kept_until = t + interval '5 minutes', bytes = '', state = '-' WHERE key = o.key;
      CONTINUE;
    END IF;
    most := greatest(most, l.number);
    DELETE FROM mortise.run_ticket WHERE name = o.key;
    DELETE FROM mortise.run WHERE name = o.key;
    DELETE FROM mortise.once WHERE key = o.key;
  END LOOP;
  -- A little more than that, and nothing that lies ahead of the clock, so that the next ones need not write, too.
  UPDATE mortise.run_floor
     SET number = greatest(most, least(most + 1000000, floor(extract(epoch FROM t) * 1000000)::bigint))
   WHERE place = its_place AND number < most;
END
$function$;

-- The same, if there are any. What was removed stays in the index until vacuum may clean it up, which an old
-- snapshot keeps it from: so a session remembers how far it has come, and nobody passes all that at each key. It
-- does so in a setting of its own, which writes nothing: until when that counts, and how far, in microseconds since
-- 1970. An end that comes to lie behind, by a transaction that took long or by a clock that was set back, is met
-- within a minute. The smallest is the first of the index, however the session plans.
CREATE OR REPLACE FUNCTION mortise.sweep_on(t timestamptz) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  moment constant bigint := extract(epoch FROM t) * 1000000;
  mark bigint[] := string_to_array(current_setting('mortise.swept', true), ' ')::bigint[];
  oldest timestamptz;
  ignored text;
BEGIN
  IF mark[1] BETWEEN moment AND moment + 60000000 THEN
    SELECT min(kept_until) INTO oldest FROM mortise.once
     WHERE kept_until >= 'epoch'::timestamptz + mark[2] * interval '1 microsecond';
  ELSE
    SELECT min(kept_until) INTO oldest FROM mortise.once;
    mark := ARRAY[moment + 60000000];
  END IF;
  mark[2] := extract(epoch FROM greatest(least(oldest, t), 'epoch')) * 1000000;
  ignored := set_config('mortise.swept', array_to_string(mark, ' '), false);
  IF oldest <= t THEN PERFORM mortise.sweep_keys(oldest); END IF;
END
$function$;

-- Forgets a key, unless somebody runs it, or it is not what was looked at: a copy that comes late must not forget
-- what came of a later run; nor, below zero, where the run was pending, what its own transaction has recorded
-- since. On disk before it is told. Its rows go with the next sweep.
--
-- Returns  what told() makes of it as it was found; '': it was absent; L: a row is locked, ask again soon
CREATE OR REPLACE FUNCTION mortise.forget_key(the_key bytea, its_number bigint) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  o record;
  has boolean;
  lives boolean;
  t timestamptz;
BEGIN
  PERFORM mortise.promise();
  SELECT expires_at INTO o FROM mortise.run WHERE name = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM mortise.run WHERE name = the_key) THEN RETURN textsend('L'); END IF;
  t := clock_timestamp();
  has := coalesce(o.expires_at > t, false);
  SELECT * INTO o FROM mortise.once WHERE key = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN textsend(CASE WHEN EXISTS (SELECT FROM mortise.once WHERE key = the_key) THEN 'L' ELSE '' END);
  END IF;
  lives := has AND o.state = 'P';
  IF o.state = '-' OR NOT (has OR o.kept_until > t) THEN RETURN ''; END IF;
  IF NOT lives AND o.number = (CASE o.state WHEN 'P' THEN -its_number ELSE its_number END) THEN
    UPDATE mortise.once SET state = '-', bytes = '', kept_until = t WHERE key = the_key;
  END IF;
  RETURN mortise.told(o.state, lives, o.run, o.number, o.fingerprint, o.bytes);
END
$function$;


-- Nobody may anything but the owner, and those who are granted it below: neither everybody, who may call a function
-- when it is made, nor whom ALTER DEFAULT PRIVILEGES has given it, who could change rows, or have a trigger of theirs
-- run with the owner's rights. Of what was there before somebody may have been granted the sight or the call on
-- purpose. What else the owner keeps in this schema is not ours to revoke: see the names in cmake/PostgresSql.cmake.
DO $revoke$
DECLARE
  place constant oid := 'mortise'::regnamespace;
  there constant oid[] := string_to_array(current_setting('mortise.there'), ' ')::oid[];
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class
                                  WHERE relnamespace = place AND relname IN ('lock', 'ticket', 'run', 'run_ticket', 'once', 'run_floor', 'once_keys'));
  -- Those that number the tickets.
  sequences constant oid[] := ARRAY(SELECT objid FROM pg_depend
                                     WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
                                       AND refobjid = ANY (tables) AND refobjsubid > 0 AND deptype = 'i');
  right_of_another text;
BEGIN
  FOR right_of_another IN
    SELECT privilege_type || ' ON ' || CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || c.oid::regclass
           || ' FROM ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class AS c, aclexplode(relacl)
     WHERE c.oid = ANY (tables || sequences) AND grantee <> relowner
       AND (grantee = 0 OR privilege_type <> 'SELECT' OR c.oid <> ALL (there))
    UNION ALL
    SELECT privilege_type || ' (' || quote_ident(attname) || ') ON ' || c.oid::regclass || ' FROM '
           || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid, aclexplode(attacl)
     WHERE c.oid = ANY (tables) AND grantee <> relowner AND privilege_type <> 'SELECT'
    UNION ALL
    SELECT 'EXECUTE ON FUNCTION ' || p.oid::regprocedure || ' FROM '
           || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_proc AS p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
     WHERE pronamespace = place AND proname IN ('schema_versions', 'schema_version', 'whereabouts', 'promise', 'unbury', 'bury', 'told', 'take_row', 'take_row_run', 'take_apart', 'take', 'release_row', 'release_apart', 'wake', 'release_row_run', 'release_apart_run', 'wake_run', 'release', 'tell', 'renew', 'renew_run', 'cancel', 'cancel_run', 'guard', 'lock_in', 'force_release', 'judge', 'begin_key', 'cancel_key', 'conclude_key', 'conclude_in', 'tell_run', 'sweep_keys', 'sweep_on', 'forget_key') AND grantee <> proowner
       AND (grantee = 0 OR p.oid <> ALL (there))
  LOOP
    EXECUTE 'REVOKE ' || right_of_another || ' CASCADE';
  END LOOP;
END
$revoke$;

-- Who had them before.
DO $grants$
DECLARE
  who regrole;
BEGIN
  FOR who IN SELECT application::oid
               FROM unnest(string_to_array(current_setting('mortise.applications'), ' ')) AS application LOOP
    EXECUTE 'GRANT USAGE ON SCHEMA mortise TO ' || who;
    EXECUTE 'GRANT SELECT ON mortise.lock, mortise.ticket, mortise.once, mortise.once_keys, mortise.run, mortise.run_ticket TO ' || who;
    EXECUTE 'GRANT EXECUTE ON FUNCTION mortise.schema_version(), mortise.schema_versions(), '
      'mortise.whereabouts(), mortise.take, mortise.take_apart, mortise.release, mortise.release_apart, '
      'mortise.wake, mortise.renew, mortise.cancel, mortise.guard, mortise.lock_in, mortise.told, '
      'mortise.begin_key, mortise.cancel_key, mortise.release_apart_run, mortise.wake_run, mortise.renew_run, '
      'mortise.conclude_key, mortise.conclude_in, mortise.forget_key TO ' || who;
  END LOOP;
  FOR who IN SELECT administrator::oid
               FROM unnest(string_to_array(current_setting('mortise.administrators'), ' ')) AS administrator LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION mortise.force_release TO ' || who;
  END LOOP;
END
$grants$;

-- The functions run with the rights of whoever runs this. So nothing in the schema may be anybody else's, nor
-- made by anybody else later: whoever may make schemas in the database could have made this one before. Looked
-- at twice: before anything is changed, and when all is there.
DO $trust$
DECLARE
  place constant oid := 'mortise'::regnamespace;
  me constant oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = place AND relname IN ('lock', 'ticket', 'run', 'run_ticket', 'once', 'run_floor'));
  found text;
BEGIN
  SELECT string_agg(what, ', ') INTO found FROM (
    SELECT 'the schema, of ' || nspowner::regrole FROM pg_namespace WHERE oid = place AND nspowner <> me
    UNION ALL
    SELECT 'a right to CREATE, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_namespace, aclexplode(nspacl)
     WHERE oid = place AND privilege_type = 'CREATE' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ', of ' || relowner::regrole FROM pg_class
     WHERE relnamespace = place AND relowner <> me
    UNION ALL
    SELECT oid::regprocedure || ', of ' || proowner::regrole FROM pg_proc
     WHERE pronamespace = place AND proowner <> me
    UNION ALL
    SELECT 'type ' || oid::regtype || ', of ' || typowner::regrole FROM pg_type
     WHERE typnamespace = place AND typowner <> me
    UNION ALL
    SELECT 'operator ' || oid::regoperator || ', of ' || oprowner::regrole FROM pg_operator
     WHERE oprnamespace = place AND oprowner <> me
    UNION ALL
    SELECT 'a right to TRIGGER, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class, aclexplode(relacl)
     WHERE oid = ANY (tables) AND privilege_type = 'TRIGGER' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ' is no plain table' FROM pg_class
     WHERE oid = ANY (tables) AND (relkind <> 'r' OR relispartition)
    UNION ALL
    SELECT 'trigger ' || quote_ident(tgname) FROM pg_trigger WHERE tgrelid = ANY (tables) AND NOT tgisinternal
    UNION ALL
    SELECT 'rule ' || quote_ident(rulename) FROM pg_rewrite WHERE ev_class = ANY (tables)
    UNION ALL
    SELECT 'policy ' || quote_ident(polname) FROM pg_policy WHERE polrelid = ANY (tables)
    UNION ALL
    SELECT inhrelid::regclass || ' inherits' FROM pg_inherits
     WHERE inhparent = ANY (tables) OR inhrelid = ANY (tables)
    UNION ALL
    SELECT indexrelid::regclass || ' computes' FROM pg_index
     WHERE indrelid = ANY (tables) AND (indexprs IS NOT NULL OR indpred IS NOT NULL)
  ) AS strange(what);
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'schema mortise is not only of %, who would run its code: %',
                    current_user, found USING ERRCODE = '42501';
  END IF;
END
$trust$;

-- What an application needs.
GRANT USAGE ON SCHEMA mortise TO shop;
GRANT SELECT ON mortise.lock, mortise.ticket, mortise.once, mortise.once_keys, mortise.run, mortise.run_ticket TO shop;
GRANT EXECUTE ON FUNCTION mortise.schema_version(), mortise.schema_versions(),
  mortise.whereabouts(), mortise.take, mortise.take_apart, mortise.release,
  mortise.release_apart, mortise.wake, mortise.renew, mortise.cancel, mortise.guard, mortise.lock_in,
  mortise.told, mortise.begin_key, mortise.cancel_key, mortise.release_apart_run, mortise.wake_run,
  mortise.renew_run, mortise.conclude_key, mortise.conclude_in, mortise.forget_key TO shop;

COMMIT;
