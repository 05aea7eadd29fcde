-- SPDX-License-Identifier: MIT
-- Its client gives an attempt up: the attempt leaves the queue, and the next waiter has its turn. If the attempt runs
-- the key, the reply is that run, which goes on. Safe to repeat.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 importing = the slot of the key is on its way to this server
--       3 '' = the client may still accept a run. Otherwise the grant number of the run that it accepted; '0' = none
-- @return {'granted', now, grant number, left in us, run} if the attempt runs the key, or if it began a run that its
--         client did not accept, even if that lease is over; or {'busy', now, left in us (0 = the key is free), 0,
--         number, waiters, label}; or an error if the queue is at another server of a cluster
local call, key = redis.call, KEYS[1]
-- include: fields.lua
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, lease, grant, label, run, forget_at, concluded, outcome_grant, undone_grant, has_waiters = unpack(call(
  'HMGET', key, OWNER, LEASE, GRANT, LABEL, 'run', 'forget_at', 'outcome', 'outcome_grant', 'undone_grant',
  'has_waiters'))
local its_attempt, ends, first, queue_elsewhere, my_member = ARGV[1], lease and grant + lease * 1000, nil, nil, ''
local waiter_count, importing = 0, ARGV[2] == 'importing'
local held = ends and ends > now
-- is_unknown: the attempt is decided, and its client accepted another run or none.
local is_unknown = lease and ARGV[3] and ARGV[3] ~= '' and ARGV[3] ~= grant
if owner == its_attempt and (held or is_unknown) then
  return {'granted', now, grant + 0, math.max(ends - now, 1), run + 0}
end
local is_valid = (outcome_grant == grant or undone_grant == grant) and forget_at and tonumber(forget_at) > now
local outcome = is_valid and concluded
if has_waiters then
  local queue, waiters = key .. ':queue', key .. ':waiters'
  redis.pcall('ZREM', queue, 'f' .. its_attempt, 'n' .. its_attempt, 'a' .. its_attempt)
  redis.pcall('HDEL', waiters, its_attempt)
  -- include: key_waiters.lua
  if queue_elsewhere then return redis.error_reply('TRYAGAIN the queue is at another server') end
  waiter_count = redis.pcall('ZCARD', queue)
  if type(waiter_count) ~= 'number' then waiter_count = 0 end
end
return {'busy', now, held and ends - now or 0, 0, tonumber(grant or 0), waiter_count, held and label or ''}
