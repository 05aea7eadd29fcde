-- For administrators; applications have no right to it. Ends a hold, whoever has it: its next renewal and
-- its release find nothing, its guard() fails from now on, and every later number is larger. A
-- transaction that has a guard() already still commits, and nobody takes the name over before. On disk
-- before it is told. Of those who share a name it ends all that there are; with a number, all up to that one.
--
-- `of_number`: the hold with this number and no other, so that it may be said again where the answer was
-- lost, and may come late, when the next one has the lock. Whoever says that calls wake() then, for what
-- release.sql says of NOTIFY. Without it: whichever hold there is, and those who wait are told here, as those
-- expect who call it by hand, and the clients of version 3.
--
-- Returns  who held it, as inspect.sql does; no row where nobody did; error 55P03 while the row is locked
CREATE OR REPLACE FUNCTION @schema@.force_release(the_name bytea, of_number bigint DEFAULT NULL)
RETURNS TABLE (its_number bigint, its_end timestamptz, its_label bytea, at timestamptz, waiters bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  l record;
  t timestamptz;
  ends timestamptz := '-infinity';
BEGIN
  PERFORM @schema@.promise();
  SELECT number, lease, expires_at, label, waiters_until INTO l
    FROM @schema@.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    IF EXISTS (SELECT FROM @schema@.lock WHERE name = the_name) THEN
      RAISE EXCEPTION 'another transaction has the row of the lock' USING ERRCODE = '55P03';
    END IF;
    RETURN;
  END IF;
  t := clock_timestamp();
  IF l.expires_at <= t OR (of_number IS NOT NULL AND l.lease <> 0 AND l.number <> of_number) THEN RETURN; END IF;
  IF l.lease = 0 THEN
    IF NOT EXISTS (SELECT FROM @schema@.share
                    WHERE name = the_name AND attempt <> '' AND number <= coalesce(of_number, l.number)) THEN
      RETURN;
    END IF;
    UPDATE @schema@.share SET number = greatest(number, least(of_number, l.number))
     WHERE name = the_name AND attempt = '';
    DELETE FROM @schema@.share
     WHERE name = the_name AND attempt <> '' AND number <= coalesce(of_number, l.number);
    SELECT coalesce(max(expires_at), ends) INTO ends
      FROM @schema@.share WHERE name = the_name AND attempt <> '' AND expires_at > t;
  END IF;
  UPDATE @schema@.lock SET expires_at = ends WHERE name = the_name;
  IF of_number IS NULL AND l.waiters_until > t THEN PERFORM @schema@.tell(the_name, t); END IF;
  RETURN QUERY SELECT l.number, l.expires_at, l.label, t,
    (SELECT count(*) FROM @schema@.ticket WHERE name = the_name AND contact > t - interval '3 seconds');
END
$function$;
