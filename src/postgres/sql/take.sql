-- What applications call for a lock (take) and for a permit (take_gate), alone or as one of several, whether they wait
-- or not. Safe to repeat: the same attempt finds its hold. A request that comes after the moment `void_after` takes
-- nothing: its client may have given the attempt up. That is looked at once the row is locked, since a row may have
-- been waited for.
--
-- `for_lease`: below zero for readers and permits. `for_label`: of these behind the bytes of share_tables.sql.
-- `beside`: see share_row(). `how`: 1 it waits + 2 the queue counts + 8 the session is as session.sql makes it.
--
-- Returns  V   the request came after its moment
--          and what take_row() and share_row() return
--
-- The path by which names are found must be ours, or a caller could have its own operators run with the owner's
-- rights. That a function sets it costs 20 us a call. So a session sets it once, or settle() for this transaction;
-- what comes before settle() names everything as a whole.
CREATE OR REPLACE FUNCTION @schema@.take@of@(
  the_name pg_catalog.bytea, me pg_catalog.bytea, for_lease bigint, for_label pg_catalog.bytea,
  how bigint, beside pg_catalog.bytea, void_after pg_catalog.timestamptz) RETURNS pg_catalog.text
LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  answer pg_catalog.text;
  ignored pg_catalog.text;
BEGIN
  IF how OPERATOR(pg_catalog.&) 8 OPERATOR(pg_catalog.=) 0 THEN PERFORM @schema@.settle(); END IF;
  -- The plain case in one statement: free, and nobody else in the row. It does not ask for the row's lock first, which
  -- costs as much again. xmax is the transaction that locked this version of the row last. It may still have the lock,
  -- unless it also wrote this version: then it has committed, or the version would be invisible. A transaction that
  -- locks the row within this microsecond is waited for, for `lock_timeout` (session.sql) at most. Then PostgreSQL
  -- checks the conditions once more, as it does at read committed.
  UPDATE @schema@.@lock@ AS l
     SET number = greatest(l.number OPERATOR(pg_catalog.+) 1,
           (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint),
         attempt = me, lease = for_lease, label = for_label,
         expires_at = pg_catalog.clock_timestamp()
           OPERATOR(pg_catalog.+) (pg_catalog.abs(for_lease) OPERATOR(pg_catalog.*) interval '1 microsecond')
   WHERE l.name OPERATOR(pg_catalog.=) the_name
     AND l.expires_at OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
     AND (l.xmax OPERATOR(pg_catalog.=) 0 OR l.xmax OPERATOR(pg_catalog.=) l.xmin)
     AND ((NOT @gate@ AND how OPERATOR(pg_catalog.&) 2 OPERATOR(pg_catalog.=) 0)
          OR l.waiters_until OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp())
     AND pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<=) void_after
  RETURNING CASE WHEN pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<=) void_after
                 THEN l.number::pg_catalog.text ELSE 'V' END INTO answer;
  IF FOUND THEN
    IF answer OPERATOR(pg_catalog.=) 'V' THEN
      -- The wait has lasted beyond its moment.
      UPDATE @schema@.@lock@ AS l SET expires_at = '-infinity' WHERE l.name OPERATOR(pg_catalog.=) the_name;
    ELSIF pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' THEN
      -- An attempt that had to wait came before it in this transaction.
      ignored := pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    RETURN answer;
  END IF;
  IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
    PERFORM @schema@.settle();
  END IF;
  IF for_lease OPERATOR(pg_catalog.<) 0 THEN
    RETURN @schema@.share_row@of@(the_name, me, OPERATOR(pg_catalog.-) for_lease, for_label, how, beside, void_after);
  END IF;
  RETURN @schema@.take_row@of@(the_name, me, for_lease, for_label, how, void_after);
END
$function$;
