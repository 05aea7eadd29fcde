-- Frees exactly one hold of a key, and writes what became of its run, in one step; on disk before it is told.
-- `confirms`: its runner's own transaction has recorded that: it is not written then, it stands or it does not. A
-- repeated call finds its own record, known by number, state and bytes: no client is told other bytes than those that
-- stand. Another record is that of its runner's own transaction.
--
-- Returns  as release_row(), of which  F T A  it stands recorded    X Y  nothing is    L  ask again soon
--          N M  neither the hold nor its record is there    S U  as F and T: but another outcome stands
CREATE OR REPLACE FUNCTION @schema@.conclude_key(
  the_key bytea, me bytea, my_number bigint, confirms boolean,
  succeeds boolean, its_bytes bytea, keeps bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  becomes constant "char" := CASE WHEN succeeds THEN 'Y' ELSE 'F' END;
  o record;
  answer text;
  mine boolean;
BEGIN
  -- A transaction of the user's own may be about to conclude it.
  SELECT k.state, k.number, k.bytes, l.waiters_until > '-infinity' AS waited INTO o
    FROM @schema@.once AS k LEFT JOIN @schema@.run AS l ON l.name = k.key
   WHERE k.key = the_key FOR NO KEY UPDATE OF k SKIP LOCKED;
  IF NOT FOUND AND EXISTS (SELECT FROM @schema@.once WHERE key = the_key) THEN RETURN 'L'; END IF;
  mine := coalesce(o.number = my_number, false);
  answer := @schema@.release_row_run(the_key, me, my_number);
  IF answer = 'L' THEN RETURN answer; END IF;
  PERFORM @schema@.promise();
  -- Tickets of the dead: nobody may ever wait for this key again, whose take would remove them.
  IF o.waited AND answer NOT IN ('A', 'N') THEN
    DELETE FROM @schema@.run_ticket
     WHERE name = the_key AND contact < clock_timestamp() - interval '3 seconds';
  END IF;
  IF mine AND o.state = 'P' THEN
    IF confirms THEN RETURN translate(answer, 'FTAN', 'XYXX'); END IF;
    IF answer NOT IN ('F', 'T') THEN RETURN replace(answer, 'A', 'N'); END IF;
    UPDATE @schema@.once
       SET state = becomes, bytes = its_bytes, stood_state = NULL,
           kept_until = clock_timestamp() + keeps * interval '1 microsecond'
     WHERE key = the_key;
    RETURN answer;
  END IF;
  IF NOT mine OR o.state = '-' THEN RETURN translate(answer, 'FTAXY', 'NMNNM'); END IF;
  -- What the runner's own transaction has recorded is kept from now on, not from within that.
  IF answer NOT IN ('A', 'N') THEN
    UPDATE @schema@.once SET kept_until = clock_timestamp() + keeps * interval '1 microsecond'
     WHERE key = the_key;
  END IF;
  -- The hold may be another one's already, who has found the record and taken nothing.
  IF o.state = becomes AND o.bytes = its_bytes THEN RETURN translate(answer, 'XYN', 'FTA'); END IF;
  RETURN translate(answer, 'FTAXYN', 'SUSSUS');
END
$function$;

-- No client knows of a run, since its request came late: the outcome of the run before it stands again.
CREATE OR REPLACE FUNCTION @schema@.undo_run(the_key bytea, its_number bigint) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  -- Its first run: the key was absent.
  UPDATE @schema@.once
     SET state = coalesce(stood_state, '-'), stood_state = NULL,
         run = CASE WHEN stood_state IS NULL THEN 0 ELSE stood_run END,
         number = CASE WHEN stood_state IS NULL THEN 0 ELSE stood_number END,
         kept_until = CASE WHEN stood_state IS NULL THEN clock_timestamp() ELSE stood_until END
   WHERE key = the_key AND number = its_number AND state = 'P' AND (stood_state IS NOT NULL OR run = 1);
  IF FOUND THEN PERFORM @schema@.promise(); END IF;
END
$function$;

-- Frees one hold of a key whose run has no outcome: the key stays pending. `undoes`: see undo_run().
CREATE OR REPLACE FUNCTION @schema@.release_key(
  the_key bytea, me bytea, my_number bigint, undoes boolean) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answer text;
BEGIN
  answer := @schema@.release_row_run(the_key, me, my_number);
  IF undoes AND answer IN ('F', 'T', 'X', 'Y') THEN PERFORM @schema@.undo_run(the_key, my_number); END IF;
  RETURN answer;
END
$function$;

-- For users' own transactions: writes what became of a run, together with whatever else the transaction does;
-- the key is freed by the library, afterwards. Nobody takes it over before the end of the transaction. A run
-- whose hold is over gives false, or, at repeatable read and above, error 40001. What others are told is on disk:
-- the transaction's commit waits for that, whatever the user's session has set.
--
-- Nobody knows when it will be committed. It is kept from the freeing, by conclude_key(); where nobody frees it, since
-- its runner died, from the end of the lease that the run has now.
CREATE OR REPLACE FUNCTION @schema@.conclude_in(
  the_key bytea, me bytea, my_number bigint, succeeds boolean, its_bytes bytea, keeps bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $function$
DECLARE
  old constant boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
  l record;
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE relpersistence <> 'p'
                AND oid IN ('@schema@.run'::regclass, '@schema@.once'::regclass)) THEN
    RAISE EXCEPTION 'a table of keys is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT attempt, expires_at INTO l
    FROM @schema@.run WHERE name = the_key AND number = my_number FOR KEY SHARE;
  IF NOT FOUND THEN
    IF old AND NOT EXISTS (SELECT FROM @schema@.run WHERE name = the_key AND number > my_number) THEN
      RAISE EXCEPTION 'the run is younger than the transaction, or forgotten' USING ERRCODE = '40001';
    END IF;
    RETURN false;
  END IF;
  IF l.attempt <> me OR l.expires_at = '-infinity' THEN RETURN false; END IF;
  IF l.expires_at <= clock_timestamp() THEN
    IF NOT old THEN RETURN false; END IF;
    -- Of an older snapshot that is no wonder: error 40001 where it was renewed since. Who came after it would
    -- have written its record, too. Whoever has the row renews it or looks at it, and waits for nobody.
    BEGIN
      PERFORM FROM @schema@.run WHERE name = the_key FOR NO KEY UPDATE;
      RETURN false;
    EXCEPTION WHEN serialization_failure THEN NULL;
    END;
  END IF;
  UPDATE @schema@.once
     SET state = CASE WHEN succeeds THEN 'Y' ELSE 'F' END, bytes = its_bytes, stood_state = NULL,
         kept_until = greatest(clock_timestamp(), l.expires_at) + keeps * interval '1 microsecond'
   WHERE key = the_key AND number = my_number AND state = 'P';
  IF FOUND THEN
    PERFORM @schema@.promise();
    RETURN true;
  END IF;
  IF EXISTS (SELECT FROM @schema@.once WHERE key = the_key AND number = my_number AND state <> '-') THEN
    RAISE EXCEPTION 'the run is concluded already' USING ERRCODE = '55000';
  END IF;
  RETURN false;
END
$function$;

-- Tells who waits for a key that it is free. What was concluded concerns all of them, whether they draw tickets or
-- not; of a run that was given back only the first of those who drew one is told, as tell() does.
CREATE OR REPLACE FUNCTION @schema@.tell_run(the_key bytea, t timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  words constant text := 'key ' || encode(the_key, 'hex');
  concluded constant boolean := EXISTS (SELECT FROM @schema@.once WHERE key = the_key AND state <> 'P');
  first bytea;
  ignored text;
BEGIN
  ignored := set_config('lock_timeout', '0', true);
  SELECT attempt INTO first FROM @schema@.run_ticket
   WHERE name = the_key AND contact >= t - interval '3 seconds' ORDER BY ticket LIMIT 1;
  IF concluded OR NOT FOUND THEN
    IF NOT concluded AND EXISTS (SELECT FROM @schema@.run_ticket WHERE name = the_key) THEN RETURN; END IF;
    PERFORM pg_notify('@schema@', words);
    PERFORM pg_notify('mortise_' || client, words)
       FROM (SELECT DISTINCT left(encode(attempt, 'hex'), 32) FROM @schema@.run_ticket
              WHERE name = the_key AND contact >= t - interval '3 seconds') AS waiting(client);
  ELSE
    PERFORM pg_notify('mortise_' || left(encode(first, 'hex'), 32), words || ' ' || encode(first, 'hex'));
  END IF;
END
$function$;
