-- Holds of all kinds together: the owners' end at $5[1], then come the runs of keys up to $5[2], readers up to
-- $5[3], and permits. Otherwise as renew(). A function costs as much as a hold, so only those are called that have one.
SELECT CASE WHEN ($5)[1] > 0
            THEN @schema@.renew(($1)[1:($5)[1]::integer], ($2)[1:($5)[1]::integer], ($3)[1:($5)[1]::integer],
                                ($4)[1:($5)[1]::integer]) ELSE '' END
    || CASE WHEN ($5)[2] > ($5)[1]
            THEN @schema@.renew_run(($1)[($5)[1]::integer + 1:($5)[2]::integer], ($2)[($5)[1]::integer + 1:($5)[2]::integer],
                                    ($3)[($5)[1]::integer + 1:($5)[2]::integer], ($4)[($5)[1]::integer + 1:($5)[2]::integer])
            ELSE '' END
    || CASE WHEN ($5)[3] > ($5)[2]
            THEN @schema@.renew_share(($1)[($5)[2]::integer + 1:($5)[3]::integer], ($2)[($5)[2]::integer + 1:($5)[3]::integer],
                                      ($3)[($5)[2]::integer + 1:($5)[3]::integer], ($4)[($5)[2]::integer + 1:($5)[3]::integer])
            ELSE '' END
    || CASE WHEN pg_catalog.cardinality($1) > ($5)[3]
            THEN @schema@.renew_share_gate(($1)[($5)[3]::integer + 1:], ($2)[($5)[3]::integer + 1:],
                                           ($3)[($5)[3]::integer + 1:], ($4)[($5)[3]::integer + 1:]) ELSE '' END
