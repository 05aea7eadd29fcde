-- SPDX-License-Identifier: MIT
-- Ends exactly one hold, gives the lock to the first living waiter, and has the successor, another attempt of the same
-- client, take what nobody waited for, or wait. Safe to repeat: until the next grant a repeated release is answered
-- as if it was the first, or 'before'.
--
-- KEYS  as of acquire.lua
-- ARGV  1 attempt    2 number    3 life of the key in ms after a hold of 2 s    4 flags: the order ('f', 'u', or 'r' =
--       with Redisson), '1' = its client may still be counted as a listener of Redisson's channel, or 'a' as there
--       5 to 12 of the successor, as 1 to 8 of acquire.lua; none = no successor
-- @return {outcome, now}: 'freed' (without `now` if no other key was looked at), 'before' = it was freed before,
--         'lapsed' = its lease was over, 'none' = not its hold.
--         With a successor, its answer follows as one item: see acquire.lua
local call, key, other, whose = redis.call, KEYS[1], KEYS[2], ARGV[1]
local f = call('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'last')
local its = f[1] == whose and f[3] == ARGV[2]
local plain = its and f[2] and not other and not ARGV[5]
if plain and not f[4] then
  -- No client came after this hold. Whether it had lapsed for its owner, the owner's clock has shown before.
  call('HDEL', key, 'ms')
  return {'freed'}
end
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local last = f[3] and f[3] + 0 or 0
local ends = f[2] and last + f[2] * 1000 or 0
local owned, outcome, life = ends > now, 'none', ARGV[3]
if plain and owned and f[4] == '0' and not f[5] and ARGV[4] == 'f0' then
  -- No client reads. The first waiter gets the lock as in hand_over.lua, if it lives and wants to own the lock.
  local queue, waiters = key .. ':queue', key .. ':waiters'
  local front = redis.pcall('ZRANGE', queue, '0', '1')
  local attempt = front[1] and string.byte(front[1]) == 119 and string.sub(front[1], 2)
  local its_place = attempt and redis.pcall('HGET', waiters, attempt)
  local contact, its_lease, its_label, asks
  -- include: place.lua
  if contact then
    -- First a write that the server never refuses: then it refuses none of those that follow the message.
    call('HDEL', key, front[2] and '-' or 'crowd')
    -- include: number.lua
    -- include: offer.lua
    if type(heard) == 'number' and heard > 0 then
      call('ZREM', queue, front[1])
      call('HDEL', waiters, attempt)
      -- include: own.lua
      return {'freed', now}
    end
    -- No client listens to that inbox. The lines below begin with the lock as it was.
    if not front[2] then call('HSET', key, 'crowd', '0') end
  end
end
f[5] = ARGV[5] and call('HGET', key, 'label')
local order, arrives = string.sub(ARGV[4], 1, 1), string.sub(ARGV[4], 2, 2) == 'a'
-- include: open.lua
local hands_over, tells = false, false
if its and not foreign then
  outcome = owned and 'freed' or f[2] and 'lapsed' or 'before'
  -- Before anything that takes memory. A hold that lapsed keeps its `ms`: a repeated release finds the same.
  redis.call('HDEL', key, owned and 'ms' or '-')
  hands_over, owned = owned, false
  if other and hands_over then redis.call('HDEL', other, 'mortise:' .. whose) end
else
  local noted = redis.pcall('HGET', notes, whose)
  local its_end = noted == ARGV[2] and redis.pcall('ZSCORE', readers, whose)
  its_end = type(its_end) == 'string' and tonumber(its_end)
  if hidden and not its_end then return redis.error_reply('TRYAGAIN the readers are at another server') end
  if its_end then
    outcome = its_end > now and 'freed' or its_end > 0 and 'lapsed' or 'before'
    if its_end > now and not hidden then read = read - 1 end
    redis.call('HDEL', notes, whose .. ':label')
    if its_end > now then redis.call('ZADD', readers, '-' .. clock, whose) end
    -- A release may be repeated. So the last eight readers that let go are remembered, for a minute after all of them.
    for i, each in ipairs(redis.call('ZRANGE', readers, '-inf', '0', 'BYSCORE')) do
      if i > 8 then
        redis.call('ZREM', readers, each)
        redis.call('HDEL', notes, each)
      end
    end
    local latest = redis.call('ZRANGE', readers, '-1', '-1', 'WITHSCORES')
    if not hidden and shared > 0 then
      shared = read > 0 and tonumber(latest[2]) or 0
      redis.call('HSET', key, 'crowd', string.format('%.0f', shared))
    end
    if read == 0 then
      local lives = math.min(60000, math.max(1, redis.call('PTTL', key)))
      redis.call('PEXPIRE', readers, lives)
      redis.call('PEXPIRE', notes, lives)
    end
  end
end
if hands_over and order == 'u' and many > 0 then
  -- Newcomers may be quicker, for fifteen releases in a row.
  tells = redis.call('HINCRBY', key, 'releases', '1') % 16 ~= 0
  order = tells and 'u' or 'f'
elseif hands_over and other then
  -- Redisson's waiters are in no queue, and need 0.6 ms from the message to their try. So the lock is kept for them if
  -- any of them listens. A try without a listener has a chance at each sixteenth release. (With 4 ms in place of 1.5 ms
  -- Redisson's share of holds of 1 ms was three times ours.)
  local heard = redis.pcall('PUBLISH', 'redisson_lock__channel:{' .. other .. '}', '0')
  heard = type(heard) == 'number' and heard or 0
  tells = many > 0 and redis.call('HINCRBY', key, 'releases', '1') % 16 == 0
  if many > 0 and hearer and redis.call('HEXISTS', waiters, hearer) == 1 then heard = heard - 1 end
  if string.sub(ARGV[4], 2, 2) == '1' then heard = heard - 1 end
  if heard > 0 then
    kept, tells = true, true
    redis.call('HSET', key, 'kept', string.format('%.0f', now + 1500))
  end
end
local me, lease, label, kind, waits, hears = ARGV[5], ARGV[7], ARGV[9], nil, nil, nil
local own, permits = ARGV[11], ARGV[12]
if me then
  life = ARGV[8]
  kind, waits, hears = string.match(ARGV[10], '(.).(.)(.)')
end
if me and now > tonumber(ARGV[6]) then me = nil end
-- include: take.lua
if ARGV[5] then return {outcome, now, answer or {'void', now}} end
return {outcome, now}
