-- SPDX-License-Identifier: MIT
-- Reads a lock as it is now.
--
-- Before: key, other, arrives. After: now, clock (the same as text), and all of open.lua.
local time = redis.call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local f = redis.call('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'label')
local last = tonumber(f[3] or 0)
local ends = f[2] and last + f[2] * 1000 or 0
local owned = ends > now
-- include: open.lua
