-- SPDX-License-Identifier: MIT
-- Reads a lock as it is now.
--
-- Before: key, other, arrives. After: now, and all of open.lua.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'crowd', 'label')
local ends, last = tonumber(f[2] or 0), tonumber(f[3] or 0)
local owned = ends > now
-- include: open.lua
