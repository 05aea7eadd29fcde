-- Ends the hold of a name with that number, or all of them if there is no number. The renewal and the release of the
-- owner find nothing, its guard() fails from now on, and every later number is larger. A transaction that has a guard()
-- already still commits, and no other client gets the name before that.
--
-- Who shared it stays until somebody joins, as those do who have lapsed: it is told from what was released.
CREATE OR REPLACE FUNCTION @schema@.expel@of@(the_name bytea, of_number bigint)
RETURNS TABLE (its_number bigint, its_end timestamptz, its_label bytea, at timestamptz, waiters bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  l record;
  t timestamptz;
  ends timestamptz := '-infinity';
BEGIN
  SELECT number, lease, expires_at, label, waiters_until INTO l
    FROM @schema@.@lock@ WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM @schema@.@lock@ WHERE name = the_name) THEN
      RAISE EXCEPTION 'another transaction has the row of the lock' USING ERRCODE = '55P03';
    END IF;
    RETURN;
  END IF;
  t := clock_timestamp();
  IF l.expires_at <= t OR (of_number IS NOT NULL AND l.lease <> 0 AND l.number <> of_number) THEN RETURN; END IF;
  IF l.lease = 0 THEN
    UPDATE @schema@.@share@ SET expires_at = t
     WHERE name = the_name AND attempt <> '' AND expires_at > t
       AND (of_number IS NULL OR number = of_number);
    IF NOT FOUND THEN RETURN; END IF;
    SELECT coalesce(max(expires_at), ends) INTO ends
      FROM @schema@.@share@ WHERE name = the_name AND attempt <> '' AND expires_at > t;
  END IF;
  UPDATE @schema@.@lock@ SET expires_at = ends WHERE name = the_name;
  IF of_number IS NULL AND l.waiters_until > t THEN PERFORM @schema@.tell@of@(the_name, t); END IF;
  RETURN QUERY SELECT l.number, l.expires_at, l.label, t,
    (SELECT count(*) FROM @schema@.@ticket@ WHERE name = the_name AND contact > t - interval '3 seconds');
END
$function$;
