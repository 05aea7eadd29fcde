-- SPDX-License-Identifier: MIT
-- Its client gives an attempt up: the attempt leaves the queue, and the next waiter has its turn. If the attempt runs
-- the key, the request came too late. Safe to repeat.
--
-- KEYS  1 the key
-- ARGV  1 attempt    2 'a' = the slot of the key is on its way to this server
--       3 if the attempt is decided, the grant number of the run that its client got; '0' = none. '' = not decided
-- @return {'granted', now, number, left in us, run}, even if the client did not get that run and its lease is over; or
--         {'busy', now, left in us (0 = the key is free), 0, number, waiters, label}; or an error if the queue is at
--         another server of a cluster
local key = KEYS[1]
local time = redis.call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local owner, ms, number, label, run, till, concluded, outcome_of, stands, crowd = unpack(redis.call('HMGET', key,
  'owner', 'ms', 'number', 'label', 'run', 'till', 'outcome', 'outcome_of', 'stands', 'crowd'))
local ends, first, apart, place, many, arrives = ms and number + ms * 1000, nil, nil, '', 0, ARGV[2] == 'a'
local held = ends and ends > now
local is_unknown = ms and ARGV[3] and ARGV[3] ~= '' and ARGV[3] ~= number
if owner == ARGV[1] and (held or is_unknown) then
  return {'granted', now, number + 0, math.max(ends - now, 1), run + 0}
end
local outcome = (outcome_of == number or stands == number) and till and tonumber(till) > now and concluded
if crowd then
  local queue, waiters = key .. ':queue', key .. ':waiters'
  redis.pcall('ZREM', queue, 'f' .. ARGV[1], 'n' .. ARGV[1], 'a' .. ARGV[1])
  redis.pcall('HDEL', waiters, ARGV[1])
  -- include: key_waiters.lua
  if apart then return redis.error_reply('TRYAGAIN the queue is at another server') end
  many = redis.pcall('ZCARD', queue)
  if type(many) ~= 'number' then many = 0 end
end
return {'busy', now, held and ends - now or 0, 0, tonumber(number or 0), many, held and label or ''}
