-- SPDX-License-Identifier: MIT
-- Its client gives an attempt up: the attempt leaves the queue. If it holds the lock already, the reply is that hold.
-- Safe to repeat.
--
-- KEYS  as of acquire.lua    ARGV  1 attempt    2 life of the key in ms if a waiter gets the lock for 2 s
--       3 'a' = the slot of the lock is on its way to this server
-- @return {'granted', now, number, us until its lease ends}, or {'busy', now, ...}: see part/holder.lua; or an error if
--         the readers are at another server of a cluster: the client asks again
local key, other, whose, life, arrives = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3] == 'a'
-- include: look.lua
if hidden then return redis.error_reply('TRYAGAIN the readers are at another server') end
local was_first = false
if f[4] then
  local first = other and redis.pcall('ZRANGE', queue, '0', '0')[1]
  was_first = first and string.sub(first, 2) == whose
  local removed = redis.pcall('ZREM', queue, 'w' .. whose, 'r' .. whose, 'x' .. whose)
  redis.pcall('HDEL', waiters, whose)
  if not apart and type(removed) == 'number' then many = many - removed end
end
-- Only the first waiter listens to Redisson's channel, and learns when a reservation ends. The next waiter must do so
-- now.
local tells = was_first and (foreign or kept)
local me, kind, lease, label, order, waits, own, permits
-- include: take.lua
local its_end, its_number = owned and f[1] == whose and ends, f[3]
if not its_end and shared > now then
  its_end, its_number = tonumber(redis.call('ZSCORE', readers, whose) or 0), redis.call('HGET', notes, whose)
end
if its_end and its_end > now and its_number then
  return {'granted', now, tonumber(its_number), its_end - now}
end
-- include: holder.lua
return {'busy', now, left, 0, number, many, its_label, mode, last}
