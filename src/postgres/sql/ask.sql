-- A try: reads the row without locking it, and calls take() where it looks free or is to be written.
--
-- $1 name  $2 attempt  $3 lease in microseconds  $4 label  $5 waits  $6 fair  $7 copy  $8 strays
SELECT l.attempt = $2, l.number, l.expires_at, l.lease, l.label, pg_catalog.clock_timestamp(),
  CASE WHEN l.expires_at > pg_catalog.clock_timestamp() AND NOT $8
        AND (l.attempt = $2 OR NOT $5
             OR NOT $6 AND l.waiters_until > pg_catalog.clock_timestamp() + interval '5 seconds')
       THEN NULL
       ELSE @schema@.take($1, $2, $3, $4, $5, $6, $7, $8) END
FROM (SELECT) AS one LEFT JOIN @schema@.lock AS l ON l.name = $1
