-- SPDX-License-Identifier: MIT
-- Ends the run of any client, for an administrator. The key stays pending, as if its runner had died. Its number is
-- raised, so that the old runner's renewal and conclusion are answered 'none'. The old runner gets the message T. Then
-- the next waiter has its turn. Safe to repeat: it ends the run that was found, and no later one.
--
-- KEYS  1 the key
-- ARGV  1 the grant number of that run    2 'a' = the slot of the key is on its way to this server
-- @return {'freed', now}, or {'none', now}: that run was over
local key = KEYS[1]
local time = redis.call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, ms, number, crowd = unpack(redis.call('HMGET', key, 'owner', 'ms', 'number', 'crowd'))
local held, first, apart, place = ms and number + ms * 1000 > now, nil, nil, ''
local outcome, outcome_of = false, nil -- an outcome of an earlier grant answers no waiter
if not held or number ~= ARGV[1] then return {'none', now} end
local queue, waiters, attempt, arrives = key .. ':queue', key .. ':waiters', owner, ARGV[2] == 'a'
held = false
redis.call('HDEL', key, 'owner', 'ms', 'label')
redis.call('HSET', key, 'number', string.format('%.0f', math.max(number + 1, now)))
redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
  'T ' .. attempt .. ' ' .. number .. ' ' .. key)
if crowd then
  -- include: key_waiters.lua
end
return {'freed', now}
