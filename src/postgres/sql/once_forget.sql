-- Removes a few of the keys whose time is over; waits for nobody. A row that must stay for a while is not met
-- again before that.
CREATE OR REPLACE FUNCTION @schema@.sweep_keys() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
  o record;
  l record;
  its_place bigint;
  most bigint := 0;
BEGIN
  SELECT place INTO its_place FROM @schema@.run_floor ORDER BY place FOR NO KEY UPDATE SKIP LOCKED LIMIT 1;
  IF NOT FOUND THEN RETURN; END IF;
  FOR o IN SELECT key FROM @schema@.once WHERE kept_until <= t
            ORDER BY kept_until LIMIT 16 FOR UPDATE SKIP LOCKED LOOP
    SELECT number, expires_at, buried INTO l FROM @schema@.run WHERE name = o.key FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      CONTINUE WHEN EXISTS (SELECT FROM @schema@.run WHERE name = o.key);
    ELSIF l.expires_at > t THEN
      -- As long as it is run; or, concluded by a transaction of the runner's own, not freed yet.
      UPDATE @schema@.once
         SET kept_until = l.expires_at, bytes = '', state = CASE state WHEN 'P' THEN state ELSE '-' END
       WHERE key = o.key;
      CONTINUE;
    ELSIF @schema@.unbury(l.buried, t) IS NOT NULL THEN
      -- Late copies are told by its graves, for five minutes.
      UPDATE @schema@.once
         SET kept_until = t + interval '5 minutes', bytes = '', state = '-' WHERE key = o.key;
      CONTINUE;
    END IF;
    most := greatest(most, l.number);
    DELETE FROM @schema@.run_ticket WHERE name = o.key;
    DELETE FROM @schema@.run WHERE name = o.key;
    DELETE FROM @schema@.once WHERE key = o.key;
  END LOOP;
  UPDATE @schema@.run_floor SET number = most WHERE place = its_place AND number < most;
END
$function$;

-- Forgets a key, unless somebody runs it, or it is not the run that was looked at: a copy that comes late
-- must not forget what came of a later one. On disk before it is told. Its rows go with the next sweep.
--
-- Returns  what told() makes of it as it was found; '': it was absent; L: a row is locked, ask again soon
CREATE OR REPLACE FUNCTION @schema@.forget_key(the_key bytea, its_number bigint) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  o record;
  lives boolean;
  t timestamptz;
BEGIN
  PERFORM @schema@.promise();
  SELECT expires_at INTO o FROM @schema@.run WHERE name = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM @schema@.run WHERE name = the_key) THEN RETURN textsend('L'); END IF;
  t := clock_timestamp();
  lives := coalesce(o.expires_at > t, false);
  SELECT * INTO o FROM @schema@.once WHERE key = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN textsend(CASE WHEN EXISTS (SELECT FROM @schema@.once WHERE key = the_key) THEN 'L' ELSE '' END);
  END IF;
  lives := lives AND o.state = 'P';
  IF o.state = '-' OR NOT (lives OR o.kept_until > t) THEN RETURN ''; END IF;
  IF NOT lives AND o.number = its_number THEN
    UPDATE @schema@.once SET state = '-', bytes = '', kept_until = t WHERE key = the_key;
  END IF;
  RETURN @schema@.told(o.state, lives, o.run, o.number, o.fingerprint, o.bytes);
END
$function$;

