-- Which of these processes of the server may answer yet. $1 their numbers. One that has had nothing
-- to do for so long has not got what was sent, or its answer was lost: somebody in between holds
-- both sides of the connection, and forwards nothing. A process that waits for a commit is active.
SELECT coalesce(pg_catalog.string_agg(a.pid::pg_catalog.text, ' '), '')
FROM pg_catalog.pg_stat_activity AS a WHERE a.pid::pg_catalog.int8 OPERATOR(pg_catalog.=) ANY ($1)
  AND NOT coalesce(a.state OPERATOR(pg_catalog.=) 'idle' AND a.state_change OPERATOR(pg_catalog.<)
                   (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) interval '3 seconds'), false)
