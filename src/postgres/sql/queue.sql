-- Who holds a name, alone, as readers or by permits of a semaphore, and who waits for it with a ticket, in order: for
-- how long each has not been heard of.
-- $1 name  $2 the most of either
-- Returns  of each holder, in order of their grants: number, end, microseconds since the grant, in 8 bytes each, E
--            alone, S as a reader, P with a permit, length of the label in 4 bytes, and label. The number is the moment
--            of the grant, or lies ahead of the clock
--          server's clock; how many wait; of each waiter what it wants, as above, and microseconds in 8 bytes
WITH held AS MATERIALIZED (
  SELECT l.number, l.lease, l.expires_at, l.label
    FROM @schema@.lock AS l WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp()),
holders AS MATERIALIZED (
  SELECT h.number, h.expires_at, 'E' AS mode, h.label FROM held AS h WHERE h.lease > 0
  UNION ALL SELECT h.number, h.expires_at, 'S', pg_catalog.substr(h.label, 2) FROM held AS h WHERE h.lease < 0
  UNION ALL
  SELECT s.number, least(s.expires_at, h.expires_at), CASE WHEN s.owns THEN 'E' ELSE 'S' END, s.label
    FROM held AS h, @schema@.share AS s
   WHERE h.lease = 0 AND s.name = $1 AND s.attempt <> '' AND s.expires_at > pg_catalog.clock_timestamp()
  UNION ALL
  SELECT g.number, g.expires_at, 'P', pg_catalog.substr(g.label, 10)
    FROM @schema@.gate AS g WHERE g.name = $1 AND g.lease < 0 AND g.expires_at > pg_catalog.clock_timestamp()
  UNION ALL
  SELECT s.number, least(s.expires_at, g.expires_at), 'P', s.label
    FROM @schema@.gate AS g, @schema@.gate_share AS s
   WHERE g.name = $1 AND g.lease = 0 AND g.expires_at > pg_catalog.clock_timestamp()
     AND s.name = $1 AND s.attempt <> '' AND s.expires_at > pg_catalog.clock_timestamp()),
waiters AS MATERIALIZED (
  SELECT 1 AS space, w.ticket, w.contact, CASE WHEN w.reads THEN 'S' ELSE 'E' END AS mode
    FROM @schema@.ticket AS w WHERE w.name = $1 AND w.contact > pg_catalog.clock_timestamp() - interval '3 seconds'
  UNION ALL
  SELECT 2, w.ticket, w.contact, 'P'
    FROM @schema@.gate_ticket AS w WHERE w.name = $1 AND w.contact > pg_catalog.clock_timestamp() - interval '3 seconds')
SELECT
  coalesce((SELECT pg_catalog.string_agg(
                     pg_catalog.int8send(h.number) || pg_catalog.timestamptz_send(h.expires_at)
                     || pg_catalog.int8send(
                          (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint
                          - h.number)
                     || h.mode::bytea || pg_catalog.int4send(pg_catalog.octet_length(h.label)) || h.label,
                     '' ORDER BY h.number)
     FROM (SELECT * FROM holders AS a ORDER BY a.number LIMIT $2) AS h), ''),
  pg_catalog.clock_timestamp(),
  (SELECT pg_catalog.count(*) FROM waiters),
  coalesce((SELECT pg_catalog.string_agg(
                     w.mode::bytea || pg_catalog.int8send(
                       (extract(epoch FROM pg_catalog.clock_timestamp() - w.contact)
                        OPERATOR(pg_catalog.*) 1000000)::bigint),
                     '' ORDER BY w.space, w.ticket)
     FROM (SELECT * FROM waiters AS a ORDER BY a.space, a.ticket LIMIT $2) AS w), '')
