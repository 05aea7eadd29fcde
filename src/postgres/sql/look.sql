-- A try: reads the row without locking it, and calls take() where it is free. Few arguments, few
-- conditions and one column, since each costs the server time. That is the answer of take(), or of the
-- holder: number, end, server's clock, 8 bytes each, the first one 0; label.
--
-- $1 name  $2 attempt  $3 lease in microseconds  $4 label  $5 `how`, see take()
SELECT coalesce(
  (SELECT pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at)
          || pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()) || l.label
     FROM @schema@.lock AS l
    WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp()),
  pg_catalog.textsend(@schema@.take($1, $2, $3, $4, $5)))
