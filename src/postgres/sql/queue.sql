-- Who holds a lock, alone or as readers, and who waits for it with a ticket, in order: for how long each has not been
-- heard of. Made once more for keys, and for semaphores, whose permits are readers without owners.
-- $1 name  $2 the most of either
-- Returns  of each holder, in order of their grants: number, end, microseconds since the grant, in 8 bytes each, E
--            alone, S with others, length of the label in 4 bytes, and label. The number is the moment of the grant, or
--            lies ahead of the clock
--          server's clock; how many wait; of each waiter what it wants, as above, and microseconds in 8 bytes
WITH held AS MATERIALIZED (
  SELECT l.number, l.lease, l.expires_at, l.label
    FROM @schema@.@lock@ AS l WHERE l.name = $1 AND l.expires_at > pg_catalog.clock_timestamp()),
holders AS MATERIALIZED (
  SELECT h.number, h.expires_at, 'E' AS mode, h.label FROM held AS h WHERE h.lease > 0
  UNION ALL SELECT h.number, h.expires_at, 'S', pg_catalog.substr(h.label, @label_at@) FROM held AS h WHERE h.lease < 0
  UNION ALL
  SELECT s.number, least(s.expires_at, h.expires_at), CASE WHEN s.owns THEN 'E' ELSE 'S' END, s.label
    FROM held AS h, @schema@.@share@ AS s
   WHERE h.lease = 0 AND s.name = $1 AND s.attempt <> '' AND s.expires_at > pg_catalog.clock_timestamp()),
waiters AS MATERIALIZED (
  SELECT w.ticket, w.contact, CASE WHEN @reads@ THEN 'S' ELSE 'E' END AS mode
    FROM @schema@.@ticket@ AS w WHERE w.name = $1 AND w.contact > pg_catalog.clock_timestamp() - interval '3 seconds')
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
                     '' ORDER BY w.ticket)
     FROM (SELECT * FROM waiters AS a ORDER BY a.ticket LIMIT $2) AS w), '')
