-- SPDX-License-Identifier: MIT
-- Takes a lock or a permit, or joins the queue. A client runs it for each attempt, and a waiter runs it again about
-- once per second, after a message, and when the lease of the holder ends. Safe to repeat: the same attempt gets the
-- same hold, or its place in the queue.
--
-- A request that arrives after the moment `void` changes nothing, because no client reads its reply any more.
-- src/redis/README.md explains why a late copy of an attempt that ended costs at most about a second of the name.
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (only with interop=redisson)
-- ARGV  1 attempt    2 void: a moment of the server's clock, in us    3 lease in ms
--       4 life of the key in ms: the sum of the lease and of the time for which the last number is remembered    5
--       label
--       6 four letters:
--         - 'w' = own the lock, 'x' = the same with Redisson's key, 'r' = read it, or have a permit
--         - 'f' = first come first served, 'u' = a newcomer may overtake waiters, 'r' = as 'f', next to Redisson
--         - '1' = wait, '0' = try
--         - 'a' = the slot of the lock is on its way to this server (only in a cluster), '1' = its client listens to
--           Redisson's channel, '0' = neither
--       7 if the attempt reads, the attempt by which the same client owns the lock; '' = the client does not own it
--       8 of a semaphore: how many permits it has
-- @return {'granted', now, number, us until the lease ends}, {'void', now}, {'unlike', now, permits} if the semaphore
--         has another number of permits while one is held or queued, or {word, now, ...}: 'queued', 'busy', or
--         'apart' (it could not be queued, because keys of the lock are at another server of a cluster).
--         See part/holder.lua
--
-- The first lines handle what is frequent, without a look at the other keys: a free lock, a failed try, and the first
-- waiter of a lock without readers.
local call, key, me, lease, life, label, flags = redis.call, KEYS[1], ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > ARGV[2] + 0 then return {'void', now} end
local tries = flags == 'wf00'
local f = tries and call('HMGET', key, 'owner', 'ms', 'number', 'crowd', 'label') or
  call('HMGET', key, 'owner', 'ms', 'number', 'crowd')
local last = f[3] and f[3] + 0 or 0
local ends = f[2] and last + f[2] * 1000 or 0
local owned = ends > now
-- No client waits or reads, and the attempt wants to own the lock ('w' is byte 119). The first two tests are quicker.
local plain = not f[4] and (flags == 'wf10' or tries or string.byte(flags) == 119)
if tries and plain and owned and f[1] ~= me then return {'busy', now, ends - now, 0, last, 0, f[5] or ''} end
local clock = time[1] .. string.sub('00000' .. time[2], -6)
if plain and not owned then
  local attempt, its_lease, its_label, asks = me, lease, label, true
  -- include: number.lua
  -- include: own.lua
  return {'granted', now, its_number + 0, lease * 1000}
end
f[5] = f[5] or call('HGET', key, 'label')
if plain and flags == 'wf10' and f[1] ~= me then
  local queue, waiters, place, many = key .. ':queue', key .. ':waiters', 'w' .. me, 0
  local rank, apart, arrives = false, false, false
  -- include: join.lua
  if not apart then return {'queued', now, ends - now, 1, last, many, f[5] or ''} end
end
local other, kind, order, waits, hears = KEYS[2], string.match(flags, '(.)(.)(.)(.)')
local tells, own, permits, arrives = false, ARGV[7], ARGV[8], hears == 'a'
-- include: open.lua
-- include: take.lua
if other and hears == '1' then
  redis.pcall('HSET', key, 'hears', me)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, life) end
end
return answer
