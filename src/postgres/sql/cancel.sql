-- Takes an attempt back. The answer is that nothing of it is left, or that it is the owner: then it was
-- too late. Safe to repeat. `in_doubt`: another request of the attempt may be under way. It may be inserting the row,
-- which no other transaction sees before its commit.
--
-- Returns  G <number> <age> <lease>  it is the owner    B  nothing is left    L  ask again soon
--          W  as B, and somebody else may wait for what is free: call wake()
CREATE OR REPLACE FUNCTION @schema@.cancel@of@(the_name bytea, me bytea, in_doubt boolean)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  next_one boolean := false;
  l @schema@.@lock@%ROWTYPE;
  s record;
  t timestamptz;
  ignored text;
BEGIN
  -- A ticket that a crash brings back ends by itself, and of what was sent before it nothing comes any more. The
  -- row would be locked until all that was on disk.
  ignored := set_config('synchronous_commit', 'off', true);
  SELECT * INTO l FROM @schema@.@lock@ WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM @schema@.@lock@ WHERE name = the_name) THEN RETURN 'L'; END IF;
  t := clock_timestamp();
  IF l.name IS NULL THEN
    RETURN CASE WHEN in_doubt AND @schema@.add_row@of@(the_name, '', 0, '', 'infinity') IS NULL THEN 'L' ELSE 'B' END;
  END IF;
  DELETE FROM @schema@.@ticket@ WHERE name = the_name AND attempt = me;
  -- It may have been told of a free lock that the next one waits for; or have kept readers out.
  next_one := FOUND AND (l.expires_at <= t OR (@shares@ AND l.lease <= 0));
  IF @shares@ AND l.lease = 0 THEN
    -- Without a ticket as well: see take_row(). Who waits besides says so again when it is told.
    UPDATE @schema@.@share@ SET expires_at = '-infinity'
     WHERE name = the_name AND attempt = '' AND label = me AND expires_at > t;
    next_one := next_one OR FOUND;
  END IF;
  IF @shares@ AND l.lease = 0 AND l.expires_at > t THEN
    SELECT attempt, number, lease, expires_at INTO s
      FROM @schema@.@share@ WHERE name = the_name AND attempt = me AND me <> '' AND expires_at > t;
    IF FOUND THEN
      l.attempt := s.attempt;
      l.number := s.number;
      l.lease := s.lease;
      l.expires_at := s.expires_at;
    END IF;
  END IF;
  IF l.attempt = me AND l.expires_at > t THEN
    PERFORM @schema@.promise();
    RETURN 'G ' || l.number || ' '
           || abs(l.lease) - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || abs(l.lease);
  END IF;
  RETURN CASE WHEN next_one THEN 'W' ELSE 'B' END;
END
$function$;
