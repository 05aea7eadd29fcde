-- That an attempt waits is written already: it need not lock the row, which costs the server a write.
--
-- Returns  the answer Q of take_row(); NULL: that is not written, or the name is free or shared
CREATE OR REPLACE FUNCTION @schema@.waits_already@of@(the_name bytea, me bytea) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  t constant timestamptz := clock_timestamp();
BEGIN
  RETURN (SELECT 'Q ' || number || ' ' || round(extract(epoch FROM expires_at - t) * 1000000)::bigint || ' '
                 || encode(label, 'hex')
            FROM @schema@.@lock@
           WHERE name = the_name AND expires_at > t AND attempt <> me AND lease > 0
             AND waiters_until > t + interval '5 seconds');
END
$function$;

-- Makes an attempt the owner of a name, or has it wait. take() comes here if the plain case is not given.
--
-- A grant is on disk before it is reported: it shares its transaction with other calls of take() only.
--
-- `how` as take(); of a key + 16 where somebody was just seen to run it. A request that only comes to wait then does not
-- lock the row as one that takes it: a user's transaction that concludes the run, and is older, would get error 40001
-- for what the waiter writes there.
--
-- Returns  <number>                   it is the owner from now on, for the lease that it asked for
--          G <number> <age> <lease>   it is the owner, since <age> microseconds
--          Q   somebody else is; a release will tell
--          A   nobody is, but others come first
--          B   somebody else is    L   the row is locked: ask again soon    V   the request came after its moment
--          Q and B are followed by  <number> <left> <label>  of the owner: microseconds, hexadecimal digits; where
--          the name is shared, of the last who came, with a byte 1 in front of the label
CREATE OR REPLACE FUNCTION @schema@.take_row@of@(
  the_name bytea, me bytea, for_lease bigint, for_label bytea, how bigint, void_after timestamptz) RETURNS text
LANGUAGE plpgsql AS $function$
DECLARE
  waits constant boolean := (how & 1) <> 0;
  fair constant boolean := (how & 2) <> 0;
  only_waits constant boolean := @only_waits@;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  l record;
  s record;
  t timestamptz;
  free boolean;
  shared boolean;
  guarded boolean := false;
  first bytea;
  n bigint;
  answer text;
  ignored text;
BEGIN
  IF waits AND NOT fair THEN
    answer := @schema@.waits_already@of@(the_name, me);
    IF answer IS NOT NULL THEN RETURN answer; END IF;
  END IF;
  IF NOT only_waits THEN
    SELECT number, attempt, lease, expires_at, label, waiters_until INTO l
      FROM @schema@.@lock@ WHERE name = the_name FOR UPDATE SKIP LOCKED;
  END IF;
  IF only_waits OR NOT FOUND THEN
    IF NOT EXISTS (SELECT FROM @schema@.@lock@ WHERE name = the_name) THEN
      IF clock_timestamp() > void_after THEN RETURN 'V'; END IF;
      n := @schema@.add_row@of@(the_name, me, for_lease, for_label, void_after);
      IF n IS NULL THEN RETURN 'L'; END IF;
      PERFORM @schema@.promise();
      RETURN n;
    END IF;
    IF NOT waits THEN RETURN 'L'; END IF;
    -- Where only a transaction has it that guards the hold, or concludes the run, one can still wait there.
    SELECT number, attempt, lease, expires_at, label, waiters_until INTO l
      FROM @schema@.@lock@ WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 'L'; END IF;
    guarded := true;
  END IF;

  t := clock_timestamp();
  free := l.expires_at <= t;
  IF t > void_after THEN RETURN 'V'; END IF;
  IF NOT free AND l.attempt = me THEN
    -- That transaction's wait for a standby may have been ended: this one waits for both.
    PERFORM @schema@.promise();
    RETURN 'G ' || l.number || ' '
           || l.lease - round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || l.lease;
  END IF;
  shared := @shares@ AND NOT free AND l.lease <= 0;
  IF shared AND l.lease = 0 THEN
    -- An owner that reads as well is one of those who share the name.
    SELECT number, lease, expires_at INTO s
      FROM @schema@.@share@ WHERE name = the_name AND attempt = me AND expires_at > t;
    IF FOUND THEN
      PERFORM @schema@.promise();
      RETURN 'G ' || s.number || ' '
             || s.lease - round(extract(epoch FROM s.expires_at - t) * 1000000)::bigint || ' ' || s.lease;
    END IF;
  END IF;

  IF free AND fair AND l.waiters_until > t THEN
    DELETE FROM @schema@.@ticket@ WHERE name = the_name AND contact < t - interval '3 seconds';
    SELECT attempt INTO first FROM @schema@.@ticket@ WHERE name = the_name ORDER BY ticket LIMIT 1;
  END IF;
  IF free AND NOT guarded AND (first IS NULL OR first = me) THEN
    n := greatest(l.number + 1, floor(extract(epoch FROM t) * 1000000)::bigint);
    UPDATE @schema@.@lock@
       SET number = n, attempt = me, lease = for_lease, label = for_label,
           expires_at = t + for_lease * interval '1 microsecond'
     WHERE name = the_name;
    IF first = me THEN
      DELETE FROM @schema@.@ticket@ WHERE name = the_name AND attempt = me;
    END IF;
    PERFORM @schema@.promise();
    RETURN n;
  END IF;

  -- Nothing of what is left need survive a crash, and a row stays locked until its transaction is on disk: for
  -- whoever wants to free it, too. But what came before in this transaction may be a grant.
  IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
  IF waits THEN
    IF fair THEN
      UPDATE @schema@.@ticket@ SET contact = t WHERE name = the_name AND attempt = me;
      IF NOT FOUND THEN
        INSERT INTO @schema@.@ticket@ (name, attempt, contact) VALUES (the_name, me, t);
      END IF;
    ELSIF shared THEN
      -- Nobody joins those who share it, as long as it goes on asking.
      IF l.lease < 0 THEN PERFORM @schema@.spread@of@(the_name); END IF;
      UPDATE @schema@.@share@ SET expires_at = t + interval '3 seconds', label = me
       WHERE name = the_name AND attempt = '';
    END IF;
    IF l.waiters_until < t + interval '5 seconds' THEN
      UPDATE @schema@.@lock@ SET waiters_until = t + interval '30 seconds' WHERE name = the_name;
    END IF;
  END IF;
  IF free THEN RETURN CASE WHEN guarded THEN 'L' ELSE 'A' END; END IF;
  RETURN CASE WHEN waits THEN 'Q' ELSE 'B' END || ' ' || l.number || ' '
         || round(extract(epoch FROM l.expires_at - t) * 1000000)::bigint || ' ' || encode(l.label, 'hex');
END
$function$;
