-- SPDX-License-Identifier: MIT
-- Takes a lock or a permit, or joins the queue. Safe to repeat under the attempt's id: the answer is the same hold, or
-- the place in the queue.
--
-- A request that arrives after the moment `void` changes nothing: no client reads its reply any more. src/redis/README.md
-- explains why a late copy of an attempt that ended costs at most about a second of the name.
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (only with interop=redisson)
-- ARGV  1 attempt    2 void: a moment of the server's clock, in us    3 lease in ms
--       4 life of the key in ms: the lease, and the time for which the last number is remembered    5 label
--       6 flags: the mode ('w' = own the lock, 'x' = the same, with Redisson's key, 'r' = read it, or have a permit),
--         the order ('f' = first come first served, 'u' = a newcomer may overtake), '1' = it waits,
--         '1' = its client listens to Redisson's channel, 'a' = the slot of the lock is on its way to this server
--       7 the attempt by which the reader's client owns the lock; '' = none    8 of a semaphore: how many permits
-- @return {'granted', now, number, us until the lease ends}, {'void', now}, {'unlike', now, permits} if the semaphore has
--         another number of permits while one is held or queued, or {word, now, ...}: 'queued', 'busy', or
--         'apart' (it could not be queued, since the keys of the lock are on their way to another server of a cluster).
--         See part/holder.lua
local key, me, lease, life, label = KEYS[1], ARGV[1], ARGV[3], ARGV[4], ARGV[5]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then return {'void', now} end
local f = redis.call('HMGET', key, 'owner', 'ends', 'number', 'label', 'crowd')
local ends, last = tonumber(f[2] or 0), tonumber(f[3] or 0)
local owned = ends > now
if not f[5] and string.byte(ARGV[6]) == 119 then -- 'w', without waiters and readers
  if not owned then
    local number = last < now and now or last + 1
    redis.call('HSET', key, 'owner', me, 'ends', now + lease * 1000, 'number', number, 'label', label)
    redis.call('PEXPIRE', key, number == now and life or life + math.ceil((number - now) / 1000))
    return {'granted', now, number, lease * 1000}
  end
  if f[1] ~= me and string.byte(ARGV[6], 3) == 48 then return {'busy', now, ends - now, 0, last, 0, f[4], 'w', last} end
end
local other, kind, order, waits, hears = KEYS[2], string.match(ARGV[6], '(.)(.)(.)(.)')
local tells, own, arrives = false, ARGV[7], hears == 'a'
-- include: open.lua
if ARGV[8] then
  local permits = tonumber(ARGV[8])
  if room ~= permits then
    if room < math.huge and (read > 0 or many > 0) then return {'unlike', now, room} end
    redis.call('HSET', key, 'permits', permits)
    if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, life) end
    room = permits
  end
end
-- include: take.lua
if other and hears == '1' then
  redis.pcall('HSET', key, 'hears', me)
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, life) end
end
return answer
