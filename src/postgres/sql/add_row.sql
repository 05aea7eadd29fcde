-- Inserts the row of a name that has none. The caller then owns the name; with an empty attempt the row is free.
--
-- Another transaction may be inserting the same name: another first grant, or a user's transaction in lock_in(). INSERT
-- waits for the end of that transaction, so the wait is short. Nothing else may stand between a caller and a new name: an
-- advisory lock could be taken by every role that can connect.
--
-- Returns  the number of the row; NULL: another transaction has the name, ask again soon
CREATE OR REPLACE FUNCTION @schema@.add_row@of@(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, graves jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '10ms' AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  n constant bigint := @first_number@;
BEGIN
  INSERT INTO @schema@.@lock@ (name, number, attempt, lease, expires_at, label, buried)
  VALUES (the_name, n, me, for_lease,
          CASE WHEN me = '' THEN '-infinity' ELSE t + abs(for_lease) * interval '1 microsecond' END, for_label, graves)
  ON CONFLICT (name) DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- A row of this name may have come and gone since the number was drawn. Its numbers are at most the floor.
  IF n <= @floor@ THEN RAISE lock_not_available; END IF;
  RETURN n;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
  RETURN NULL;
END
$function$;
