-- SPDX-License-Identifier: MIT
-- Takes a lock or a permit, or joins the queue. A client runs it for each attempt, and a waiter runs it again about
-- once per second, after a message, and when the lease of the holder ends. Safe to repeat: the same attempt gets the
-- same hold, or its position in the queue.
--
-- A request that arrives after its deadline changes nothing, because no client reads its reply any more. Before that, a
-- late copy of an attempt that ended may take the lock. Its client finds that hold and releases it, usually within
-- about a second: see src/redis/README.md.
--
-- KEYS  1 the lock    2 the same lock as Redisson keeps it (only with interop=redisson)
-- ARGV  1 attempt    2 deadline of this request: a moment of the server's clock, in us    3 lease in ms
--       4 time to live of the key in ms: the lease plus the time for which the last grant number is remembered
--       5 label    6 words with one space between two:
--         - w = own the lock, x = the same with Redisson's key, r = read it, or have a permit
--         - fair = first come first served, unfair = a newcomer may overtake waiters, redisson = as fair, but Redisson
--           may be quicker (no script tests for this word)
--         - wait = join the queue if the lock is not free, try = do not
--         - importing = the slot of the lock is on its way to this server (only in a cluster), listening = its client
--           subscribes to Redisson's channel; or no word
--       7 if the attempt reads, the attempt by which the same client owns the lock; '' = the client does not own it
--       8 of a semaphore: how many permits it has
-- @return {'granted', now, grant number, us until the lease ends}, {'too_late', now}, {'permits_differ', now, permits}
--         if the semaphore has another number of permits while one is held or queued, or {word, now, ...}: 'queued',
--         'busy', or 'resharding' (it could not be queued, because keys of the lock are at another server of a
--         cluster). See part/holder.lua
--
-- The first lines handle what is frequent: a free lock and a failed try, without a look at the other keys, and the
-- first waiter of a lock without readers.
local call, key = redis.call, KEYS[1]
local me, deadline, my_lease, ttl, my_label, flags, own_hold, permits = unpack(ARGV)
-- include: fields.lua
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if now > deadline + 0 then return {'too_late', now} end
-- tries: exactly these words. If the lock is held, the last lines answer every other try, such as an unfair one.
local tries = flags == 'w fair try'
local f = tries and call('HMGET', key, OWNER, LEASE, GRANT, 'readers_until', LABEL) or
  call('HMGET', key, OWNER, LEASE, GRANT, 'readers_until')
local owner, grant, readers_until, owner_label = f[1], f[3], f[4], f[5]
local max_grant = grant and grant + 0 or 0
local lease_ends = f[2] and max_grant + f[2] * 1000 or 0
local is_owned = lease_ends > now
-- No client waits or reads, and the attempt wants to own the lock ('w' is byte 119). The first two tests are quicker.
local is_plain = not readers_until and (tries or flags == 'w fair wait' or string.byte(flags) == 119)
if tries and is_plain and is_owned and owner ~= me then
  return {'busy', now, lease_ends - now, 0, max_grant, 0, owner_label or ''}
end
local clock = time[1] .. (#time[2] == 6 and time[2] or string.sub('00000' .. time[2], -6))
if is_plain and not is_owned then
  local attempt, new_lease, new_label, asks = me, my_lease, my_label, true
  -- include: number.lua
  -- include: own.lua
  return {'granted', now, new_max_grant, my_lease * 1000}
end
owner_label = owner_label or call('HGET', key, LABEL)
if is_plain and flags == 'w fair wait' and owner ~= me then
  local queue, waiters, my_member, waiter_count = key .. ':queue', key .. ':waiters', 'w' .. me, 0
  local rank, removed, queue_elsewhere, importing = false, 0, false, false
  -- include: join.lua
  if not queue_elsewhere then
    return {'queued', now, lease_ends - now, 1, max_grant, waiter_count, owner_label or ''}
  end
end
local redisson_key, mode, order, waits, state = KEYS[2], string.match(flags, '^(%l) (%l+) (%l+) ?(%l*)$')
local notify_only, importing = false, state == 'importing'
-- include: open.lua
-- include: take.lua
if redisson_key and state == 'listening' then
  redis.pcall('HSET', key, 'redisson_listener', me)
  if call('PTTL', key) == -1 then call('PEXPIRE', key, ttl) end
end
return answer
