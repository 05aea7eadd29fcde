-- Removes a few of the keys whose time is over; waits for nobody. A row that must stay for a while is not met
-- again before that. `since`: none whose time was over before is left.
CREATE OR REPLACE FUNCTION @schema@.sweep_keys(since timestamptz DEFAULT '-infinity') RETURNS void
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
  FOR o IN SELECT key FROM @schema@.once WHERE kept_until >= since AND kept_until <= t
            ORDER BY kept_until LIMIT 16 FOR UPDATE SKIP LOCKED LOOP
    SELECT number, expires_at INTO l FROM @schema@.run WHERE name = o.key FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      CONTINUE WHEN EXISTS (SELECT FROM @schema@.run WHERE name = o.key);
    ELSIF l.expires_at > t THEN
      -- As long as it is run; or, concluded by a transaction of the runner's own, not freed yet.
      UPDATE @schema@.once SET kept_until = l.expires_at WHERE key = o.key;
      CONTINUE;
    END IF;
    most := greatest(most, l.number);
    DELETE FROM @schema@.run_ticket WHERE name = o.key;
    DELETE FROM @schema@.run WHERE name = o.key;
    DELETE FROM @schema@.once WHERE key = o.key;
  END LOOP;
  -- A little more than that, and nothing that lies ahead of the clock, so that the next ones need not write, too.
  UPDATE @schema@.run_floor
     SET number = greatest(most, least(most + 1000000, floor(extract(epoch FROM t) * 1000000)::bigint))
   WHERE place = its_place AND number < most;
END
$function$;

-- The same, if there are any. What was removed stays in the index until vacuum may clean it up, which an old
-- snapshot keeps it from: so a session remembers how far it has come, and nobody passes all that at each key. It
-- does so in a setting of its own, which writes nothing: until when that counts, and how far, in microseconds since
-- 1970. An end that comes to lie behind, by a transaction that took long or by a clock that was set back, is met
-- within a minute. The smallest is the first of the index, however the session plans.
CREATE OR REPLACE FUNCTION @schema@.sweep_on(t timestamptz) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  moment constant bigint := extract(epoch FROM t) * 1000000;
  mark bigint[] := string_to_array(current_setting('@schema@.swept', true), ' ')::bigint[];
  oldest timestamptz;
  ignored text;
BEGIN
  IF mark[1] BETWEEN moment AND moment + 60000000 THEN
    SELECT min(kept_until) INTO oldest FROM @schema@.once
     WHERE kept_until >= 'epoch'::timestamptz + mark[2] * interval '1 microsecond';
  ELSE
    SELECT min(kept_until) INTO oldest FROM @schema@.once;
    mark := ARRAY[moment + 60000000];
  END IF;
  mark[2] := extract(epoch FROM greatest(least(oldest, t), 'epoch')) * 1000000;
  ignored := set_config('@schema@.swept', array_to_string(mark, ' '), false);
  IF oldest <= t THEN PERFORM @schema@.sweep_keys(oldest); END IF;
END
$function$;

-- Forgets a key, unless somebody runs it, or it is not what was looked at: a copy that comes late must not forget
-- what came of a later run; nor, below zero, where the run was pending, what its own transaction has recorded
-- since. On disk before it is told. Its rows go with the next sweep.
--
-- Returns  what told() makes of it as it was found; '': it was absent; L: a row is locked, ask again soon
CREATE OR REPLACE FUNCTION @schema@.forget_key(the_key bytea, its_number bigint) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  o record;
  has boolean;
  lives boolean;
  t timestamptz;
BEGIN
  PERFORM @schema@.promise();
  SELECT expires_at INTO o FROM @schema@.run WHERE name = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM @schema@.run WHERE name = the_key) THEN RETURN textsend('L'); END IF;
  t := clock_timestamp();
  has := coalesce(o.expires_at > t, false);
  SELECT * INTO o FROM @schema@.once WHERE key = the_key FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN textsend(CASE WHEN EXISTS (SELECT FROM @schema@.once WHERE key = the_key) THEN 'L' ELSE '' END);
  END IF;
  lives := has AND o.state = 'P';
  IF o.state = '-' OR NOT (has OR o.kept_until > t) THEN RETURN ''; END IF;
  IF NOT lives AND o.number = (CASE o.state WHEN 'P' THEN -its_number ELSE its_number END) THEN
    UPDATE @schema@.once SET state = '-', bytes = '', kept_until = t WHERE key = the_key;
  END IF;
  RETURN @schema@.told(o.state, lives, o.run, o.number, o.fingerprint, o.bytes);
END
$function$;

