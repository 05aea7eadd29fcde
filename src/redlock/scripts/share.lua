-- SPDX-License-Identifier: MIT
-- Gives this server's vote to a reader, next to other readers. Next to an owner only the owner's own client reads.
-- Behind a writer that waits a reader gets no vote, unless it has the vote already. See acquire.lua for the deadline.
--
-- A reader's number is larger than every number that was given before the first reader came (`floor`). Two readers may
-- have equal numbers, so readers that come together get what they propose.
--
-- The score of a reader in `readers` is the end of its lease. For a reader that released its vote it is minus the time
-- of that. The hash `reader_info` has for each reader its number, `<attempt>:step` and `<attempt>:label`.
--
-- KEYS  1 the lock
-- ARGV  1 to 6 as in acquire.lua    7 two flags: '1' = wants a hint; the other is not used. Or 'hold', as there
--       8 the attempt by which the reader's client owns the name; '' = none
-- @return as acquire.lua
local key, me, number = KEYS[1], ARGV[1], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then return {'too_late', now} end
local f = redis.call('HMGET', key, 'owner', 'ends', 'grant', 'max_grant', 'label', 'has_others', 'floor')
local owned = f[2] and tonumber(f[2]) > now
local max_grant = math.max(tonumber(f[3] or 0), tonumber(f[4] or 0))
local readers, reader_info = key .. ':readers', key .. ':reader_info'
local queue, contacts, my_member = key .. ':queue', key .. ':contacts', 'r' .. me
local decided, read, has_vote, queued, ahead, waiting, notified = ARGV[7] == 'hold', false, false, false, false, {}, {}
if decided and tonumber(redis.call('ZSCORE', key .. ':forced', me .. ':' .. ARGV[2]) or 0) > now then
  return {'refused', now}
end
if f[6] then
  has_vote = tonumber(redis.call('ZSCORE', readers, me) or 0) > now
  if has_vote and tonumber(redis.call('HGET', reader_info, me .. ':step') or 0) > tonumber(ARGV[2]) then
    return {'too_late', now}
  end
  -- include: waiting.lua
  for _, each in ipairs(waiting) do
    queued = queued or each == my_member
    ahead = ahead or (string.byte(each) == 119 and not queued)
  end
end
local own_hold = owned and not decided and f[1] == ARGV[8]
if not own_hold and (owned or (ahead and not has_vote and not decided)) then
  if string.byte(ARGV[7]) == 49 and (queued or #waiting < 64) then
    local clock = string.format('%.0f', now)
    if not queued then redis.call('ZADD', queue, clock, my_member) end
    redis.call('ZADD', contacts, clock, my_member)
    redis.call('PEXPIRE', queue, 10000)
    redis.call('PEXPIRE', contacts, 10000)
    if not f[6] then redis.call('HSET', key, 'has_others', 1) end
  end
  -- include: holders.lua
  return {'busy', now, left, #waiting, label, mode, unpack(numbers)}
end
local floor = read and tonumber(f[7] or 0) or max_grant
if not decided then number = math.max(number, floor + 1) end
redis.call('HSET', key, 'max_grant', string.format('%.0f', math.max(max_grant, number)), 'floor',
  string.format('%.0f', floor), 'has_others', 1)
-- include: expired.lua
redis.call('ZADD', readers, string.format('%.0f', now + ARGV[4] * 1000), me)
redis.call('HSET', reader_info, me, string.format('%.0f', number), me .. ':step', ARGV[2])
if ARGV[6] ~= '' then redis.call('HSET', reader_info, me .. ':label', ARGV[6]) end
for _, each in ipairs({key, readers, reader_info}) do
  redis.call('PEXPIRE', each, math.max(ARGV[4] + 3660000, redis.call('PTTL', each)))
end
if queued then
  redis.call('ZREM', queue, my_member)
  redis.call('ZREM', contacts, my_member)
end
return {'vote', now, number}
