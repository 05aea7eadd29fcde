-- Calls a function in a user's own transaction, for a hold of the very database that the connection leads to. Another
-- one may have a lock of that name, and a row that looks as if the hold was over.
--
-- @cluster@, @database@: the arguments with the hold's cluster and the number of its database; 0: not known
-- Returns  what the function returns; NULL: the hold is of another database
SELECT CASE WHEN (@cluster@ OPERATOR(pg_catalog.=) 0
    OR pg_catalog.split_part(@schema@.whereabouts(), ' ', 1)
       OPERATOR(pg_catalog.=) ANY (ARRAY['', (@cluster@)::pg_catalog.text]))
  AND (@database@ OPERATOR(pg_catalog.=) 0
    OR EXISTS (SELECT FROM pg_catalog.pg_database AS d
                WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
                  AND d.oid::pg_catalog.int8 OPERATOR(pg_catalog.=) @database@))
  THEN @schema@.@call@ END
