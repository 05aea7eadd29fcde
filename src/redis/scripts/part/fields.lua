-- SPDX-License-Identifier: MIT
-- The fields that the hash of each lock has. Their names are letters, because each byte of a held lock counts.
-- - OWNER `o`: the attempt that owned the lock last. (An attempt is one try of a client to get the lock. It has an id.)
-- - LEASE `l`: the lease of that owner in ms. It ends that many ms after the moment GRANT. Absent = the lock is free
-- - GRANT `g`: the number of that grant, which the fencing token counts. Most are the server's clock in us at the grant
-- - LABEL `n`: the name by which the owner's client shows itself to people
-- The other fields have words as names: see look.lua, and once/begin.lua for keys of `Once`.
local OWNER, LEASE, GRANT, LABEL = 'o', 'l', 'g', 'n'
