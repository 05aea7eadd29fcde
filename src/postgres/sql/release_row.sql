-- Frees exactly one hold, or nothing. It need not be on disk when it is told: a crash brings the hold back
-- until its lease ends. So it shares a transaction with no grant and no renewal. Those who wait are told in
-- another one, by wake(), which the caller calls: a NOTIFY takes a lock of the whole server at commit, which
-- may be long in coming, and nobody's release depends on that.
--
-- Returns  F  freed    A  freed before    X  its lease had run out    N  not this hold's any more
--          L  the row is locked: ask again soon    T and Y  as F and X, and somebody may wait
CREATE OR REPLACE FUNCTION @schema@.release_row@of@(
  the_name bytea, me bytea, my_number bigint) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  l record;
  s record;
  t timestamptz;
  shared boolean;
  opens boolean := true;
  ends timestamptz := '-infinity';
  outcome text;
  ignored text;
BEGIN
  SELECT number, attempt, lease, expires_at, waiters_until INTO l
    FROM @schema@.@lock@ WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN CASE WHEN EXISTS (SELECT FROM @schema@.@lock@
                              WHERE name = the_name
                                AND ((@shares@ AND lease = 0) OR (attempt = me AND number = my_number)))
                THEN 'L' ELSE 'N' END;
  END IF;
  ignored := set_config('synchronous_commit', 'off', true);
  t := clock_timestamp();
  -- It is shared, or was last: the hold is one of several.
  shared := @shares@ AND l.lease = 0;
  IF shared THEN
    SELECT attempt, number, least(expires_at, l.expires_at) AS expires_at, owns INTO s
      FROM @schema@.@share@ WHERE name = the_name AND attempt = me AND me <> '';
    IF FOUND THEN
      l.attempt := me;
      l.expires_at := s.expires_at;
    ELSIF EXISTS (SELECT FROM @schema@.@share@ WHERE name = the_name AND attempt = '' AND number < my_number)
          AND my_number <= l.number THEN
      -- Who is not there any more, and has not lapsed, was released.
      l.attempt := me;
      l.expires_at := '-infinity';
      s.number := my_number;
    ELSE
      l.attempt := '';
      s.number := 0;
    END IF;
    l.number := s.number;
  END IF;
  outcome := CASE WHEN l.attempt <> me OR l.number <> my_number THEN 'N'
                  WHEN l.expires_at = '-infinity' THEN 'A'
                  WHEN l.expires_at <= t THEN 'X'
                  ELSE 'F' END;
  IF outcome IN ('F', 'X') THEN
    IF shared THEN
      -- What has lapsed stays until somebody joins: it is told from what was released.
      IF outcome <> 'X' THEN DELETE FROM @schema@.@share@ WHERE name = the_name AND attempt = me; END IF;
      SELECT coalesce(max(expires_at), ends) INTO ends
        FROM @schema@.@share@ WHERE name = the_name AND attempt <> '' AND expires_at > t;
      opens := @gate@ OR s.owns OR ends = '-infinity';
    END IF;
    UPDATE @schema@.@lock@ SET expires_at = ends WHERE name = the_name;
    IF opens AND l.waiters_until > t THEN outcome := translate(outcome, 'FX', 'TY'); END IF;
  END IF;
  RETURN outcome;
END
$function$;

-- Tells those who wait for these names, if they are free: where somebody else has one again, the release of
-- that hold does. Its commit waits for a lock of the whole server, and for nothing else.
CREATE OR REPLACE FUNCTION @schema@.wake@of@(names bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  the_name bytea;
  ignored text;
BEGIN
  ignored := set_config('synchronous_commit', 'off', true);
  FOREACH the_name IN ARRAY names LOOP
    IF EXISTS (SELECT FROM @schema@.@lock@
                WHERE name = the_name AND (expires_at <= t OR (@shares@ AND lease <= 0)) AND waiters_until > t) THEN
      PERFORM @schema@.tell@of@(the_name, t);
    END IF;
  END LOOP;
END
$function$;
