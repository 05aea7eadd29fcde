-- For users' own transactions: holds the owner's row with FOR KEY SHARE until their end, so that nobody
-- takes the name over before; the owner's renewals and its release go on meanwhile. A hold that has
-- lapsed, or that another one has followed, gives false, or, at repeatable read and above, error 40001.
CREATE OR REPLACE FUNCTION @schema@.guard(the_name bytea, my_number bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  l record;
BEGIN
  IF EXISTS (SELECT FROM pg_class WHERE relpersistence <> 'p'
                AND oid IN ('@schema@.lock'::regclass, '@schema@.share'::regclass)) THEN
    RAISE EXCEPTION 'the table of locks is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT expires_at, lease INTO l FROM @schema@.lock
   WHERE name = the_name AND (number = my_number OR lease = 0) AND expires_at > clock_timestamp() FOR KEY SHARE;
  IF NOT FOUND THEN RETURN false; END IF;
  IF l.lease = 0 THEN
    -- It is shared: nobody has it alone before the end of this transaction, whoever of them is left.
    SELECT least(expires_at, l.expires_at) AS expires_at INTO l
      FROM @schema@.share WHERE name = the_name AND number = my_number AND attempt <> '';
    IF NOT FOUND THEN RETURN false; END IF;
  END IF;
  -- The lock may have been waited for.
  RETURN l.expires_at > clock_timestamp();
END
$function$;

-- For users' own transactions: takes the name until their end by its row, if no lease lives, and waits
-- for other transactions that have it up to so many milliseconds. A row of a living lease is not kept
-- locked, since its owner renews it: the inner block is rolled back then. The number changes, so that
-- at repeatable read and above whoever waited with an older snapshot gets error 40001.
--
-- Returns  T  taken    H  somebody holds it by a lease    B  another transaction had it all the time
CREATE OR REPLACE FUNCTION @schema@.lock_in(the_name bytea, wait integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  ends timestamptz;
  before text := current_setting('lock_timeout');
  ignored text;
BEGIN
  IF (SELECT relpersistence FROM pg_class WHERE oid = '@schema@.lock'::regclass) <> 'p' THEN
    RAISE EXCEPTION 'the table of locks is unlogged' USING ERRCODE = '55000';
  END IF;
  SELECT expires_at INTO ends FROM @schema@.lock WHERE name = the_name;
  IF ends > clock_timestamp() AND current_setting('transaction_isolation') = 'read committed' THEN
    RETURN 'H';
  END IF;
  BEGIN
    IF ends > clock_timestamp() THEN
      -- An older snapshot would see this lease for ever: error 40001 where the row has changed since.
      PERFORM FROM @schema@.lock WHERE name = the_name FOR NO KEY UPDATE SKIP LOCKED;
      RAISE EXCEPTION 'held by a lease' USING ERRCODE = 'MO001';
    END IF;
    ignored := set_config('lock_timeout', greatest(wait, 1) || 'ms', true);
    IF ends IS NULL THEN
      INSERT INTO @schema@.lock (name, number, attempt, lease, expires_at, label)
      VALUES (the_name, 0, '', 0, '-infinity', '') ON CONFLICT DO NOTHING;  -- of both indexes: see add_row()
    END IF;
    SELECT expires_at INTO ends FROM @schema@.lock WHERE name = the_name FOR UPDATE;
    IF ends > clock_timestamp() THEN
      RAISE EXCEPTION 'held by a lease' USING ERRCODE = 'MO001';
    END IF;
    UPDATE @schema@.lock
       SET number = greatest(number + 1, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint),
           expires_at = '-infinity'  -- those who shared it have lapsed for good, whatever the clock does
     WHERE name = the_name;
    ignored := set_config('lock_timeout', before, true);
  EXCEPTION
    WHEN lock_not_available THEN RETURN 'B';
    WHEN SQLSTATE 'MO001' THEN RETURN 'H';
  END;
  RETURN 'T';
END
$function$;
