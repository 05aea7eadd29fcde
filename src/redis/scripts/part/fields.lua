-- SPDX-License-Identifier: MIT
-- The fields that the hash of each lock has. Their names are letters, because each byte of a held lock counts.
-- - OWNER `o`: the attempt that owned the lock last. (An attempt is one try of a client to get the lock. It has an id.)
-- - LEASE `l`: the lease of that owner ends this many ms after the moment GRANT, so each renewal raises it. Absent = no
--   attempt owns the lock. Readers may have it
-- - GRANT `g`: the number of that grant. It may be a larger one if a reader got the lock after that owner, or if an
--   administrator ended a hold. The fencing token is made of the number. Most are the server's clock in us at the grant
-- - LABEL `n`: the name by which the owner's client shows itself to people
-- The other fields have words as names: see look.lua, and once/begin.lua for keys of `Once`.
local OWNER, LEASE, GRANT, LABEL = 'o', 'l', 'g', 'n'
