-- Whoever wants to read asks so: as ask.sql, also at first. Whom an owner keeps out writes nothing, unless its wait has to be
-- written.
--
-- $1 to $5 as look.sql  $6 the attempt of an owner of the same client; empty: none
SELECT coalesce(
  (SELECT pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at)
          || pg_catalog.timestamptz_send(pg_catalog.clock_timestamp()) || l.label
     FROM @schema@.lock AS l
    WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp() AND l.lease > 0 AND $6 = ''::pg_catalog.bytea
      AND ($5 OPERATOR(pg_catalog.&) 4) = 0
      AND (($5 OPERATOR(pg_catalog.&) 1) = 0
           OR ($5 OPERATOR(pg_catalog.&) 2) = 0
              AND l.waiters_until > pg_catalog.clock_timestamp() + interval '5 seconds')),
  pg_catalog.textsend(CASE WHEN ($5 OPERATOR(pg_catalog.&) 12) = 8
                           THEN @schema@.share($1, $2, $3, $4, $5, $6, 0)
                           ELSE @schema@.take_share($1, $2, $3, $4, $5, $6, 0) END))
