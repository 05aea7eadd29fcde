-- What applications call: take() on a connection of their own, which is as session.sql makes it, for an
-- attempt that has no older copies; take_apart() everywhere else. Which one is the client's choice, since a
-- condition costs the server as much in each call as it costs the client once.
--
-- The path by which names are found must be ours, or a caller could have its own operators run with the
-- owner's rights. That a function sets it costs 20 us a call, and that it looks at it 2 us: so a session sets
-- it once, what comes before the look names everything as a whole, and where the path is another one after
-- all (by a stranger's hand) take() goes the other way.
CREATE OR REPLACE FUNCTION @schema@.take_apart(
  the_name bytea, me bytea, for_lease bigint, for_label bytea,
  how bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  RETURN @schema@.take_row(the_name, me, for_lease, for_label, how);
END
$function$;
CREATE OR REPLACE FUNCTION @schema@.take(
  the_name pg_catalog.bytea, me pg_catalog.bytea, for_lease bigint, for_label pg_catalog.bytea,
  how bigint) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
  ignored pg_catalog.text;
BEGIN
  -- The plain case in one statement: free, nobody else in the row, nothing to be remembered. It does not
  -- ask for the row's lock first, which costs as much again. xmax is whoever locked this version of the row
  -- last, who may have it still, unless it wrote that, too: then it has committed, or nobody would see it. Who
  -- locks it within this microsecond is waited for, for `lock_timeout` (session.sql) at most; then the row is
  -- looked at once more, as PostgreSQL does at read committed.
  UPDATE @schema@.lock AS l
     SET number = greatest(l.number OPERATOR(pg_catalog.+) 1,
           (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint),
         attempt = me, lease = for_lease, label = for_label,
         expires_at = pg_catalog.clock_timestamp()
           OPERATOR(pg_catalog.+) (for_lease OPERATOR(pg_catalog.*) interval '1 microsecond')
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.expires_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin) AND l.buried IS NULL
     AND (how OPERATOR(pg_catalog.&) 2 OPERATOR(pg_catalog.=) 0
          OR l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp())
  RETURNING l.number::pg_catalog.text INTO answer;
  IF FOUND THEN
    -- Somebody who had to wait came before it in this transaction.
    IF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
      ignored := pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    RETURN answer;
  END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, pg_temp' THEN
    RETURN @schema@.take_row(the_name, me, for_lease, for_label, how);
  END IF;
  RETURN @schema@.take_apart(the_name, me, for_lease, for_label, how);
END
$function$;
