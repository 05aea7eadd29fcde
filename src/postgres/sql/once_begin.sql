-- The rule of who runs a key, who waits and who is told, as core::judge() says it.
--
-- Returns  0 it is absent: the first run    + one more run    W somebody runs it    R the record is the answer
--          M it is remembered for another request
CREATE OR REPLACE FUNCTION @schema@.judge(
  state "char", kept boolean, held boolean, of_record bytea, of_request bytea, repeats bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN state = '-' OR NOT (kept OR held) THEN '0'
              WHEN of_record <> of_request THEN 'M'
              WHEN held THEN 'W'
              WHEN (state = 'Y' AND repeats <> 2) OR (state = 'F' AND repeats = 1) THEN 'R'
              ELSE '+' END
$function$;

-- Verdict and take in one: makes an attempt the runner of a key, has it wait, or tells it what is remembered.
-- Arguments, and answers in words, are those of take_row(); `repeats` as Repeat: 0 after failure, 1 never,
-- 2 always; `keeps` in microseconds. The outcome of the run before it stays, until this one is concluded: see
-- release_key().
--
-- Returns  G <number> <age> <lease> <run>  it is the runner
--          Q A B L V                       as take_row() says
--          what told() makes               nothing is to be run, or nothing can be
CREATE OR REPLACE FUNCTION @schema@.begin_key(
  the_key bytea, me bytea, for_lease bigint, for_label bytea, how bigint,
  of_request bytea, repeats bigint, keeps bigint, void_after timestamptz) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  fair constant boolean := (how & 2) <> 0;
  shares constant boolean := txid_current_if_assigned() IS NOT NULL;
  o record;
  has boolean := false;
  lives boolean;
  queues boolean;
  verdict text;
  answer text;
  t timestamptz;
  n bigint;
  its_run bigint := 1;
  ignored text;
BEGIN
  -- What ends without a run takes nothing. Both rows by one snapshot: a statement later the key may have been
  -- forgotten and be run again, and that runner would keep what it knows nothing of.
  SELECT k.*, l.expires_at, l.attempt = me AND l.number = k.number AS is_mine INTO o
    FROM @schema@.once AS k LEFT JOIN @schema@.run AS l ON l.name = k.key WHERE k.key = the_key;
  IF FOUND THEN
    t := clock_timestamp();
    -- Whoever has concluded it in a transaction of its own may have the key for a moment yet; so long it is kept.
    has := coalesce(o.expires_at > t, false);
    lives := o.state = 'P' AND has;
    verdict := @schema@.judge(o.state, o.kept_until > t OR has, lives, o.fingerprint, of_request, repeats);
    -- An attempt runs a key once: this is a copy of a request whose run has an outcome.
    IF o.is_mine AND verdict = '+' AND o.state <> 'P' THEN verdict := 'R'; END IF;
    IF verdict IN ('M', 'R') THEN
      queues := fair AND EXISTS (SELECT FROM @schema@.run_ticket WHERE name = the_key AND attempt = me);
      IF queues THEN
        -- As in take_row(): all who waited come at once, and none of this need survive a crash.
        IF NOT shares THEN ignored := set_config('synchronous_commit', 'off', true); END IF;
        PERFORM FROM @schema@.run WHERE name = the_key FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND AND EXISTS (SELECT FROM @schema@.run WHERE name = the_key) THEN
          RETURN textsend('L');
        END IF;
        DELETE FROM @schema@.run_ticket WHERE name = the_key AND attempt = me;
      END IF;
      RETURN @schema@.told(o.state, lives, o.run, o.number, o.fingerprint,
                           CASE verdict WHEN 'R' THEN o.bytes ELSE '' END);
    END IF;
  END IF;

  answer := @schema@.take_row_run(the_key, me, for_lease, for_label,
                                  CASE verdict WHEN 'W' THEN how | 16 ELSE how END, void_after);
  IF answer LIKE 'G%' THEN
    RETURN textsend(answer || ' ' || (SELECT run FROM @schema@.once WHERE key = the_key));
  ELSIF answer !~ '^[0-9]' THEN
    RETURN textsend(answer);
  END IF;
  n := answer::bigint;

  -- It may have been concluded since it was looked at.
  SELECT * INTO o FROM @schema@.once WHERE key = the_key FOR NO KEY UPDATE SKIP LOCKED;
  IF FOUND THEN
    t := clock_timestamp();
    verdict := @schema@.judge(o.state, o.kept_until > t, false, o.fingerprint, of_request, repeats);
    IF verdict IN ('M', 'R') THEN
      UPDATE @schema@.run SET expires_at = '-infinity' WHERE name = the_key;
      RETURN @schema@.told(o.state, false, o.run, o.number, o.fingerprint,
                           CASE verdict WHEN 'R' THEN o.bytes ELSE '' END);
    END IF;
    IF verdict = '+' THEN its_run := o.run + 1; END IF;
    UPDATE @schema@.once
       SET state = 'P', run = its_run, number = n, fingerprint = of_request,
           kept_until = t + keeps * interval '1 microsecond',
           stood_state = CASE WHEN verdict = '+' AND o.state <> 'P' THEN o.state END,
           stood_run = o.run, stood_number = o.number, stood_until = o.kept_until,
           bytes = CASE WHEN verdict = '+' AND o.state <> 'P' THEN o.bytes ELSE '' END
     WHERE key = the_key;
  ELSE
    t := clock_timestamp();
    IF NOT EXISTS (SELECT FROM @schema@.once WHERE key = the_key) THEN
      INSERT INTO @schema@.once (key, state, run, number, fingerprint, bytes, kept_until)
      VALUES (the_key, 'P', 1, n, of_request, '', t + keeps * interval '1 microsecond')
      ON CONFLICT (key) DO NOTHING;
    END IF;
    IF NOT FOUND THEN
      UPDATE @schema@.run SET expires_at = '-infinity' WHERE name = the_key;
      RETURN textsend('L');
    END IF;
    PERFORM @schema@.sweep_on(t);  -- one comes, some go
  END IF;
  RETURN textsend('G ' || n || ' 0 ' || for_lease || ' ' || its_run);
END
$function$;

-- Takes back an attempt to run a key: see cancel(). The reply to the runner has the number of its run. `known` is the
-- number of the run that the client knows; 0: the client knows none; below zero: the client may still learn of one. If
-- the lease of a run is over and the client does not know the run, this function undoes the run.
CREATE OR REPLACE FUNCTION @schema@.cancel_key(the_key bytea, me bytea, in_doubt boolean, known bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answer text;
  n bigint;
BEGIN
  answer := @schema@.cancel_run(the_key, me, in_doubt);
  IF answer LIKE 'G%' THEN
    RETURN answer || ' ' || (SELECT run FROM @schema@.once WHERE key = the_key);
  END IF;
  IF known >= 0 AND answer <> 'L' THEN
    SELECT number INTO n FROM @schema@.run WHERE name = the_key AND attempt = me AND number <> known;
    IF FOUND THEN PERFORM @schema@.undo_run(the_key, n); END IF;
  END IF;
  -- A row of `run` without a record would stay for ever.
  IF in_doubt AND answer <> 'L' THEN
    INSERT INTO @schema@.once (key, state, run, number, fingerprint, bytes, kept_until)
    SELECT the_key, '-', 0, 0, '', '', clock_timestamp()
     WHERE NOT EXISTS (SELECT FROM @schema@.once WHERE key = the_key)
    ON CONFLICT (key) DO NOTHING;
  END IF;
  RETURN answer;
END
$function$;

