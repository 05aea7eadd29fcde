-- SPDX-License-Identifier: MIT
-- Its client gives an attempt up: the attempt leaves the queue, and a free lock goes to the next waiter. If the attempt
-- has the lock already, the reply is that hold, which stays. A queue at another server of a cluster is left as it is.
-- Safe to repeat.
--
-- KEYS  as of acquire.lua    ARGV  1 attempt    2 time to live of the key in ms if a waiter gets the lock for 2 s
--       3 importing = the slot of the lock is on its way to this server
-- @return {'granted', now, grant number, us until its lease ends}, or {'busy', now, ...}: see part/holder.lua; or an
--         error if the readers are at another server of a cluster: the client asks again
local call, key, redisson_key, its_attempt, ttl = redis.call, KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local importing = ARGV[3] == 'importing'
-- include: fields.lua
-- include: look.lua
if readers_elsewhere then return redis.error_reply('TRYAGAIN the readers are at another server') end
local was_first = false
if readers_until then
  local first = redisson_key and redis.pcall('ZRANGE', queue, '0', '0')[1]
  was_first = first and string.sub(first, 2) == its_attempt
  local removed = redis.pcall('ZREM', queue, 'w' .. its_attempt, 'r' .. its_attempt, 'x' .. its_attempt)
  redis.pcall('HDEL', waiters, its_attempt)
  if not queue_elsewhere and type(removed) == 'number' then waiter_count = waiter_count - removed end
end
-- Of the waiters only the first one subscribes to Redisson's channel, and learns when a reservation ends. The next
-- waiter must do so now.
local notify_only = was_first and (redisson_owner or is_reserved)
local me, mode, my_lease, my_label, order, waits, own_hold, permits -- none: no attempt asks
-- include: take.lua
local its_end, its_grant = is_owned and owner == its_attempt and lease_ends, grant
if not its_end and readers_end > now then
  its_end, its_grant = tonumber(call('ZSCORE', readers, its_attempt) or 0), call('HGET', reader_info, its_attempt)
end
if its_end and its_end > now and its_grant then
  return {'granted', now, tonumber(its_grant), its_end - now}
end
-- include: holder.lua
return {'busy', now, left, 0, held_grant, waiter_count, held_label, held_mode, max_grant}
