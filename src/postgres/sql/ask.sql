-- As look.sql, for what is not plain: an attempt that asked before, whose hold it may be, whose older copies
-- may have to be buried, and whose wait has to be written, unless it is already; and whatever a session asks
-- that is not as session.sql makes it: $5 has 8 where it is. Behind a pooler the path is not ours: an operator
-- for types that PostgreSQL has none for would be looked for there, before any of those are cast.
SELECT coalesce(
  (SELECT pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at)
          || pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()) || l.label
     FROM @schema@.lock AS l
    WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp() AND l.attempt <> $2
      AND ($5 OPERATOR(pg_catalog.&) 4) = 0
      AND (($5 OPERATOR(pg_catalog.&) 1) = 0
           OR ($5 OPERATOR(pg_catalog.&) 2) = 0 AND l.lease > 0
              AND l.waiters_until > pg_catalog.clock_timestamp() + interval '5 seconds')),
  pg_catalog.textsend(CASE WHEN ($5 OPERATOR(pg_catalog.&) 12) = 8 THEN @schema@.take($1, $2, $3, $4, $5)
                           ELSE @schema@.take_apart($1, $2, $3, $4, $5) END))
