-- What applications call: the plain case in one statement, as take.sql says. `how`: 8 the session is as session.sql
-- makes it.
CREATE OR REPLACE FUNCTION @schema@.release@of@(
  the_name pg_catalog.bytea, me pg_catalog.bytea, my_number bigint, how bigint) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
BEGIN
  IF how OPERATOR(pg_catalog.&) 8 OPERATOR(pg_catalog.=) 0 THEN PERFORM @schema@.settle(); END IF;
  UPDATE @schema@.@lock@ AS l SET expires_at = '-infinity'
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.attempt OPERATOR(pg_catalog.=) me AND l.number OPERATOR(pg_catalog.=) my_number
     AND l.expires_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
     AND l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin)
  RETURNING CASE WHEN pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL THEN 'F' END
       INTO answer;
  IF FOUND THEN RETURN answer; END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
    PERFORM @schema@.settle();
  END IF;
  RETURN @schema@.release_row@of@(the_name, me, my_number);
END
$function$;
