-- SPDX-License-Identifier: MIT
-- Reads a lock as it is now. Its hash has the fields of fields.lua, and these. The first two are removed when no client
-- needs them. The others stay as long as the hash:
-- - readers_until: when the last lease of a reader ends, in us; 0 = no client reads. It is there while clients read or
--   wait. Without it a script need not look at the keys of readers and waiters
-- - max_grant: the largest grant number, if a reader beside the owner has got a larger one than GRANT
-- - permits: of a semaphore. releases: counts releases, if newcomers or Redisson may be quicker than waiters
-- - redisson_grant, reserved_until, redisson_listener: with Redisson, see open.lua
--
-- Before: call, key, redisson_key, importing. After: now, clock (the same as text), and all of open.lua.
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local f = call('HMGET', key, OWNER, LEASE, GRANT, 'readers_until', LABEL)
local owner, grant, readers_until, owner_label = f[1], f[3], f[4], f[5]
local max_grant = tonumber(grant or 0)
local lease_ends = f[2] and max_grant + f[2] * 1000 or 0
local is_owned = lease_ends > now
-- include: open.lua
