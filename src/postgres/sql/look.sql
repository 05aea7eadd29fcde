-- A try for a lock or for a reader's hold: reads the row without locking it, and calls take() if the name is free, or
-- if the attempt itself may have it. So a try that fails writes nothing.
--
-- $1 to $7 as take()
-- PostgreSQL reads the row as it was at Bind, and sets statement_timestamp() again at Execute. So the clock that is
-- returned is that of the begin of the transaction: a look must not seem later than what it has read.
--
-- Returns  the server's clock, and the answer of take(), or of the holder: number and end in 8 bytes each, the first
--          byte 0, and the label
SELECT pg_catalog.transaction_timestamp(),
  CASE WHEN l.expires_at > pg_catalog.statement_timestamp() AND l.attempt <> $2
            AND ($3 > 0 OR l.lease > 0 AND $6 = ''::pg_catalog.bytea)
       THEN pg_catalog.int8send(l.number) || pg_catalog.timestamptz_send(l.expires_at) || l.label
       ELSE pg_catalog.textsend(@schema@.take($1, $2, $3, $4, $5, $6, $7)) END
  FROM (SELECT) AS one LEFT JOIN @schema@.lock AS l ON l.name = $1
