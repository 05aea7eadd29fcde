-- Gives the only one who shares a name a row of its own, and the row that is nobody's.
CREATE OR REPLACE FUNCTION @schema@.spread@of@(the_name bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  -- Of whoever shared it before that one did.
  DELETE FROM @schema@.@share@ WHERE name = the_name;
  INSERT INTO @schema@.@share@ (name, attempt, number, lease, expires_at, label)
  SELECT name, attempt, number, -lease, expires_at, substr(label, @label_at@)
    FROM @schema@.@lock@ WHERE name = the_name
  UNION ALL SELECT name, '', number - 1, 0, '-infinity', '' FROM @schema@.@lock@ WHERE name = the_name;
  UPDATE @schema@.@lock@ SET attempt = '', lease = 0 WHERE name = the_name;
END
$function$;

-- Makes an attempt one of those who share a name, or has it wait. It is admitted where the name is free or shared by
-- others, and nobody waits before it who would keep it out: with tickets whoever wants the name alone and came before
-- it; without, whoever waits for that while it is shared, or writers would starve. A permit: as long as fewer than
-- `permits` are held, and fewer wait before it than are left. `beside`: an owner of the same client (empty: none),
-- whose hold does not exclude it; it becomes one of those who share the name.
--
-- `for_label` as take(); `how` and answers as take_row(); and
--          M <permits>   the semaphore has so many, and was asked for with another number
CREATE OR REPLACE FUNCTION @schema@.share_row@of@(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, how bigint, beside bytea,
  void_after timestamptz) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  waits constant boolean := (how & 1) <> 0;
  fair constant boolean := (how & 2) <> 0;
  permits constant bigint := CASE WHEN @gate@ THEN @schema@.permits_in(for_label) ELSE 0 END;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  l record;
  s record;
  t timestamptz;
  held boolean;
  guarded boolean := false;
  downgrades boolean := false;
  room bigint;
  ahead bigint := 0;
  mine bigint;
  n bigint;
  last bigint;
  answer text;
  ignored text;
BEGIN
  IF waits AND NOT fair AND NOT @gate@ AND beside = '' THEN
    answer := @schema@.waits_already(the_name, me);
    IF answer IS NOT NULL THEN RETURN answer; END IF;
  END IF;
  SELECT number, attempt, lease, expires_at, label, waiters_until INTO l
    FROM @schema@.@lock@ WHERE name = the_name FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM @schema@.@lock@ WHERE name = the_name) THEN
      IF clock_timestamp() > void_after THEN RETURN 'V'; END IF;
      n := @schema@.add_row@of@(the_name, me, -for_lease, for_label, void_after);
      IF n IS NULL THEN RETURN 'L'; END IF;
      PERFORM @schema@.promise();
      RETURN n;
    END IF;
    IF NOT waits THEN RETURN 'L'; END IF;
    -- A guard's transaction has it: nobody joins until its end, since the number is a key.
    SELECT number, attempt, lease, expires_at, label, waiters_until INTO l
      FROM @schema@.@lock@ WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 'L'; END IF;
    guarded := true;
  END IF;

  t := clock_timestamp();
  held := l.expires_at > t;
  IF t > void_after THEN RETURN 'V'; END IF;
  IF held AND l.lease <= 0 THEN
    IF l.lease = 0 THEN
      SELECT number, lease, expires_at INTO s
        FROM @schema@.@share@ WHERE name = the_name AND attempt = me AND expires_at > t;
    ELSE
      SELECT l.number, -l.lease AS lease, l.expires_at INTO s WHERE l.attempt = me;
    END IF;
    IF FOUND THEN
      PERFORM @schema@.promise();
      RETURN 'G ' || s.number || ' '
             || s.lease - round(extract(epoch FROM s.expires_at - t) * 1000000)::bigint || ' ' || s.lease;
    END IF;
  END IF;

  -- Those who have stopped asking.
  IF fair AND l.waiters_until > t THEN
    DELETE FROM @schema@.@ticket@ WHERE name = the_name AND contact < t - interval '3 seconds';
    SELECT min(ticket) INTO mine FROM @schema@.@ticket@ WHERE name = the_name AND attempt = me;
    SELECT count(*) INTO ahead FROM @schema@.@ticket@
     WHERE name = the_name AND (mine IS NULL OR ticket < mine) AND (permits > 0 OR NOT reads);
  END IF;
  IF permits > 0 THEN
    IF @schema@.permits_in(l.label) <> permits
       AND (held OR CASE WHEN fair THEN ahead > 0 ELSE l.waiters_until > t END) THEN
      RETURN 'M ' || @schema@.permits_in(l.label);
    END IF;
    room := permits;
    IF held AND l.lease < 0 THEN
      room := permits - 1;
    ELSIF held THEN
      room := permits - (SELECT count(*) FROM @schema@.@share@
                          WHERE name = the_name AND attempt <> '' AND expires_at > t);
    END IF;
  ELSE
    room := CASE WHEN held AND l.lease > 0 THEN 0 ELSE 1 END;
    IF held AND l.lease = 0 THEN
      IF EXISTS (SELECT FROM @schema@.@share@ WHERE name = the_name AND owns AND expires_at > t) THEN room := 0; END IF;
      IF NOT fair AND EXISTS (SELECT FROM @schema@.@share@
                               WHERE name = the_name AND attempt = '' AND expires_at > t) THEN ahead := 1; END IF;
    END IF;
    IF held AND beside <> '' THEN
      downgrades := CASE WHEN l.lease <> 0 THEN l.lease > 0 AND l.attempt = beside
                         ELSE EXISTS (SELECT FROM @schema@.@share@
                                       WHERE name = the_name AND attempt = beside AND owns AND expires_at > t) END;
    END IF;
  END IF;

  IF (downgrades OR ahead < room) AND NOT guarded THEN
    n := greatest(l.number + 1, floor(extract(epoch FROM t) * 1000000)::bigint);
    IF NOT held THEN
      UPDATE @schema@.@lock@
         SET number = n, attempt = me, lease = -for_lease, label = for_label,
             expires_at = t + for_lease * interval '1 microsecond'
       WHERE name = the_name;
    ELSE
      IF l.lease <> 0 THEN
        PERFORM @schema@.spread@of@(the_name);
        IF downgrades THEN
          UPDATE @schema@.@share@ SET lease = l.lease, label = l.label, owns = true
           WHERE name = the_name AND attempt = beside;
        END IF;
      ELSE
        -- The lapsed ones go.
        SELECT max(number) INTO last FROM @schema@.@share@
         WHERE name = the_name AND attempt <> '' AND expires_at <= t;
        IF last IS NOT NULL THEN
          DELETE FROM @schema@.@share@ WHERE name = the_name AND attempt <> '' AND expires_at <= t;
          UPDATE @schema@.@share@ SET number = greatest(number, last) WHERE name = the_name AND attempt = '';
        END IF;
      END IF;
      INSERT INTO @schema@.@share@ (name, attempt, number, lease, expires_at, label)
      VALUES (the_name, me, n, for_lease, t + for_lease * interval '1 microsecond', substr(for_label, @label_at@));
      UPDATE @schema@.@lock@
         SET number = n, label = for_label,
             expires_at = greatest(l.expires_at, t + for_lease * interval '1 microsecond')
       WHERE name = the_name;
    END IF;
    IF mine IS NOT NULL THEN DELETE FROM @schema@.@ticket@ WHERE name = the_name AND attempt = me; END IF;
    PERFORM @schema@.promise();
    RETURN n;
  END IF;

  -- As in take_row().
  IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
  IF waits THEN
    IF fair THEN
      UPDATE @schema@.@ticket@ SET contact = t WHERE name = the_name AND attempt = me;
      IF NOT FOUND THEN
        INSERT INTO @schema@.@ticket@ (name, attempt, contact, reads) VALUES (the_name, me, t, true);
      END IF;
    END IF;
    IF l.waiters_until < t + interval '5 seconds' THEN
      UPDATE @schema@.@lock@ SET waiters_until = t + interval '30 seconds' WHERE name = the_name;
    END IF;
  END IF;
  IF downgrades OR ahead < room THEN RETURN 'L'; END IF;  -- but for the guard
  IF NOT held OR (permits > 0 AND room > 0) THEN RETURN 'A'; END IF;
  -- A permit comes back with the first of their leases.
  IF permits > 0 AND l.lease = 0 THEN
    SELECT min(expires_at) INTO l.expires_at
      FROM @schema@.@share@ WHERE name = the_name AND attempt <> '' AND expires_at > t;
  END IF;
  RETURN CASE WHEN waits THEN 'Q' ELSE 'B' END || ' ' || l.number || ' '
         || round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' '
         || encode(CASE WHEN @gate@ THEN '\x01'::bytea || substr(l.label, @label_at@) ELSE l.label END, 'hex');
END
$function$;

-- Moves the ends of those who share names. Each by itself: otherwise as renew().
--
-- Returns  for each  1 renewed    W renewed, and somebody waits whom it keeps out    0 not this hold's any more
--                    ? the row was locked
CREATE OR REPLACE FUNCTION @schema@.renew_share@of@(
  names bytea[], attempts bytea[], numbers bigint[], leases bigint[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answers text := repeat('0', coalesce(cardinality(names), 0));
  one record;
  l record;
  t timestamptz;
  answer text;
BEGIN
  PERFORM @schema@.promise();
  FOR one IN SELECT * FROM unnest(names, attempts, numbers, leases)
                      WITH ORDINALITY AS a(name, attempt, number, lease, place) ORDER BY name, place LOOP
    answer := '0';
    SELECT attempt, number, lease, expires_at INTO l FROM @schema@.@lock@ WHERE name = one.name FOR NO KEY UPDATE SKIP LOCKED;
    IF FOUND THEN
      t := clock_timestamp();
      IF l.lease < 0 AND l.expires_at > t AND l.attempt = one.attempt AND l.number = one.number THEN
        UPDATE @schema@.@lock@ SET lease = -one.lease, expires_at = t + one.lease * interval '1 microsecond'
         WHERE name = one.name;
        answer := CASE WHEN EXISTS (SELECT FROM @schema@.@ticket@
                                     WHERE name = one.name AND contact >= t - interval '3 seconds')
                       THEN 'W' ELSE '1' END;
      ELSIF l.lease = 0 AND l.expires_at > t THEN
        UPDATE @schema@.@share@ SET lease = one.lease, expires_at = t + one.lease * interval '1 microsecond'
         WHERE name = one.name AND attempt = one.attempt AND number = one.number AND expires_at > t;
        IF FOUND THEN
          UPDATE @schema@.@lock@
             SET expires_at = (SELECT max(expires_at) FROM @schema@.@share@ WHERE name = one.name AND attempt <> '')
           WHERE name = one.name;
          answer := CASE WHEN EXISTS (SELECT FROM @schema@.@share@
                                       WHERE name = one.name AND attempt = '' AND expires_at > t)
                           OR EXISTS (SELECT FROM @schema@.@ticket@
                                       WHERE name = one.name AND contact >= t - interval '3 seconds')
                         THEN 'W' ELSE '1' END;
        END IF;
      END IF;
    ELSIF EXISTS (SELECT FROM @schema@.@lock@ AS k
                   WHERE name = one.name AND expires_at > clock_timestamp()
                     AND (attempt = one.attempt AND number = one.number
                          OR lease = 0 AND EXISTS (SELECT FROM @schema@.@share@ AS h
                                                    WHERE h.name = one.name AND h.attempt = one.attempt
                                                      AND h.number = one.number
                                                      AND h.expires_at > clock_timestamp()))) THEN
      answer := '?';
    END IF;
    answers := overlay(answers PLACING answer FROM one.place::integer FOR 1);
  END LOOP;
  RETURN answers;
END
$function$;

-- Tells who waits for a name that it is free, or free for those who share it: the first of those who drew a ticket
-- and still ask, and with a reader all who lead the queue with it; of those who wait for a permit as many as are left.
-- Where nobody drew a ticket, all. Writes nothing.
CREATE OR REPLACE FUNCTION @schema@.tell@of@(the_name bytea, t timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  words constant text := '@word@' || encode(the_name, 'hex');
  l record;
  one record;
  told bigint := 0;
  room bigint;
  ignored text;
BEGIN
  SELECT label, lease, expires_at > t AS held INTO l FROM @schema@.@lock@ WHERE name = the_name;
  IF @gate@ THEN room := @schema@.permits_in(l.label); END IF;
  IF l.held AND l.lease < 0 THEN
    room := room - 1;
  ELSIF room IS NOT NULL AND l.held THEN
    room := room - (SELECT count(*) FROM @schema@.@share@ WHERE name = the_name AND attempt <> '' AND expires_at > t);
  END IF;
  -- Of this transaction only: its commit waits for those of all others that notify, in any database.
  ignored := set_config('lock_timeout', '0', true);
  -- By a channel of the client's own, whose number is in the first 16 bytes; or by everybody's.
  FOR one IN SELECT attempt, reads FROM @schema@.@ticket@
              WHERE name = the_name AND contact >= t - interval '3 seconds' ORDER BY ticket LOOP
    EXIT WHEN told >= room OR (NOT one.reads AND (told > 0 OR l.held));
    told := told + 1;
    PERFORM pg_notify('mortise_' || left(encode(one.attempt, 'hex'), 32),
                      words || ' ' || encode(one.attempt, 'hex'));
    EXIT WHEN NOT one.reads;
  END LOOP;
  IF NOT EXISTS (SELECT FROM @schema@.@ticket@ WHERE name = the_name) THEN
    PERFORM pg_notify('@schema@', words);
  END IF;
END
$function$;
