-- The keys of Once. Each has two rows. That of `run` is to a key what that of `lock` is to a name, and is
-- changed by the same functions, made for it a second time (their names end in _run): who runs it, by which
-- lease. That of `once` is what is remembered of it, and is written when a run begins and when it is
-- concluded, and at no other time: so renewals stay small, and a transaction of a user's that concludes a run
-- at repeatable read has no renewal in its way.
--
-- Invariants. Whoever writes a row of `once` has that of `run` locked, at least FOR KEY SHARE. Who has the
-- key, as `run` says, has begun it, as `once` says, in the same transaction. A key is absent that has no row,
-- whose state is '-', or whose time is over while nobody has it.
CREATE TABLE IF NOT EXISTS @schema@.run (LIKE @schema@.lock INCLUDING DEFAULTS, PRIMARY KEY (name))
  WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE IF NOT EXISTS @schema@.run_ticket (
  name    bytea       NOT NULL,
  ticket  bigint      GENERATED ALWAYS AS IDENTITY,
  attempt bytea       NOT NULL,
  contact timestamptz NOT NULL,
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE IF NOT EXISTS @schema@.once (
  key         bytea       PRIMARY KEY,   -- 1 to 512 bytes
  state       "char"      NOT NULL,      -- P pending, Y succeeded, F failed, - absent: see sweep_keys()
  run         bigint      NOT NULL,      -- number of the last run, from 1
  number      bigint      NOT NULL,      -- of that run's grant
  kept_until  timestamptz NOT NULL,      -- forgotten then, unless somebody runs it
  fingerprint bytea       NOT NULL,      -- of whoever began that run
  bytes       bytea       NOT NULL,      -- the result, or the reason; of a pending run: of the outcome before it
  stood_state  "char",                   -- the state before a run that is pending; null: no outcome stood
  stood_run    bigint,                   -- ... and what belongs to it: see release_key()
  stood_number bigint,
  stood_until  timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX IF NOT EXISTS once_kept_until ON @schema@.once (kept_until);

-- The largest number of a row that was removed, or one up to a second larger: later ones are larger, whatever the
-- clock says. Several rows, so that several may remove at once; the largest of them counts.
CREATE TABLE IF NOT EXISTS @schema@.run_floor (place bigint PRIMARY KEY, number bigint NOT NULL)
  WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0.05);
INSERT INTO @schema@.run_floor SELECT place, 0 FROM generate_series(1, 8) AS place
  ON CONFLICT (place) DO NOTHING;

-- What is told of a key, in one value: a byte 1; state; whether it is run; number of the run, and of its grant;
-- the fingerprint behind its length, and the bytes.
CREATE OR REPLACE FUNCTION @schema@.told(
  state "char", held boolean, run bigint, number bigint, fingerprint bytea, bytes bytea) RETURNS bytea
LANGUAGE sql STABLE AS $function$
  SELECT '\x01'::bytea || charsend(state) || boolsend(held) || int8send(run) || int8send(number)
         || int4send(octet_length(fingerprint)) || fingerprint || CASE state WHEN 'P' THEN '' ELSE bytes END
$function$;

-- For operators.
CREATE OR REPLACE VIEW @schema@.once_keys AS
SELECT encode(o.key, 'escape') AS key, o.state, o.run,
       clock_timestamp() - to_timestamp(o.number / 1000000.0) AS age,
       CASE WHEN l.expires_at > clock_timestamp() THEN encode(l.label, 'escape') END AS runner,
       CASE WHEN l.expires_at > clock_timestamp() THEN l.expires_at - clock_timestamp() END AS lease_left,
       o.kept_until, CASE o.state WHEN 'P' THEN 0 ELSE octet_length(o.bytes) END AS size
  FROM @schema@.once AS o LEFT JOIN @schema@.run AS l ON l.name = o.key
 WHERE o.state <> '-'
   AND (o.kept_until > clock_timestamp() OR l.expires_at > clock_timestamp());

