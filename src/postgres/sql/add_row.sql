-- Inserts the row of a name that has none. The caller then owns the name; with an empty attempt the row is free.
--
-- Another transaction may be inserting the same name: another first grant, or a user's transaction in lock_in(). INSERT
-- waits for the end of that transaction, so the wait is short. Nothing else may stand between a caller and a new name: an
-- advisory lock could be taken by every role that can connect.
--
-- ON CONFLICT names no column. If it named one, the index of numbers would be no arbiter: of two transactions that insert
-- the same name and the same number in the same instant, one would get error 23505.
--
-- Returns  the number of the row; NULL: another transaction has the name, ask again soon
CREATE OR REPLACE FUNCTION @schema@.add_row@of@(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, void_after timestamptz) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '10ms' AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  n constant bigint := @first_number@;
  ignored text;
BEGIN
  -- Many calls may share a transaction: the names that are being inserted keep it little longer than one of them does.
  IF current_setting('@schema@.has_waited', true) = 'yes' THEN
    ignored := set_config('lock_timeout', '1ms', true);
  END IF;
  INSERT INTO @schema@.@lock@ (name, number, attempt, lease, expires_at, label)
  VALUES (the_name, n, me, for_lease,
          CASE WHEN me = '' THEN '-infinity' ELSE t + abs(for_lease) * interval '1 microsecond' END, for_label)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- A row of this name may have come and gone since the number was drawn. Its numbers are at most the floor. And the
  -- wait may have lasted beyond the moment of the request.
  IF n <= @floor@ OR clock_timestamp() > void_after THEN RAISE lock_not_available; END IF;
  RETURN n;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
  ignored := set_config('@schema@.has_waited', 'yes', true);
  RETURN NULL;
END
$function$;
