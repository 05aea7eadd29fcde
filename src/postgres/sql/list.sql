-- One page of the locks and semaphores that are held, by the indexes of their names. Names that are not held, of
-- which there may be any number in between, cost a look each, so of these there is an end, too: then the page is
-- shorter, or empty, and goes on. No row is locked, and nobody waits for it.
--
-- $1 from this name on  $2 to before that one  $3 the most names  $4 at how many rows to look, in either table
-- Returns  length and name of each; the name behind which there may be more, or nothing
WITH locks AS MATERIALIZED (
  SELECT l.name, l.expires_at > pg_catalog.clock_timestamp() AS held
    FROM @schema@.lock AS l WHERE l.name >= $1 AND l.name < $2 ORDER BY l.name LIMIT $4),
gates AS MATERIALIZED (
  SELECT g.name, g.expires_at > pg_catalog.clock_timestamp() AS held
    FROM @schema@.gate AS g WHERE g.name >= $1 AND g.name < $2 ORDER BY g.name LIMIT $4),
-- Up to where both were looked at; nothing: to the end.
reached AS MATERIALIZED (
  SELECT e.name
    FROM (SELECT l.name, pg_catalog.row_number() OVER (ORDER BY l.name) AS place FROM locks AS l
          UNION ALL SELECT g.name, pg_catalog.row_number() OVER (ORDER BY g.name) FROM gates AS g) AS e
   WHERE e.place = $4 ORDER BY e.name LIMIT 1),
page AS MATERIALIZED (
  SELECT DISTINCT s.name FROM (SELECT * FROM locks UNION ALL SELECT * FROM gates) AS s
   WHERE s.held AND NOT EXISTS (SELECT FROM reached AS r WHERE r.name < s.name) ORDER BY s.name LIMIT $3)
SELECT coalesce((SELECT pg_catalog.string_agg(
                          pg_catalog.int4send(pg_catalog.octet_length(p.name)) || p.name, '' ORDER BY p.name)
                   FROM page AS p), ''),
  CASE WHEN (SELECT pg_catalog.count(*) FROM page) = $3 THEN (SELECT p.name FROM page AS p ORDER BY p.name DESC LIMIT 1)
       ELSE (SELECT r.name FROM reached AS r)
  END
