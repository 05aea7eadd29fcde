-- Who holds a lock, and who waits for it with a ticket, in order: for how long each has not been heard of.
-- $1 name  $2 the most of them
-- Returns  as inspect.sql; microseconds of each, in 8 bytes; microseconds since the grant, whose number is the moment
--          of it, or lies ahead of the clock
SELECT l.number, l.expires_at, l.label, pg_catalog.clock_timestamp(),
  (SELECT pg_catalog.count(*) FROM @schema@.ticket AS w WHERE w.name = $1
      AND w.contact > pg_catalog.clock_timestamp() - interval '3 seconds'),
  coalesce((SELECT pg_catalog.string_agg(pg_catalog.int8send(
                     (extract(epoch FROM pg_catalog.clock_timestamp() - w.contact)
                      OPERATOR(pg_catalog.*) 1000000)::bigint), ''
                     ORDER BY w.ticket)
     FROM (SELECT t.ticket, t.contact FROM @schema@.ticket AS t WHERE t.name = $1
              AND t.contact > pg_catalog.clock_timestamp() - interval '3 seconds'
            ORDER BY t.ticket LIMIT $2) AS w), ''),
  (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint - l.number
FROM @schema@.lock AS l WHERE l.name = $1
