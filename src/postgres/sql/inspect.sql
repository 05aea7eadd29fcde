-- Who holds it. $1 name
SELECT l.number, l.expires_at, l.label, pg_catalog.clock_timestamp(),
  (SELECT pg_catalog.count(*) FROM @schema@.ticket AS w WHERE w.name = $1
      AND w.contact > pg_catalog.clock_timestamp() - interval '3 seconds')
FROM @schema@.lock AS l WHERE l.name = $1
