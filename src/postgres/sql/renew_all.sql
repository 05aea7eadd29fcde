-- Holds of locks and runs of keys together: the first $5 are locks. Otherwise as renew().
SELECT coalesce(@schema@.renew(($1)[1:$5::integer], ($2)[1:$5::integer], ($3)[1:$5::integer], ($4)[1:$5::integer]), '')
    || coalesce(@schema@.renew_run(($1)[$5::integer + 1:], ($2)[$5::integer + 1:], ($3)[$5::integer + 1:],
                                   ($4)[$5::integer + 1:]), '')
