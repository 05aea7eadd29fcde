-- SPDX-License-Identifier: MIT
-- The fields that the hash of each lock has. Redis stores a small number in one byte, so their names are numbers.
-- - OWNER: the attempt that owned the lock last. (An attempt is one try of a client to get the lock, with its own id.)
-- - LEASE: the lease of that owner in ms. It ends that many ms after the moment GRANT. Absent = the lock is free
-- - GRANT: the number of that grant, which the fencing token counts. Most are the server's clock in us at the grant
-- - LABEL: what the owner's client calls itself, for people
-- The other fields have words as names: see look.lua, and once/begin.lua for keys of `Once`.
local OWNER, LEASE, GRANT, LABEL = '1', '2', '3', '4'
