-- SPDX-License-Identifier: MIT
-- Ends exactly one hold, and gives the lock to the first living waiter. If no client waits, the successor (the next
-- attempt of the same client) takes the lock; otherwise the successor waits. With `unfair` the successor takes the lock
-- before the waiters at 15 of 16 releases. If those releases have no successor, the first waiter only gets a message to
-- ask. With Redisson the lock may be reserved: see part/unfair.lua. Safe to repeat: until the next grant the answer to
-- a repeated release is the same, or 'released_before'.
--
-- KEYS  as of acquire.lua
-- ARGV  1 attempt that holds the lock    2 number of its grant    3 time to live of the key in ms if a waiter gets the
--       lock for 2 s    4 the order (fair, unfair or redisson, as in acquire.lua); then after a space importing, as
--       there, or listening = Redis may still count the client as a subscriber of Redisson's channel
--       5 to 12 of the successor, as 1 to 8 of acquire.lua; none = no successor
-- @return {outcome, now}: 'released', 'released_before' = an earlier request did it, 'expired' = its lease was over,
--         'not_held' = not its hold. If no client reads or waits, and there is no successor and no KEYS 2, the script
--         does not look at the time: the answer is {'released'} without `now`, even if the lease is over, which the
--         client sees by its own clock. With a successor, its answer follows as one item: see acquire.lua. Or an error
--         if it may be the hold of a reader, and the readers are at another server of a cluster: the client asks again
local call, key, redisson_key = redis.call, KEYS[1], KEYS[2]
local holder, its_grant, ttl, flags = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local me, deadline, my_lease, my_ttl, my_label, my_flags, own_hold, permits = unpack(ARGV, 5)
-- include: fields.lua
local f = call('HMGET', key, OWNER, LEASE, GRANT, 'readers_until', 'max_grant')
local owner, grant, readers_until = f[1], f[3], f[4]
local is_holder = owner == holder and grant == its_grant
local is_plain = is_holder and f[2] and not redisson_key and not me
if is_plain and not readers_until then
  call('HDEL', key, LEASE)
  return {'released'}
end
local time = call('TIME')
local now, clock = time[1] * 1000000 + time[2], time[1] .. string.sub('00000' .. time[2], -6)
local max_grant = grant and grant + 0 or 0
local lease_ends = f[2] and max_grant + f[2] * 1000 or 0
local is_owned, outcome = lease_ends > now, 'not_held'
if is_plain and is_owned and readers_until == '0' and not f[5] and flags == 'fair' then
  -- No client reads. The first waiter gets the lock as in hand_over.lua, if it lives and wants to own the lock ('w' is
  -- byte 119).
  local queue, waiters = key .. ':queue', key .. ':waiters'
  local front = redis.pcall('ZRANGE', queue, '0', '1')
  local attempt = front[1] and string.byte(front[1]) == 119 and string.sub(front[1], 2)
  local stored = attempt and redis.pcall('HGET', waiters, attempt)
  local contact, new_lease, new_label, asks
  -- include: waiter.lua
  if contact then
    -- First a write that the server never refuses. Then it refuses none of the writes after the message.
    call('HDEL', key, front[2] and '-' or 'readers_until')
    -- include: number.lua
    -- include: offer.lua
    if type(receivers) == 'number' and receivers > 0 then
      call('ZREM', queue, front[1])
      call('HDEL', waiters, attempt)
      -- include: own.lua
      return {'released', now}
    end
    -- No client subscribes to that inbox. The lines below begin with the lock as it was.
    if not front[2] then call('HSET', key, 'readers_until', '0') end
  end
end
local owner_label = me and call('HGET', key, LABEL)
local order, state = string.match(flags, '^(%l+) ?(%l*)$')
local importing = state == 'importing'
-- include: open.lua
-- hands_over: this script ends the hold of an owner whose lease was not over. The lines of take.lua run in any case.
local hands_over, notify_only = false, false
if is_holder and not redisson_owner then
  outcome = is_owned and 'released' or f[2] and 'expired' or 'released_before'
  -- Before any write that takes memory. A hold whose lease is over keeps it: a repeated release finds the same.
  call('HDEL', key, is_owned and LEASE or '-')
  hands_over, is_owned = is_owned, false
  if redisson_key and hands_over then call('HDEL', redisson_key, 'mortise:' .. holder) end
else
  -- include: end_reader.lua
end
if hands_over and (order == 'unfair' or redisson_key) then
  -- include: unfair.lua
end
local mode, waits
if me then
  ttl, mode, waits = my_ttl, string.match(my_flags, '^(%l) %l+ (%l+)')
  if now > deadline + 0 then me = nil end
end
-- include: take.lua
if my_flags then return {outcome, now, answer or {'too_late', now}} end
return {outcome, now}
