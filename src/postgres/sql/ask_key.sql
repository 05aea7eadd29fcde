-- The request to run a key. A recorded outcome is returned without a lock and without a write.
--
-- $1 key  $2 attempt  $3 lease in microseconds, `how`, `repeats`, time to keep it in microseconds
-- $4 label, fingerprint  $5 moment after which the request is void: see begin_key()
-- Returns  the server's clock from before it has read anything (see look.sql), and the answer
SELECT pg_catalog.transaction_timestamp(), coalesce(
  (SELECT @schema@.told(o.state, false, o.run, o.number, o.fingerprint,
                        CASE WHEN o.fingerprint = ($4)[2] THEN o.bytes ELSE '' END)
     FROM @schema@.once AS o
    WHERE o.key = $1 AND o.kept_until > pg_catalog.clock_timestamp()
      AND ((($3)[2] OPERATOR(pg_catalog.&) 2) = 0
           OR NOT EXISTS (SELECT FROM @schema@.run_ticket AS w WHERE w.name = $1 AND w.attempt = $2))
      AND ((o.state = 'Y' AND ($3)[3] <> 2) OR (o.state = 'F' AND ($3)[3] = 1)
           OR (o.state IN ('Y', 'F') AND o.fingerprint <> ($4)[2]))),
  @schema@.begin_key($1, $2, ($3)[1], ($4)[1], ($3)[2], ($4)[2], ($3)[3], ($3)[4], $5))
