-- What applications call in the plain case, as take.sql says.
CREATE OR REPLACE FUNCTION @schema@.release(
  the_name pg_catalog.bytea, me pg_catalog.bytea, my_number bigint, how bigint) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
BEGIN
  UPDATE @schema@.lock AS l SET expires_at = '-infinity'
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.attempt OPERATOR(pg_catalog.=) me AND l.number OPERATOR(pg_catalog.=) my_number
     AND l.expires_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
     AND l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin)
  RETURNING CASE WHEN pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL THEN 'F' END
       INTO answer;
  IF FOUND THEN RETURN answer; END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, pg_temp' THEN
    RETURN @schema@.release_row(the_name, me, my_number, how);
  END IF;
  RETURN @schema@.release_apart(the_name, me, my_number, how);
END
$function$;

-- Tells who waits for a name that it is free: the first of those who drew a ticket and still asks, or,
-- where nobody did, all. Writes nothing.
CREATE OR REPLACE FUNCTION @schema@.tell(the_name bytea, t timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  first bytea;
  ignored text;
BEGIN
  SELECT attempt INTO first FROM @schema@.ticket
   WHERE name = the_name AND contact >= t - interval '3 seconds' ORDER BY ticket LIMIT 1;
  IF NOT FOUND AND EXISTS (SELECT FROM @schema@.ticket WHERE name = the_name) THEN RETURN; END IF;
  -- Of this transaction only: its commit waits for those of all others that notify, in any database.
  ignored := set_config('lock_timeout', '0', true);
  -- By a channel of the client's own, whose number is in the first 16 bytes; or by everybody's.
  PERFORM pg_notify(CASE WHEN first IS NULL THEN '@schema@'
                         ELSE 'mortise_' || left(encode(first, 'hex'), 32) END,
                    encode(the_name, 'hex') || coalesce(' ' || encode(first, 'hex'), ''));
END
$function$;
