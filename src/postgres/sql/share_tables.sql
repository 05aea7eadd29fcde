-- Who shares a name: the readers of a lock, and those who have a permit of a semaphore. Semaphores are names of
-- another space, `gate`, whose functions are those of `lock`, made once more (their names end in _gate).
--
-- The only one who shares a name has its row as an owner does, but for a `lease` below zero: so most holds cost what
-- an owner's does. Where a second one joins, both get rows here. As long as that is so, the name's row is held by all
-- of them: `lease` is 0, `expires_at` the latest of their ends, `number` the last that one of them has drawn, and
-- `attempt` empty. In both cases `label` is that of the last who came, behind a byte 1 and, of a semaphore, the number
-- of permits in 8 bytes. So who wants the name alone is refused, told and queued as ever, by statements that do not
-- read this table. Whoever changes it for a name has that row locked. What is here of a name that is not held, or held
-- by one, counts for nothing.
--
-- A row with an empty attempt is not one of them: its `number` is the largest that is known to have ended other than
-- by a release, or one before theirs; until `expires_at` somebody who draws no ticket waits to have the name alone,
-- whose attempt is in `label`.
CREATE TABLE IF NOT EXISTS @schema@.share (
  name       bytea       NOT NULL,
  attempt    bytea       NOT NULL,
  number     bigint      NOT NULL,
  lease      bigint      NOT NULL,
  expires_at timestamptz NOT NULL,
  label      bytea       NOT NULL,
  owns       boolean     NOT NULL DEFAULT false,  -- the owner, beside whose hold its own client reads
  PRIMARY KEY (name, attempt)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE IF NOT EXISTS @schema@.gate (LIKE @schema@.lock INCLUDING DEFAULTS, PRIMARY KEY (name))
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE IF NOT EXISTS @schema@.gate_ticket (
  name    bytea       NOT NULL,
  ticket  bigint      GENERATED ALWAYS AS IDENTITY,
  attempt bytea       NOT NULL,
  contact timestamptz NOT NULL,
  reads   boolean     NOT NULL DEFAULT false,
  PRIMARY KEY (name, ticket)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE IF NOT EXISTS @schema@.gate_share (LIKE @schema@.share INCLUDING DEFAULTS, PRIMARY KEY (name, attempt))
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- How many permits a row of `gate` has, by its label; nothing where it was never shared.
CREATE OR REPLACE FUNCTION @schema@.permits_in(its_label bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $function$
  SELECT ('x' || encode(nullif(substr(its_label, 2, 8), ''), 'hex'))::bit(64)::bigint
$function$;
