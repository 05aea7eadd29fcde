-- SPDX-License-Identifier: MIT
-- Reads a lock as it is now. Its hash has these fields; src/redis/README.md explains them:
-- - owner, number, label, ms: attempt, grant number and label of the last owner. Its lease ends `ms` ms after `number`
-- - crowd: until when readers hold the lock at most, in us; 0 = none does, but clients may wait. Without it none waits
-- - last: the largest number, if readers got larger ones than `number`
-- - permits: of a semaphore. releases: counts releases, if newcomers or Redisson may be quicker than waiters
-- - keyed, kept, hears: with Redisson, see open.lua
--
-- Before: key, other, arrives. After: now, clock (the same as text), and all of open.lua.
local time = redis.call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local f = redis.call('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'label')
local last = tonumber(f[3] or 0)
local ends = f[2] and last + f[2] * 1000 or 0
local owned = ends > now
-- include: open.lua
