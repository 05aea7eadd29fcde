-- Whoever wants a permit asks so.
--
-- $1 to $6 as ask_share.sql  $7 how many permits there are
SELECT CASE WHEN ($5 OPERATOR(pg_catalog.&) 12) OPERATOR(pg_catalog.=) 8
            THEN @schema@.share_gate($1, $2, $3, $4, $5, $6, $7)
            ELSE @schema@.take_share_gate($1, $2, $3, $4, $5, $6, $7) END
