-- One page of the locks that are held, by the index of their names; made once more for the keys that are run, and for
-- the semaphores with a permit in use. Names that are not held, of which there may be any number in between, cost a look
-- each, so of these there is an end, too: then the page is shorter, or empty, and goes on. No row is locked, and nobody
-- waits for it.
--
-- $1 from this name on  $2 to before that one  $3 the most names  $4 at how many rows to look
-- Returns  length and name of each; the name behind which there may be more, or nothing
WITH seen AS MATERIALIZED (
  SELECT l.name, l.expires_at > pg_catalog.clock_timestamp() AS held
    FROM @schema@.@lock@ AS l WHERE l.name >= $1 AND l.name < $2 ORDER BY l.name LIMIT $4),
page AS MATERIALIZED (SELECT s.name FROM seen AS s WHERE s.held ORDER BY s.name LIMIT $3)
SELECT coalesce((SELECT pg_catalog.string_agg(
                          pg_catalog.int4send(pg_catalog.octet_length(p.name)) || p.name, '' ORDER BY p.name)
                   FROM page AS p), ''),
  CASE WHEN (SELECT pg_catalog.count(*) FROM page) = $3 THEN (SELECT p.name FROM page AS p ORDER BY p.name DESC LIMIT 1)
       WHEN (SELECT pg_catalog.count(*) FROM seen) = $4 THEN (SELECT s.name FROM seen AS s ORDER BY s.name DESC LIMIT 1)
  END
