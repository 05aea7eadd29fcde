-- As look.sql, for an attempt that asked before: the hold may be its own, its older copies may have to be
-- buried, and what it waits for has to be written, unless it is already.
SELECT coalesce(
  (SELECT pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at)
          || pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()) || l.label
     FROM @schema@.lock AS l
    WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp() AND l.attempt <> $2
      AND ($5 & 4) = 0
      AND (($5 & 1) = 0
           OR ($5 & 2) = 0 AND l.waiters_until > pg_catalog.clock_timestamp() + interval '5 seconds')),
  pg_catalog.textsend(@schema@.take($1, $2, $3, $4, $5)))
