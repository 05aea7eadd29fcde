-- SPDX-License-Identifier: MIT
-- Ends exactly one hold, and gives the lock to the first living waiter. If no client waits, the successor (the next
-- attempt of the same client) takes the lock; otherwise the successor waits. Safe to repeat: until the next grant the
-- answer to a repeated release is the same, or 'before'.
--
-- KEYS  as of acquire.lua
-- ARGV  1 attempt    2 number    3 life of the key in ms if a waiter gets the lock for 2 s
--       4 two letters: the order ('f', 'u' or 'r', as in acquire.lua); then 'a' = the slot of the lock is on its way to
--         this server, '1' = Redis may still count the client as a listener of Redisson's channel, '0' = neither
--       5 to 12 of the successor, as 1 to 8 of acquire.lua; none = no successor
-- @return {outcome, now}: 'freed' (without `now` if the script looked at no other key), 'before' = it was freed before,
--         'lapsed' = its lease was over, 'none' = not its hold.
--         With a successor, its answer follows as one item: see acquire.lua
local call, key, other, whose = redis.call, KEYS[1], KEYS[2], ARGV[1]
local f = call('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'last')
local is_owner = f[1] == whose and f[3] == ARGV[2]
local plain = is_owner and f[2] and not other and not ARGV[5]
if plain and not f[4] then
  -- No client came after this hold. The client knows by its own clock whether its lease was over.
  call('HDEL', key, 'ms')
  return {'freed'}
end
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local last = f[3] and f[3] + 0 or 0
local ends = f[2] and last + f[2] * 1000 or 0
local owned, outcome, life = ends > now, 'none', ARGV[3]
if plain and owned and f[4] == '0' and not f[5] and ARGV[4] == 'f0' then
  -- No client reads. The first waiter gets the lock as in hand_over.lua, if it lives and wants to own the lock ('w' is
  -- byte 119).
  local queue, waiters = key .. ':queue', key .. ':waiters'
  local front = redis.pcall('ZRANGE', queue, '0', '1')
  local attempt = front[1] and string.byte(front[1]) == 119 and string.sub(front[1], 2)
  local its_place = attempt and redis.pcall('HGET', waiters, attempt)
  local contact, its_lease, its_label, asks
  -- include: place.lua
  if contact then
    -- First a write that the server never refuses. Then it refuses none of the writes after the message.
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
if is_owner and not foreign then
  outcome = owned and 'freed' or f[2] and 'lapsed' or 'before'
  -- Before any write that takes memory. A hold that has lapsed keeps its `ms`: a repeated release finds the same.
  redis.call('HDEL', key, owned and 'ms' or '-')
  hands_over, owned = owned, false
  if other and hands_over then redis.call('HDEL', other, 'mortise:' .. whose) end
else
  -- include: let_go.lua
end
if hands_over and order == 'u' and many > 0 then
  -- Newcomers may be quicker than the first waiter, which only gets a message to ask. The sixteenth release is its own.
  tells = redis.call('HINCRBY', key, 'releases', '1') % 16 ~= 0
  order = tells and 'u' or 'f'
elseif hands_over and other then
  -- Redisson's waiters are in no queue, and need 0.6 ms from the message to their try. So the lock is reserved for them
  -- if one of them listens. A thread of Redisson that tries without listening gets its chance at each sixteenth
  -- release. (With 4 ms in place of 1.5 ms, Redisson's share of holds of 1 ms was three times that of Mortise.)
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
