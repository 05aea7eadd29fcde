-- SPDX-License-Identifier: MIT
-- Gives this server's vote to an owner, if no other hold has it. A repeated request gets the same vote again, with a
-- new lease.
--
-- A request that arrives after its deadline changes nothing: no client reads its reply any more. A request of an
-- earlier step than the vote's changes nothing either.
--
-- The hash of a lock has `owner`, `ends` (of its lease), `grant` (the number of its vote), `step`, `label`; and
-- `max_grant` (the largest number, if readers or an earlier vote got a larger one), `has_others` (readers may have
-- votes, or clients may wait) and `floor`: see share.lua.
--
-- A writer waits in the queue if it wants a hint. It can step back for others: for all who wait, or for the readers in
-- front of it.
--
-- KEYS  1 the lock
-- ARGV  1 attempt    2 its step    3 deadline of this request: a moment of this server's clock, in us    4 lease in ms
--       5 the number that is proposed    6 label
--       7 two flags: '1' = wants a hint; steps back '1' = for all, '2' = for readers in front, '0' = not at all.
--         Or 'hold': a majority renewed the hold, so it gets the vote with exactly this number
-- @return {'vote', now, number}, {'too_late', now}, {'refused', now} if an administrator ended that hold, or
--         {'busy', now, ...}: see part/holders.lua
local key, me, step, proposed = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[5])
local number = proposed
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then return {'too_late', now} end
local f = redis.call('HMGET', key, 'owner', 'ends', 'grant', 'max_grant', 'label', 'has_others', 'step')
local owned = f[2] and tonumber(f[2]) > now
local has_vote = owned and f[1] == me
if has_vote and tonumber(f[7]) > step then return {'too_late', now} end
local max_grant = tonumber(f[3] or 0)
if f[4] then max_grant = math.max(max_grant, tonumber(f[4])) end
if ARGV[7] ~= 'hold' then
  number = has_vote and max_grant or (number > max_grant and number or max_grant + 1)
elseif tonumber(redis.call('ZSCORE', key .. ':forced', me .. ':' .. ARGV[2]) or 0) > now then
  return {'refused', now}
end
local refused = owned and not has_vote
local alone, my_member = true, nil
if refused or f[6] then
  local queue, contacts, waiting, notified, read = key .. ':queue', key .. ':contacts', {}, {}, false
  local queued, others, ahead, any_readers = false, false, false, false
  my_member = 'w' .. me
  if f[6] then
    -- include: waiting.lua
    for _, each in ipairs(waiting) do
      local reads = string.byte(each) == 114
      queued, others = queued or each == my_member, others or each ~= my_member
      any_readers, ahead = any_readers or reads, ahead or (reads and not queued)
    end
    local back = string.sub(ARGV[7], 2)
    refused = not has_vote and (owned or read or (back == '1' and others) or (back == '2' and ahead))
  end
  if refused then
    if string.byte(ARGV[7]) == 49 and (queued or #waiting < 64) then
      -- A writer that came too late after its hint goes to the end, unless readers wait: then its place counts.
      local clock = string.format('%.0f', now)
      if not queued or (notified[my_member] and not any_readers) then redis.call('ZADD', queue, clock, my_member) end
      redis.call('ZADD', contacts, clock, my_member)
      redis.call('PEXPIRE', queue, 10000)
      redis.call('PEXPIRE', contacts, 10000)
      if not f[6] then redis.call('HSET', key, 'has_others', 1) end
      if max_grant == 0 then redis.call('PEXPIRE', key, 3660000) end
    end
    -- include: holders.lua
    return {'busy', now, left, #waiting, label, mode, unpack(numbers)}
  end
  alone = not read and not others
end
redis.call('HSET', key, 'owner', me, 'ends', string.format('%.0f', now + ARGV[4] * 1000),
  'grant', number == proposed and ARGV[5] or string.format('%.0f', number), 'step', ARGV[2], 'label', ARGV[6])
redis.call('PEXPIRE', key, f[6] and math.max(ARGV[4] + 3660000, redis.call('PTTL', key)) or ARGV[4] + 3660000)
if number < max_grant then redis.call('HSET', key, 'max_grant', string.format('%.0f', max_grant)) end
if f[6] then
  redis.call('ZREM', key .. ':queue', my_member)
  redis.call('ZREM', key .. ':contacts', my_member)
  if alone then
    redis.call('HDEL', key, 'has_others')
    -- include: expired.lua
  end
end
return {'vote', now, number}
