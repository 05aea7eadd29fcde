-- Which of these processes of the server live. $1 their numbers
SELECT coalesce(pg_catalog.string_agg(a.pid::pg_catalog.text, ' '), '')
FROM pg_catalog.pg_stat_activity AS a WHERE a.pid::pg_catalog.int8 OPERATOR(pg_catalog.=) ANY ($1)
