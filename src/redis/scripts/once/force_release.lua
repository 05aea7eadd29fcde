-- SPDX-License-Identifier: MIT
-- Ends the run of any client, for an administrator. The key stays pending, as if its runner had died. Its number is
-- raised, so that the old runner's renewal and conclusion are answered 'not_held'. The old runner gets the message T.
-- Then the next waiter has its turn. Safe to repeat: it ends the run that was found, and no later one.
--
-- KEYS  1 the key
-- ARGV  1 the grant number of that run    2 importing = the slot of the key is on its way to this server
-- @return {'released', now}, or {'not_held', now}: that run was over
local call, key = redis.call, KEYS[1]
-- include: fields.lua
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, lease, grant, has_waiters = unpack(call('HMGET', key, OWNER, LEASE, GRANT, 'has_waiters'))
local held, first, queue_elsewhere, my_member = lease and grant + lease * 1000 > now, nil, nil, ''
local outcome, outcome_grant = false, nil -- an outcome of an earlier grant answers no waiter
if not held or grant ~= ARGV[1] then return {'not_held', now} end
local queue, waiters, attempt, importing = key .. ':queue', key .. ':waiters', owner, ARGV[2] == 'importing'
held = false
call('HDEL', key, OWNER, LEASE, LABEL)
call('HSET', key, GRANT, string.format('%.0f', math.max(grant + 1, now)))
redis.pcall('PUBLISH', string.match(key, '^[^{]*') .. 'inbox:' .. string.sub(attempt, 1, 16),
  'T ' .. attempt .. ' ' .. grant .. ' ' .. key)
if has_waiters then
  -- include: key_waiters.lua
end
return {'released', now}
