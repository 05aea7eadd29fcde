-- As look.sql, for a name that is known to have a row, which costs the server less; tells nothing where it
-- has none after all.
SELECT CASE WHEN l.expires_at > pg_catalog.statement_timestamp()
            THEN pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at)
                 || pg_catalog.timestamptz_send(pg_catalog.statement_timestamp()) || l.label
            ELSE pg_catalog.textsend(@schema@.take($1, $2, $3, $4, $5)) END
  FROM @schema@.lock AS l WHERE l.name = $1
