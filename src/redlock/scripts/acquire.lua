-- SPDX-License-Identifier: MIT
-- Gives this server's vote to an owner, if no other hold has it. A repeated request gets the same vote again, with a
-- new lease.
--
-- A request that arrives after the moment `void` changes nothing: nobody reads its reply any more. A request of an
-- earlier step than the vote's changes nothing either.
--
-- A writer waits in the queue if it wants a hint. It can step back for others: for all who wait, or for the readers in
-- front of it.
--
-- KEYS  1 the lock
-- ARGV  1 attempt    2 its step    3 void: a moment of this server's clock, in us    4 lease in ms
--       5 the number that is proposed    6 label
--       7 two flags: '1' = wants a hint; steps back '1' = for all, '2' = for readers in front, '0' = not at all.
--         Or 'hold': a majority renewed the hold, so it gets the vote with exactly this number
-- @return {'vote', now, number}, {'void', now}, {'refused', now} if an administrator ended that hold, or
--         {'busy', now, ...}: see part/holders.lua
local key, me, step, proposed = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
local number = proposed
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then return {'void', now} end
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'last', 'label', 'crowd', 'step')
local owned = f[2] and tonumber(f[2]) > now
local mine = owned and f[1] == me
if mine and tonumber(f[7]) > step then return {'void', now} end
local last = tonumber(f[3] or 0)
if f[4] then last = math.max(last, tonumber(f[4])) end
if ARGV[7] ~= 'hold' then
  number = mine and last or (number > last and number or last + 1)
elseif tonumber(redis.call('ZSCORE', key .. ':forced', me .. ':' .. ARGV[2]) or 0) > now then
  return {'refused', now}
end
local refused = owned and not mine
local alone, place = true, nil
if refused or f[6] then
  local queue, heard, waiting, told, read = key .. ':queue', key .. ':heard', {}, {}, false
  local queued, others, ahead, any_readers = false, false, false, false
  place = 'w' .. me
  if f[6] then
    -- include: waiting.lua
    for _, each in ipairs(waiting) do
      local reads = string.byte(each) == 114
      queued, others = queued or each == place, others or each ~= place
      any_readers, ahead = any_readers or reads, ahead or (reads and not queued)
    end
    local back = string.sub(ARGV[7], 2)
    refused = not mine and (owned or read or (back == '1' and others) or (back == '2' and ahead))
  end
  if refused then
    if string.byte(ARGV[7]) == 49 and (queued or #waiting < 64) then
      -- A writer that came too late after its hint goes to the end, unless readers wait: then its place counts.
      local clock = string.format('%.0f', now)
      if not queued or (told[place] and not any_readers) then redis.call('ZADD', queue, clock, place) end
      redis.call('ZADD', heard, clock, place)
      redis.call('PEXPIRE', queue, 10000)
      redis.call('PEXPIRE', heard, 10000)
      if not f[6] then redis.call('HSET', key, 'crowd', 1) end
      if last == 0 then redis.call('PEXPIRE', key, 3660000) end
    end
    -- include: holders.lua
    return {'busy', now, left, #waiting, label, mode, unpack(numbers)}
  end
  alone = not read and not others
end
redis.call('HSET', key, 'owner', me, 'ends', string.format('%.0f', now + ARGV[4] * 1000),
  'number', number == proposed and ARGV[5] or string.format('%.0f', number), 'step', ARGV[2], 'label', ARGV[6])
redis.call('PEXPIRE', key, f[6] and math.max(ARGV[4] + 3660000, redis.call('PTTL', key)) or ARGV[4] + 3660000)
if number < last then redis.call('HSET', key, 'last', string.format('%.0f', last)) end
if f[6] then
  redis.call('ZREM', key .. ':queue', place)
  redis.call('ZREM', key .. ':heard', place)
  if alone then
    redis.call('HDEL', key, 'crowd')
    -- include: lapsed.lua
  end
end
return {'vote', now, number}
