-- SPDX-License-Identifier: MIT
-- Gives this server's vote to a reader, next to other readers. Next to an owner only the owner's own client reads.
-- Behind a writer that waits a reader gets no vote, unless it has the vote already. See acquire.lua for `void`.
--
-- A reader's number is larger than every number that was given before the first reader came (`floor`). Two readers may
-- have equal numbers, so readers that come together get what they propose.
--
-- The sorted set `readers` has the end of each lease. For a reader that let go it has minus the time of that. The hash
-- `notes` has for each reader its number, `<attempt>:step` and `<attempt>:label`.
--
-- KEYS  1 the lock
-- ARGV  1 to 6 as in acquire.lua    7 two flags: '1' = wants a hint; the other is not used. Or 'hold', as there
--       8 the attempt by which the reader's client owns the name; '' = none
-- @return as acquire.lua
local key, me, number = KEYS[1], ARGV[1], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then return {'void', now} end
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'last', 'label', 'crowd', 'floor')
local owned = f[2] and tonumber(f[2]) > now
local last = math.max(tonumber(f[3] or 0), tonumber(f[4] or 0))
local readers, its_notes = key .. ':readers', key .. ':notes'
local queue, heard, place = key .. ':queue', key .. ':heard', 'r' .. me
local decided, read, mine, queued, ahead, waiting, told = ARGV[7] == 'hold', false, false, false, false, {}, {}
if decided and tonumber(redis.call('ZSCORE', key .. ':forced', me .. ':' .. ARGV[2]) or 0) > now then
  return {'refused', now}
end
if f[6] then
  mine = tonumber(redis.call('ZSCORE', readers, me) or 0) > now
  if mine and tonumber(redis.call('HGET', its_notes, me .. ':step') or 0) > tonumber(ARGV[2]) then
    return {'void', now}
  end
  -- include: waiting.lua
  for _, each in ipairs(waiting) do
    queued = queued or each == place
    ahead = ahead or (string.byte(each) == 119 and not queued)
  end
end
local own_hold = owned and not decided and f[1] == ARGV[8]
if not own_hold and (owned or (ahead and not mine and not decided)) then
  if string.byte(ARGV[7]) == 49 and (queued or #waiting < 64) then
    local clock = string.format('%.0f', now)
    if not queued then redis.call('ZADD', queue, clock, place) end
    redis.call('ZADD', heard, clock, place)
    redis.call('PEXPIRE', queue, 10000)
    redis.call('PEXPIRE', heard, 10000)
    if not f[6] then redis.call('HSET', key, 'crowd', 1) end
  end
  -- include: holders.lua
  return {'busy', now, left, #waiting, label, mode, unpack(numbers)}
end
local floor = read and tonumber(f[7] or 0) or last
if not decided then number = math.max(number, floor + 1) end
redis.call('HSET', key, 'last', string.format('%.0f', math.max(last, number)), 'floor', string.format('%.0f', floor),
  'crowd', 1)
-- include: lapsed.lua
redis.call('ZADD', readers, string.format('%.0f', now + ARGV[4] * 1000), me)
redis.call('HSET', its_notes, me, string.format('%.0f', number), me .. ':step', ARGV[2])
if ARGV[6] ~= '' then redis.call('HSET', its_notes, me .. ':label', ARGV[6]) end
for _, each in ipairs({key, readers, its_notes}) do
  redis.call('PEXPIRE', each, math.max(ARGV[4] + 3660000, redis.call('PTTL', each)))
end
if queued then
  redis.call('ZREM', queue, place)
  redis.call('ZREM', heard, place)
end
return {'vote', now, number}
