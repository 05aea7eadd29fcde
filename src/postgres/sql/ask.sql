-- A try: reads the row without locking it, and calls take() where it looks free or is to be written.
-- Few arguments and columns, since each costs the server time.
--
-- $1 name  $2 attempt  $3 lease in microseconds  $4 label
-- $5 `how`, see take()
SELECT l.number, l.expires_at, l.label, pg_catalog.clock_timestamp(),
  CASE WHEN l.expires_at > pg_catalog.clock_timestamp() AND l.attempt <> $2 AND ($5 & 4) = 0
        AND (($5 & 1) = 0
             OR ($5 & 2) = 0 AND l.waiters_until > pg_catalog.clock_timestamp() + interval '5 seconds')
       THEN NULL
       ELSE @schema@.take($1, $2, $3, $4, $5) END
FROM (SELECT) AS one LEFT JOIN @schema@.lock AS l ON l.name = $1
