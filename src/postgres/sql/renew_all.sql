-- Holds of all kinds together: the owners' end at $5[1], then come the runs of keys up to $5[2], readers up to
-- $5[3], and permits. Otherwise as renew().
SELECT coalesce(@schema@.renew(($1)[1:($5)[1]::integer], ($2)[1:($5)[1]::integer], ($3)[1:($5)[1]::integer],
                               ($4)[1:($5)[1]::integer]), '')
    || coalesce(@schema@.renew_run(($1)[($5)[1]::integer + 1:($5)[2]::integer], ($2)[($5)[1]::integer + 1:($5)[2]::integer],
                                   ($3)[($5)[1]::integer + 1:($5)[2]::integer], ($4)[($5)[1]::integer + 1:($5)[2]::integer]), '')
    || coalesce(@schema@.renew_share(($1)[($5)[2]::integer + 1:($5)[3]::integer], ($2)[($5)[2]::integer + 1:($5)[3]::integer],
                                     ($3)[($5)[2]::integer + 1:($5)[3]::integer], ($4)[($5)[2]::integer + 1:($5)[3]::integer]), '')
    || coalesce(@schema@.renew_share_gate(($1)[($5)[3]::integer + 1:], ($2)[($5)[3]::integer + 1:],
                                          ($3)[($5)[3]::integer + 1:], ($4)[($5)[3]::integer + 1:]), '')
